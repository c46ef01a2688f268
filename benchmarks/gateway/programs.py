"""The programs that a measurement needs, each at a pinned version, fetched or built once and kept in the cache."""

import os
import shutil
import sys
from pathlib import Path

from cacheroute.proxy.envoy_binary import ENVOY_VERSION, find_or_fetch
from e2e.harness import binaries, cache, debian, python_packages
from e2e.harness.process import run
from e2e.harness.progress import say, step

ROUTER = "vllm-router==0.1.17"
"""The router that the production stack of vLLM offers, written in Rust (PyPI)."""
_SOURCES = Path(__file__).with_name("backend")


def envoy() -> Path:
    """Return the Envoy that is measured."""
    return find_or_fetch(None, os.environ, say)


def versions() -> dict[str, str]:
    """Return what is compared, for the result's note on the machine."""
    return {"envoy": ENVOY_VERSION, "router": ROUTER}


def wrk() -> Path:
    """Return the load generator, installed from Debian where it is missing.

    Raises:
        CannotRunError: it is missing and this is no Debian, or we are not root.
    """
    found = shutil.which("wrk")
    if found is None:
        debian.install(["wrk"])
        found = "/usr/bin/wrk"
    return Path(found)


def backend() -> Path:
    """Return the destination's program, built from Go."""
    go = binaries.go_command()
    key = cache.digest(
        *(path.read_bytes() for path in sorted(_SOURCES.iterdir())), run([go, "env", "GOVERSION"])
    )

    def make(target: Path) -> None:
        with step("building the benchmark's backend", "10 s"):
            flags = ["-trimpath", "-buildvcs=false", "-ldflags", "-s -w"]
            run([go, "build", *flags, "-o", target / "backend", "."], cwd=_SOURCES, env={"CGO_ENABLED": "0"})

    return cache.entry(f"tools/bench-backend-{key}", make) / "backend"


def vllm_router() -> Path:
    """Return the router to compare with, in an environment of its own: it brings web servers that we do not use."""

    def make(folder: Path) -> None:
        with step(f"fetching {ROUTER} from PyPI", "20 s"):
            run(
                [
                    python_packages.uv(),
                    "venv",
                    "--quiet",
                    "--relocatable",
                    "--python",
                    sys.executable,
                    folder / "env",
                ]
            )
            run(
                [
                    python_packages.uv(),
                    "pip",
                    "install",
                    "--quiet",
                    "--python",
                    folder / "env/bin/python",
                    ROUTER,
                ]
            )

    return cache.entry(f"tools/{ROUTER.replace('==', '-')}", make) / "env/bin/vllm-router"
