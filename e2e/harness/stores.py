"""Image stores: containerd's folder with the stable images in it, imported once and then linked.

Importing some 700 MB takes many seconds a node. A store never changes its unpacked layers, so each node gets a copy
made of hard links, with only the databases copied, and imports just the thin layers that are new.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from e2e.harness import cache, images, node, oci
from e2e.harness.machine import Machine
from e2e.harness.oci import Image
from e2e.harness.process import run
from e2e.harness.progress import step


def seed(stable: Sequence[Image]) -> Path:
    """Return the store that holds `stable`, made first where the cache lacks it."""
    key = cache.digest(*(image.manifest() for image in stable), *(image.reference for image in stable))

    def make(folder: Path) -> None:
        with step("importing the stable images into a store", "30 s"):
            _import(stable, folder)

    return cache.entry(f"stores/{key}", make) / "store"


def clone(store: Path, target: Path) -> None:
    """Copy a store by hard links; `target` must lie on the file system of the cache and not exist."""
    run(["cp", "--archive", "--link", store, target])
    for database in target.glob("*/*.db"):
        database.unlink()
        shutil.copy(store / database.relative_to(target), database)


def _import(stable: Sequence[Image], folder: Path) -> None:
    archive, work = folder / "images.tar", folder / "machine"
    oci.write_archive(stable, archive)
    unlocked = os.open(os.devnull, os.O_RDONLY)
    machine = Machine.boot("importer", work, images.init(), lock=unlocked, outlives_us=False)
    os.close(unlocked)
    config = work / "containerd.toml"
    config.write_text(node.containerd_config(folder / "store", work, stable[0].reference))
    node.start_containerd(machine, config)
    node.ctr(machine, "images", "import", archive)
    machine.terminate("containerd")
    machine.end()
    archive.unlink()
    shutil.rmtree(work)
