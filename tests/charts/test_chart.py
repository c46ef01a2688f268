"""The chart as Helm renders it, in full for a few sets of values: a change of it must be meant.

Run with CACHEROUTE_UPDATE_GOLDEN=1 to write the files anew, then read the difference.
"""

import base64
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml
from cryptography import x509
from pydantic import TypeAdapter

from cacheroute import __version__
from cacheroute.controllers.settings import OperatorSettings
from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap
from cacheroute.proxy.settings import ClientCertificates, JwtProvider, TlsSettings
from cacheroute.proxy.tls import secret_files
from cacheroute.proxy.xds_client_tls import XdsClientTls, sds_files
from cacheroute.proxy.xds_server_tls import XdsServerTls

CHART = Path(__file__).parents[2] / "charts" / "cacheroute"
DATA = Path(__file__).parent / "data"
KUBERNETES = "1.37.0"
TLS = XdsClientTls("/etc/envoy")
HEAP = 858_993_459
"""80 % of the 1 GiB that the chart's gateway may take."""
SCRAPE = "prometheus.io/scrape"
GATEWAY_SETTINGS: dict[str, Any] = {
    "maxBodyBytes": 33_554_432,
    "jwt": {
        "providers": [
            {"name": "corp", "issuer": "https://corp.example", "jwks": '{"keys":[]}', "required": True},
            {
                "name": "cloud",
                "issuer": "https://cloud.example",
                "jwksUri": "https://cloud.example:8443/keys",
            },
            {"name": "near", "issuer": "near", "audiences": ["a"], "jwksUri": "http://keys.auth.svc/jwks"},
        ]
    },
    "tls": {
        "secretName": "inference-tls",
        "clientCertificates": "optional",
        "clientCaSecretName": "clients",
    },
}
CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "own-envoys": {"gateway": {"enabled": False}},
    "plain-text": {"tls": {"enabled": False}},
    "cert-manager": {"tls": {"certManager": {"enabled": True}}},
    "everything": {
        "fullnameOverride": "routes",
        "commonLabels": {"team": "inference"},
        "image": {"digest": "sha256:" + "0" * 64, "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "prometheus": {
            "url": "https://prometheus.example:9090",
            "verify": False,
            "tokenSecret": {"name": "prometheus-token"},
            "caSecret": {"name": "prometheus-ca", "key": "bundle.pem"},
        },
        "watchNamespaces": ["inference", "staging"],
        "tls": {"operatorSecret": "own-operator", "gatewaySecret": "own-gateway"},
        "serviceAccount": {"annotations": {"example.com/role": "planner"}},
        "podAnnotations": {"example.com/a": "operator"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
        "extraArgs": ["--log-level=debug"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        "gateway": {
            **GATEWAY_SETTINGS,
            "name": "batch",
            "concurrency": 0,
            "drainSeconds": 600,
            "podAnnotations": {"example.com/a": "gateway"},
            "priorityClassName": "system-cluster-critical",
            "topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
            ],
            "extraArgs": ["--cpuset-threads"],
            "service": {"type": "LoadBalancer", "annotations": {"example.com/b": "internal"}},
            "podDisruptionBudget": {"maxUnavailable": "25%"},
        },
        "podMonitor": {"enabled": True, "labels": {"release": "monitoring"}},
        "prometheusRule": {"enabled": True, "labels": {"release": "monitoring"}},
        "grafanaDashboard": {"enabled": True, "annotations": {"grafana_folder": "Inference"}},
    },
}
"""Name of a golden file → values."""


def rendered(values: Mapping[str, Any]) -> str:
    chart = helm_python.Chart.load(CHART)
    files = chart.render(dict(values), name="cacheroute", namespace="cacheroute-system")
    whole = "".join(
        f"# {name}\n{text.strip()}\n---\n" for name, text in sorted(files.items()) if name.endswith(".yaml")
    )
    return re.sub(r"(?m)^  ((?:ca|tls)\.(?:crt|key)): LS0t\S+$", r"  \1: bWFkZSBhbmV3", whole)


