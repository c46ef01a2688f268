"""What a user's cluster has besides CacheRoute: vLLM pods (simulated) and a Prometheus that discovers pods."""

from typing import Any

NAMESPACE, MONITORING, SYSTEM = "inference", "monitoring", "cacheroute-system"
MODEL = "llama"
ENGINES = 6
BLOCKS = 4000
INTERVAL_SECONDS, WINDOW_SECONDS = 5, 20
WARM_PREFIXES = 4
PRE_STOP_SECONDS, SHUTDOWN_SECONDS = 3, 30
"""Of the vLLM pods: how long one serves on after it is told to go, then how long its streams may take."""
PROMETHEUS_CONFIG = """
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: pods
  kubernetes_sd_configs: [{role: pod}]
  relabel_configs:
  - {source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape], regex: "true", action: keep}
  - source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_path]
    regex: (.+)
    target_label: __metrics_path__
  - source_labels: [__meta_kubernetes_pod_ip, __meta_kubernetes_pod_annotation_prometheus_io_port]
    regex: (.+);(.+)
    replacement: $1:$2
    target_label: __address__
  - {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
"""
_PATIENT = {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 10}
"""A machine of two cores that runs two nodes starves a probe now and then; a dead process is seen without one."""
_SECURITY = {"runAsNonRoot": True, "readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False}


def namespaces() -> list[dict[str, Any]]:
    """Return the namespaces."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        for name in (NAMESPACE, MONITORING, SYSTEM)
    ]


def engines(image: str) -> dict[str, Any]:
    """Return the Deployment of the vLLM pods."""
    arguments = ["engine", "--model", MODEL, "--engine-model", "8b-bf16", "--speed", "20"]
    container = {
        "name": "vllm",
        "image": image,
        "imagePullPolicy": "Never",
        "args": [*arguments, "--num-gpu-blocks-override", str(BLOCKS), "--max-model-len", "4096"],
        "ports": [{"containerPort": 8000}],
        "readinessProbe": _PATIENT | {"httpGet": {"path": "/health", "port": 8000}},
        "securityContext": _SECURITY,
    }
    return _deployment("vllm", {"app": "vllm"}, container, replicas=ENGINES)


def graceful_engines(image: str, replicas: int = ENGINES) -> dict[str, Any]:
    """Return the vLLM Deployment as docs/operations.md asks for it, slow enough that streams take seconds."""
    deployment = engines(image)
    deployment["spec"] |= {"replicas": replicas, "strategy": {"rollingUpdate": {"maxSurge": 2}}}
    pod = deployment["spec"]["template"]["spec"]
    pod["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "kubernetes.io/hostname",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": {"app": "vllm"}},
            "matchLabelKeys": ["pod-template-hash"],
        }
    ]
    pod["terminationGracePeriodSeconds"] = PRE_STOP_SECONDS + SHUTDOWN_SECONDS + 5
    container = pod["containers"][0]
    container["lifecycle"] = {"preStop": {"sleep": {"seconds": PRE_STOP_SECONDS}}}
    container["args"][container["args"].index("--speed") + 1] = "0.1"
    container["args"] += ["--shutdown-timeout", str(SHUTDOWN_SECONDS)]
    return deployment


def prometheus() -> list[dict[str, Any]]:
    """Return a Prometheus with the rights to discover pods."""
    container = {
        "name": "prometheus",
        "image": "cacheroute.test/prometheus:e2e",
        "imagePullPolicy": "Never",
        "args": [
            "--config.file=/etc/prometheus/prometheus.yml",
            "--storage.tsdb.path=/data",
            "--web.listen-address=:9090",
        ],
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/prometheus"},
            {"name": "data", "mountPath": "/data"},
        ],
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": 9090}, "periodSeconds": 1},
        "securityContext": _SECURITY | {"runAsUser": 65532},
    }
    volumes = [{"name": "config", "configMap": {"name": "prometheus"}}, {"name": "data", "emptyDir": {}}]
    deployment = _deployment("prometheus", {"app": "prometheus"}, container, replicas=1)
    deployment["spec"]["template"]["spec"] |= {"serviceAccountName": "prometheus", "volumes": volumes}
    subject = {"kind": "ServiceAccount", "name": "prometheus", "namespace": MONITORING}
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "prometheus"}},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "prometheus"},
            "data": {"prometheus.yml": PROMETHEUS_CONFIG},
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "prometheus"},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "prometheus"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "prometheus"},
            "subjects": [subject],
        },
        deployment,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "prometheus"},
            "spec": {"selector": {"app": "prometheus"}, "ports": [{"port": 9090}]},
        },
    ]


def routing_plan(name: str = "llama", models: tuple[str, ...] = (MODEL,), **more: Any) -> dict[str, Any]:
    """Return the RoutingPlan of the tests."""
    spec = {
        "models": list(models),
        "destinations": {"selector": {"matchLabels": {"app": "vllm"}}, "port": 8000},
        "nodePools": [
            {
                "name": "h100",
                "nodeSelector": {"matchLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
                "capacity": {"requestsPerSecond": "60", "warmPrefixes": WARM_PREFIXES},
            }
        ],
        "keys": {"sources": [{"header": "x-tenant-id"}, {"bodyField": "user"}]},
        "rates": {"windowSeconds": WINDOW_SECONDS},
        "planning": {"intervalSeconds": INTERVAL_SECONDS},
    }
    return {
        "apiVersion": "cacheroute.dev/v1alpha1",
        "kind": "RoutingPlan",
        "metadata": {"name": name},
        "spec": spec | more,
    }


def _deployment(
    name: str, labels: dict[str, str], container: dict[str, Any], *, replicas: int
) -> dict[str, Any]:
    pod = {"terminationGracePeriodSeconds": 2, "containers": [container]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
