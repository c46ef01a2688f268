"""Container images without a registry or a container engine: an OCI image layout in one tar archive.

Layers are plain tar files in the cache, shared by the images that stack on them. The format is the image
layout of the OCI image specification (`oci-layout`, `index.json`, `blobs/`), which containerd, `kind load
image-archive` and Docker read alike.
"""

import hashlib
import io
import json
import platform
import shutil
import tarfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.harness import cache

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}
_OCI = "application/vnd.oci.image"
_DOMAIN = "cacheroute.test"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: an uncompressed tar file and its digest, `sha256:` and 64 hex digits."""

    path: Path
    digest: str


@dataclass(frozen=True, slots=True)
class Image:
    """A stack of layers, lowest first, and how to start it.

    Attributes:
        name: Short name; the reference is `cacheroute.test/NAME:e2e`.
        environment: As `NAME=value`.
        user: Numeric user id, `""` for root.
    """

    name: str
    layers: tuple[Layer, ...]
    entrypoint: tuple[str, ...]
    environment: tuple[str, ...] = ("PATH=/usr/local/bin:/usr/bin:/bin",)
    user: str = "65532"

    @property
    def reference(self) -> str:
        """What a pod writes as its image."""
        return f"{_DOMAIN}/{self.name}:e2e"

    def config(self) -> bytes:
        """Return the image configuration."""
        return _json(
            {
                "architecture": ARCHITECTURE[platform.machine()],
                "os": "linux",
                "config": {"Entrypoint": self.entrypoint, "Env": self.environment, "User": self.user},
                "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in self.layers]},
            }
        )

    def manifest(self) -> bytes:
        """Return the image manifest."""
        layers = [
            {"mediaType": f"{_OCI}.layer.v1.tar", "digest": each.digest, "size": each.path.stat().st_size}
            for each in self.layers
        ]
        config = {"mediaType": f"{_OCI}.config.v1+json", **_descriptor(self.config())}
        kind = f"{_OCI}.manifest.v1+json"
        return _json({"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers})


def layer(name: str, key: str, fill: Callable[[Path], None]) -> Layer:
    """Return the cached layer `name` of content `key`; `fill` writes the files into a folder where it is missing."""

    def make(folder: Path) -> None:
        files = folder / "files"
        files.mkdir()
        fill(files)
        pack(files, folder / "layer.tar")
        shutil.rmtree(files)
        seal(folder)

    return sealed(cache.entry(f"layers/{name}-{key}", make))


def seal(folder: Path) -> None:
    """Write the digest of `layer.tar` beside it."""
    with (folder / "layer.tar").open("rb") as packed:
        (folder / "digest").write_text("sha256:" + hashlib.file_digest(packed, "sha256").hexdigest())


def sealed(folder: Path) -> Layer:
    """Return the layer that `seal` completed."""
    return Layer(folder / "layer.tar", (folder / "digest").read_text())


def pack(files: Path, archive: Path) -> None:
    """Pack a folder the same way each time: sorted, owned by root, without times."""
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as out:
        for path in sorted(files.rglob("*")):
            info = out.gettarinfo(path, arcname=str(path.relative_to(files)))
            info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "root", "root"
            if info.isreg():
                with path.open("rb") as content:
                    out.addfile(info, content)
            else:
                out.addfile(info)


def write_archive(images: Sequence[Image], archive: Path, without: Collection[str] = ()) -> None:
    """Write the images into one archive, leaving out the layers whose digests the receiver already has."""
    layers = {
        each.digest: each.path for image in images for each in image.layers if each.digest not in without
    }
    partial = archive.with_suffix(".partial")
    with tarfile.open(partial, "w", format=tarfile.PAX_FORMAT) as out:
        _add(out, "oci-layout", _json({"imageLayoutVersion": "1.0.0"}))
        _add(out, "index.json", _index(images))
        for blob in (content for image in images for content in (image.config(), image.manifest())):
            _add(out, _blob_name(_digest(blob)), blob)
        for digest, path in layers.items():
            out.add(path, _blob_name(digest))
    partial.replace(archive)


def _index(images: Sequence[Image]) -> bytes:
    manifests = [
        {
            "mediaType": f"{_OCI}.manifest.v1+json",
            **_descriptor(image.manifest()),
            "annotations": {"io.containerd.image.name": image.reference},
        }
        for image in images
    ]
    return _json({"schemaVersion": 2, "mediaType": f"{_OCI}.index.v1+json", "manifests": manifests})


def _descriptor(blob: bytes) -> dict[str, Any]:
    return {"digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def _blob_name(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _add(out: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    out.addfile(info, io.BytesIO(content))
