"""The operator's own settings: flags of `cacheroute operator`, or environment variables CACHEROUTE_*."""

from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


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
    http_bind: str = Field(
        default="0.0.0.0:8080", description="HOST:PORT of /healthz /readyz /metrics /status."
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
