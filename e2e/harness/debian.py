"""Debian packages the harness needs on the machine."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from e2e.harness import cache
from e2e.harness.errors import CannotRunError
from e2e.harness.machine import PRIVATE
from e2e.harness.process import run
from e2e.harness.progress import step

PACKAGES = {
    "gcc": "/usr/bin/gcc",
    "iproute2": "/usr/sbin/ip",
    "libc6-dev": "/usr/include/stdio.h",
    "libseccomp-dev": "/usr/include/seccomp.h",
    "mmdebstrap": "/usr/bin/mmdebstrap",
    "nftables": "/usr/sbin/nft",
    "openssl": "/usr/bin/openssl",
    "pkg-config": "/usr/bin/pkg-config",
    "procps": "/usr/sbin/sysctl",
    "util-linux": "/usr/bin/nsenter",
}


def require() -> None:
    """Install what is missing, or say why the suite cannot run here.

    Raises:
        CannotRunError: Not root, not a Debian with apt-get, or the cache lies where machines have their own files.
    """
    if os.geteuid() != 0:
        raise CannotRunError("the local cluster needs root for network namespaces; run as root, or use kind")
    hidden = [place for place in PRIVATE if cache.root().resolve().is_relative_to(place)]
    if hidden:
        raise CannotRunError(
            f"the cache {cache.root()} lies below {hidden[0]}; set XDG_CACHE_HOME to another place"
        )
    missing = [name for name, proof in PACKAGES.items() if not Path(proof).exists()]
    if missing:
        install(missing)


def install(missing: Sequence[str]) -> None:
    """Install Debian packages.

    Raises:
        CannotRunError: There is no apt-get.
        HarnessError: It failed; as anybody but root, for instance.
    """
    if shutil.which("apt-get") is None:
        raise CannotRunError(f"missing on this machine: {', '.join(missing)}; install them first")
    with step(f"apt-get install {' '.join(missing)}", "30 s"):
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "-q", "update"], env=quiet)
        run(["apt-get", "-qy", "install", "--no-install-recommends", *missing], env=quiet)
