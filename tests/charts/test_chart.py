"""The chart as Helm renders it, in full for a few sets of values: a change of it must be meant.

Run with CACHEROUTE_UPDATE_GOLDEN=1 to write the files anew, then read the difference.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from cacheroute import __version__
from cacheroute.controllers.settings import OperatorSettings
from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap

CHART = Path(__file__).parents[2] / "charts" / "cacheroute"
DATA = Path(__file__).parent / "data"
KUBERNETES = "1.37.0"
SCRAPE = "prometheus.io/scrape"
CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "own-envoys": {"gateway": {"enabled": False}},
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
        "serviceAccount": {"annotations": {"example.com/role": "planner"}},
        "podAnnotations": {"example.com/a": "operator"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "priorityClassName": "system-cluster-critical",
        "extraArgs": ["--log-level=debug"],
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        "gateway": {
            "name": "batch",
            "concurrency": 0,
            "drainSeconds": 300,
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
    },
}
"""Name of a golden file → values."""


def rendered(values: Mapping[str, Any]) -> str:
    chart = helm_python.Chart.load(CHART)
    files = chart.render(dict(values), name="cacheroute", namespace="cacheroute-system")
    return "".join(
        f"# {name}\n{text.strip()}\n---\n" for name, text in sorted(files.items()) if name.endswith(".yaml")
    )


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
    known = [one for one in objects(CASES[name]) if "coreos" not in one["apiVersion"]]
    for one in known:
        kubernetes_validate.validate(one, KUBERNETES, strict=True)
    assert known


@pytest.mark.parametrize("name", CASES)
def test_pods_meet_the_restricted_standard(name: str) -> None:
    for pod in pods(CASES[name]):
        spec = pod["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in spec["containers"]:
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
        BootstrapSettings("default", xds=Place("cacheroute.cacheroute-system.svc", 18000))
    )


def test_the_gateway_finds_the_operator() -> None:
    values = {"service": {"xdsPort": 18111}, "fullnameOverride": "routes", "gateway": {"name": "batch"}}
    config = yaml.safe_load(named(values, "ConfigMap", "routes-gateway")["data"]["bootstrap.yaml"])
    service = named(values, "Service", "routes")
    assert config == bootstrap(
        BootstrapSettings(
            "batch", xds=Place("routes.cacheroute-system.svc", service["spec"]["ports"][0]["port"])
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
        ({"service": {"xdsPort": 0}}, "/service/xdsPort"),
        ({"gateway": {"replicaCount": "two"}}, "/gateway/replicaCount"),
        ({"gateway": {"name": 'a"b'}}, "/gateway/name"),
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
    for values, told in (({}, "/v1/chat/completions"), (CASES["own-envoys"], "cacheroute gateway bootstrap")):
        notes = chart.render(values, name="cacheroute", namespace="x")["cacheroute/templates/NOTES.txt"]
        assert "kubectl get rplan" in notes
        assert told in notes


def test_the_chart_is_of_the_package() -> None:
    metadata = helm_python.Chart.load(CHART).metadata
    assert metadata["appVersion"] == __version__
    assert metadata["version"] == __version__


def test_helm_finds_nothing_to_complain_about() -> None:
    report = helm_python.lint(CHART, strict=True, namespace="cacheroute-system")
    assert report["errors"] == []
    assert [one for one in report["messages"] if one["severity"] > 1] == []
