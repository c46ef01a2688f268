"""The operator's own settings: flags of `cacheroute operator`, or environment variables CACHEROUTE_*."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from cacheroute.proxy.xds_server_tls import XdsServerTls


class OperatorSettings(BaseSettings):
    """Everything about the operator that is no part of a RoutingPlan."""

    model_config = SettingsConfigDict(env_prefix="CACHEROUTE_", extra="forbid", frozen=True)

    prometheus_url: str = Field(
        default="http://prometheus-server.monitoring.svc:80",
        pattern=r"^https?://[^\s]+$",
        description="Base URL of the Prometheus that scrapes the gateways.",
    )
    prometheus_timeout_seconds: float = Field(
        default=20.0, gt=0, le=120, description="For one measurement, which is four queries."
    )
    prometheus_token_file: Path | None = Field(
        default=None, description="File with a bearer token for Prometheus; read anew for every measurement."
    )
    prometheus_ca_file: Path | None = Field(
        default=None, description="Certificates that are trusted for Prometheus."
    )
    prometheus_verify: bool = Field(default=True, description="Check the certificate of Prometheus.")
    xds_bind: str = Field(default="0.0.0.0:18000", description="HOST:PORT where proxies connect.")
    xds_tls_certificate: Path | None = Field(
        default=None,
        description="Certificate that proxies are shown, PEM with its chain; read anew for every connection.",
    )
    xds_tls_key: Path | None = Field(default=None, description="Key of that certificate, PEM.")
    xds_tls_client_ca: Path | None = Field(
        default=None,
        description="Certificates, PEM, that sign those of proxies; a proxy of gateway G must show one with the "
        "DNS name G.gateway.cacheroute.dev.",
    )
    http_bind: str = Field(
        default="0.0.0.0:8080", description="HOST:PORT of /healthz /readyz /metrics /status /plans."
    )
    watch_namespaces: str = Field(
        default="",
        description="Comma-separated namespaces whose RoutingPlans and pods are watched; empty for all.",
    )
    log_format: Literal["text", "json"] = Field(default="text", description="Format of the log.")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="Least level logged."
    )

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The watched namespaces; empty for all."""
        return tuple(sorted({name.strip() for name in self.watch_namespaces.split(",") if name.strip()}))

    @property
    def xds_tls(self) -> XdsServerTls | None:
        """The certificates of xDS; None for plain text.

        Raises:
            ValueError: some of the three are missing.
        """
        certificate, key, client_ca = self.xds_tls_certificate, self.xds_tls_key, self.xds_tls_client_ca
        if certificate and key and client_ca:
            return XdsServerTls(certificate, key, client_ca)
        if certificate or key or client_ca:
            raise ValueError("xDS: give all of CACHEROUTE_XDS_TLS_CERTIFICATE, _KEY and _CLIENT_CA, or none")
        return None