def objects(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(rendered(values)) if one]


def of_kind(values: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    return [one for one in objects(values) if one["kind"] == kind]


def pods(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [one["spec"]["template"] for one in of_kind(values, "Deployment")]


def named(values: Mapping[str, Any], kind: str, name: str) -> dict[str, Any]:
    return next(one for one in of_kind(values, kind) if one["metadata"]["name"] == name)


@pytest.mark.parametrize("name", CASES)
def test_rendered(name: str) -> None:
    text, path = rendered(CASES[name]), DATA / f"{name}.yaml"
    if os.environ.get("CACHEROUTE_UPDATE_GOLDEN"):
        path.write_text(text, "utf-8")
    assert path.read_text("utf-8") == text


@pytest.mark.parametrize("name", CASES)
def test_kubernetes_knows_every_field(name: str) -> None:
    foreign = ("coreos", "cert-manager")
    known = [one for one in objects(CASES[name]) if not any(group in one["apiVersion"] for group in foreign)]
    for one in known:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    assert known


@pytest.mark.parametrize("name", CASES)
def test_pods_meet_the_restricted_standard(name: str) -> None:
    for pod in pods(CASES[name]):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"] + spec.get("initContainers", []):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }


@pytest.mark.parametrize("name", CASES)
def test_services_and_disruption_budgets_select_the_pods_of_one_deployment(name: str) -> None:
    labels = [pod["metadata"]["labels"] for pod in pods(CASES[name])]
    selectors = [one["spec"]["selector"] for one in of_kind(CASES[name], "Service")]
    budgets = [one["spec"]["selector"]["matchLabels"] for one in of_kind(CASES[name], "PodDisruptionBudget")]
    for selector in selectors + budgets:
        assert sum(selector.items() <= label.items() for label in labels) == 1


def test_the_gateway_starts_with_the_bootstrap_that_the_command_prints() -> None:
    config = yaml.safe_load(
        named({}, "ConfigMap", "cacheroute-gateway")["data"]["bootstrap.yaml"],
    )
    assert config == bootstrap(
        BootstrapSettings(
            "default", xds=Place("cacheroute.cacheroute-system.svc", 18000), tls=TLS, max_heap_bytes=HEAP
        )
    )


def test_the_gateways_settings_are_in_its_bootstrap() -> None:
    values = {"gateway": GATEWAY_SETTINGS}
    data = named(values, "ConfigMap", "cacheroute-gateway")["data"]
    wanted = BootstrapSettings(
        "default",
        xds=Place("cacheroute.cacheroute-system.svc", 18000),
        tls=TLS,
        max_body_bytes=33_554_432,
        max_heap_bytes=HEAP,
        jwt=TypeAdapter(tuple[JwtProvider, ...]).validate_python(GATEWAY_SETTINGS["jwt"]["providers"]),
        client_tls=TlsSettings(secrets="/etc/envoy", client_certificates=ClientCertificates.OPTIONAL),
    )
    assert yaml.safe_load(data["bootstrap.yaml"]) == bootstrap(wanted)
    files = secret_files("/etc/envoy-tls/tls.crt", "/etc/envoy-tls/tls.key", "/etc/envoy-client-ca/ca.crt")
    assert {name: yaml.safe_load(data[name]) for name in files} == files
    pod = named(values, "Deployment", "cacheroute-gateway")["spec"]["template"]["spec"]
    (envoy,) = (one for one in (*pod["containers"], *pod.get("initContainers", ())) if one["name"] == "envoy")
    mounted = {one["name"]: one["mountPath"] for one in envoy["volumeMounts"]}
    secrets = {one["name"]: one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one}
    assert (mounted["tls"], secrets["tls"]) == ("/etc/envoy-tls", "inference-tls")
    assert (mounted["client-ca"], secrets["client-ca"]) == ("/etc/envoy-client-ca", "clients")


def test_a_key_set_may_be_written_as_a_mapping() -> None:
    provider = {"name": "corp", "issuer": "x", "jwks": {"keys": [{"kty": "EC"}]}}
    values = {"gateway": {"jwt": {"providers": [provider]}}}
    config = yaml.safe_load(named(values, "ConfigMap", "cacheroute-gateway")["data"]["bootstrap.yaml"])
    (said,) = config["node"]["metadata"]["cacheroute"]["jwt"]
    assert JwtProvider.model_validate(said).jwks == '{"keys":[{"kty":"EC"}]}'


def test_client_certificates_need_tls_and_a_ca() -> None:
    with pytest.raises(helm_python.HelmError, match="clientCaSecretName"):
        rendered({"gateway": {"tls": {"secretName": "x", "clientCertificates": "required"}}})


def test_the_gateway_finds_the_operator() -> None:
    values = {"service": {"xdsPort": 18111}, "fullnameOverride": "routes", "gateway": {"name": "batch"}}
    config = yaml.safe_load(named(values, "ConfigMap", "routes-gateway")["data"]["bootstrap.yaml"])
    service = named(values, "Service", "routes")
    assert config == bootstrap(
        BootstrapSettings(
            "batch",
            xds=Place("routes.cacheroute-system.svc", service["spec"]["ports"][0]["port"]),
            tls=TLS,
            max_heap_bytes=HEAP,
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_every_setting_that_the_chart_makes_exists(name: str) -> None:
    operator = named(CASES[name], "Deployment", "routes" if name == "everything" else "cacheroute")
    container = operator["spec"]["template"]["spec"]["containers"][0]
    made = {one["name"]: one.get("value") for one in container["env"]}
    prefix = "CACHEROUTE_"
    settings = {
        key.removeprefix(prefix).lower(): value for key, value in made.items() if key.startswith(prefix)
    }
    read = OperatorSettings.model_validate(settings, strict=False)
    assert set(settings) == read.model_fields_set
    assert read.namespaces == tuple(sorted(CASES[name].get("watchNamespaces", ())))


def made_secrets(values: Mapping[str, Any]) -> dict[str, dict[str, bytes]]:
    """Return the chart's Secrets with their real content."""
    text = helm_python.Chart.load(CHART).render(
        dict(values), name="cacheroute", namespace="cacheroute-system"
    )["cacheroute/templates/tls-self-made.yaml"]
    return {
        one["metadata"]["name"]: {name: base64.b64decode(value) for name, value in one["data"].items()}
        for one in yaml.safe_load_all(text)
        if one
    }


def test_both_sides_of_xds_get_certificates_of_one_ca_for_their_names(tmp_path: Path) -> None:
    secrets = made_secrets({"gateway": {"name": "batch"}})
    ca = secrets["cacheroute-xds-ca"]["tls.crt"]
    for secret, name in (
        ("cacheroute-xds", "cacheroute.cacheroute-system.svc"),
        ("cacheroute-xds-gateway", "batch.gateway.cacheroute.dev"),
    ):
        assert secrets[secret]["ca.crt"] == ca
        assert name in dns_names(secrets[secret]["tls.crt"])
        for file, content in secrets[secret].items():
            (tmp_path / file).write_bytes(content)
        XdsServerTls(tmp_path / "tls.crt", tmp_path / "tls.key", tmp_path / "ca.crt").check()
        x509.load_pem_x509_certificate(secrets[secret]["tls.crt"]).verify_directly_issued_by(
            x509.load_pem_x509_certificate(ca)
        )


def dns_names(certificate: bytes) -> list[str]:
    names = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    return names.value.get_values_for_type(x509.DNSName)


def test_cert_manager_is_asked_for_the_names_that_both_sides_look_for() -> None:
    values = {
        "tls": {"certManager": {"enabled": True, "issuerRef": {"name": "corp", "kind": "ClusterIssuer"}}}
    }
    asked = {one["metadata"]["name"]: one["spec"] for one in of_kind(values, "Certificate")}
    assert asked["cacheroute-xds"]["dnsNames"][0] == "cacheroute.cacheroute-system.svc"
    assert asked["cacheroute-xds-gateway"]["dnsNames"] == ["default.gateway.cacheroute.dev"]
    assert {one["issuerRef"]["name"] for one in asked.values()} == {"corp"}
    assert (of_kind(values, "Issuer"), of_kind(values, "Secret")) == ([], [])


@pytest.mark.parametrize("name", ["defaults", "cert-manager", "everything"])
def test_pods_mount_secrets_of_the_names_that_are_made_or_given(name: str) -> None:
    mounted = {
        volume["secret"]["secretName"]
        for pod in pods(CASES[name])
        for volume in pod["spec"]["volumes"]
        if volume["name"] == "xds-tls"
    }
    made = {one["metadata"]["name"] for one in of_kind(CASES[name], "Secret")} - {"cacheroute-xds-ca"}
    asked = {one["spec"]["secretName"] for one in of_kind(CASES[name], "Certificate")} - {"cacheroute-xds-ca"}
    assert mounted == (made | asked or {"own-operator", "own-gateway"})


def test_the_gateway_finds_its_certificates() -> None:
    files = named({}, "ConfigMap", "cacheroute-gateway")["data"]
    for name, content in sds_files("/etc/envoy-xds-tls").items():
        assert yaml.safe_load(files[name]) == content


def test_plain_text_has_to_be_asked_for() -> None:
    plain = CASES["plain-text"]
    config = yaml.safe_load(named(plain, "ConfigMap", "cacheroute-gateway")["data"]["bootstrap.yaml"])
    assert config == bootstrap(
        BootstrapSettings(
            "default", xds=Place("cacheroute.cacheroute-system.svc", 18000), max_heap_bytes=HEAP
        )
    )
    assert of_kind(plain, "Secret") == []


def test_one_own_secret_alone_is_refused() -> None:
    with pytest.raises(helm_python.HelmError, match="name both operatorSecret and gatewaySecret"):
        rendered({"tls": {"gatewaySecret": "own"}})


def test_pods_are_found_by_annotation_or_by_monitor_and_never_by_both() -> None:
    found = [pod["metadata"]["annotations"].get(SCRAPE) for pod in pods({})]
    assert (found, of_kind({}, "PodMonitor")) == (["true", "true"], [])
    monitored = {"podMonitor": {"enabled": True}}
    annotations = [pod["metadata"].get("annotations", {}) for pod in pods(monitored)]
    assert [SCRAPE in one for one in annotations] == [False, False]
    assert len(of_kind(monitored, "PodMonitor")) == 2


def test_an_annotation_of_the_user_wins() -> None:
    values = {"podAnnotations": {SCRAPE: "false"}, "gateway": {"podAnnotations": {SCRAPE: "false"}}}
    assert [pod["metadata"]["annotations"][SCRAPE] for pod in pods(values)] == ["false", "false"]


def test_the_operator_may_do_the_same_in_watched_namespaces_as_in_all() -> None:
    everywhere = of_kind({}, "ClusterRole")[0]["rules"]
    nodes = of_kind({"watchNamespaces": ["a"]}, "ClusterRole")[0]["rules"]
    roles = of_kind({"watchNamespaces": ["a", "b"]}, "Role")
    assert [one["metadata"]["namespace"] for one in roles] == ["a", "b"]
    assert all(nodes + one["rules"] == everywhere for one in roles)
    assert [rule["resources"] for rule in nodes] == [["nodes"]]
    assert not [rule for rule in everywhere if "*" in rule["verbs"] + rule["resources"]]


@pytest.mark.parametrize(
    ("memory", "heap"),
    [
        ("1Gi", 858_993_459),
        ("512Mi", 429_496_729),
        ("2G", 1_600_000_000),
        ("1e9", 800_000_000),
        (10**9, 800_000_000),
    ],
)
def test_envoy_takes_less_memory_than_its_container_may(memory: object, heap: int) -> None:
    text = str(of_kind({"gateway": {"resources": {"limits": {"memory": memory}}}}, "ConfigMap"))
    assert f"max_heap_size_bytes: {heap}" in text


def test_a_limit_of_memory_that_is_no_size_is_refused() -> None:
    with pytest.raises(Exception, match="is no size such as 1Gi"):
        rendered({"gateway": {"resources": {"limits": {"memory": "1GB"}}}})


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"imagee": {}}, "additional properties 'imagee' not allowed"),
        ({"prometheus": {"url": "prometheus:9090"}}, "/prometheus/url"),
        ({"prometheus": {"timeoutSeconds": 0}}, "/prometheus/timeoutSeconds"),
        ({"image": {"digest": "latest"}}, "/image/digest"),
        ({"image": {"pullPolicy": "Sometimes"}}, "/image/pullPolicy"),
        ({"watchNamespaces": "inference"}, "/watchNamespaces"),
        ({"watchNamespaces": ["Not A Name"]}, "/watchNamespaces/0"),
        ({"log": {"level": "loud"}}, "/log/level"),
        ({"tls": {"enabled": "no"}}, "/tls/enabled"),
        ({"tls": {"certManager": {"duration": "90d"}}}, "/tls/certManager/duration"),
        ({"service": {"xdsPort": 0}}, "/service/xdsPort"),
        ({"gateway": {"replicaCount": "two"}}, "/gateway/replicaCount"),
        ({"gateway": {"name": 'a"b'}}, "/gateway/name"),
        ({"nameOverride": "Bad_Name"}, "/nameOverride"),
        ({"fullnameOverride": "1st"}, "/fullnameOverride"),
        ({"gateway": {"drainSeconds": 0}}, "/gateway/drainSeconds"),
        ({"gateway": {"terminationGracePeriodSeconds": 1}}, "'terminationGracePeriodSeconds' not allowed"),
    ],
)
def test_wrong_values_are_refused_by_name(values: dict[str, Any], told: str) -> None:
    with pytest.raises(helm_python.HelmValuesError) as refused:
        rendered(values)
    assert told in str(refused.value)


def test_values_of_a_parent_chart_are_let_through() -> None:
    assert objects({"global": {"anything": {"goes": True}}}) == objects({})


def test_notes_say_what_to_do_next() -> None:
    chart = helm_python.Chart.load(CHART)
    with_tls = {"gateway": {"tls": {"secretName": "certificate"}}}
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "  http://"),
        (with_tls, "  https://"),
        (CASES["own-envoys"], "cacheroute gateway bootstrap"),
    )
    for values, told in cases:
        notes = chart.render(values, name="cacheroute", namespace="x")["cacheroute/templates/NOTES.txt"]
        assert "kubectl get rplan" in notes
        assert told in notes


def test_runbooks_of_alerts_become_links() -> None:
    prefix = "https://git.example.com/cacheroute/blob/main/"
    text = helm_python.Chart.load(CHART).render(
        {"prometheusRule": {"enabled": True, "runbookPrefix": prefix}}, name="cacheroute", namespace="x"
    )["cacheroute/templates/prometheusrule.yaml"]
    assert text.count("runbook_url: ") == text.count(f"runbook_url: {prefix}docs/operations.md#") > 0


def test_the_chart_is_of_the_package() -> None:
    metadata = helm_python.Chart.load(CHART).metadata
    assert metadata["appVersion"] == __version__
    assert metadata["version"] == __version__


def test_helm_finds_nothing_to_complain_about() -> None:
    report = helm_python.lint(CHART, strict=True, namespace="cacheroute-system")
    assert report["errors"] == []
    assert [one for one in report["messages"] if one["severity"] > 1] == []


def test_envoy_outlives_the_container_that_drains_it() -> None:
    """A sidecar (an init container that always restarts) is ended after the main containers."""
    spec = named({}, "Deployment", "cacheroute-gateway")["spec"]["template"]["spec"]
    assert [(one["name"], one["restartPolicy"]) for one in spec["initContainers"]] == [("envoy", "Always")]
    assert [one["name"] for one in spec["containers"]] == ["drain"]
    words = spec["containers"][0]["args"]
    assert words[:2] == ["gateway", "drain"]
    assert spec["terminationGracePeriodSeconds"] > int(words[words.index("--seconds") + 1])
