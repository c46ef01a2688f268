"""The images of the tests: pause, coredns, cacheroute, envoy, prometheus.

`cacheroute` is operator, engine and standalone in one: a Debian layer, a layer of the locked dependencies
(both made once and kept), and a thin layer with the package as it stands in the checkout.
"""

import compileall
import shutil
from collections.abc import Sequence
from pathlib import Path
from py_compile import PycInvalidationMode

from e2e.harness import binaries, cache, oci, python_packages
from e2e.harness.oci import Image, Layer
from e2e.harness.process import run
from e2e.harness.progress import step

CHECKOUT = Path(__file__).parent.parent.parent
SITE = "opt/cacheroute/dependencies"
PACKAGE = "opt/cacheroute/package"
DEBIAN = ["--variant=essential", "--include=python3-minimal,libpython3-stdlib,libstdc++6,tzdata"]
UNUSED = ("doc", "man", "locale", "info")


def init() -> Path:
    """Return the tiny static program that is the first process of a machine or pod."""
    source = Path(__file__).parent / "init.c"

    def make(folder: Path) -> None:
        run(["gcc", "-Os", "-static", "-s", "-o", folder / "init", source])

    return cache.entry(f"tools/init-{cache.digest(source.read_bytes())}", make) / "init"


def stable() -> list[Image]:
    """Return the images that do not depend on the package's code; building them takes minutes, once."""
    base = _debian()
    return [
        Image("pause", (_one_file("pause", init()),), ("/usr/local/bin/pause",)),
        Image(
            "coredns",
            (_one_file("coredns", binaries.program("coredns")),),
            ("/usr/local/bin/coredns",),
            user="",
        ),
        Image("dependencies", (base, _dependencies()), ("/usr/bin/python3",)),
        Image("envoy", (base, _one_file("envoy", python_packages.envoy())), ("/usr/local/bin/envoy",)),
        Image(
            "prometheus",
            (_one_file("prometheus", binaries.program("prometheus")),),
            ("/usr/local/bin/prometheus",),
        ),
    ]


def cacheroute() -> Image:
    """Return the image of the package as it stands in the checkout."""
    return Image(
        "cacheroute",
        (_debian(), _dependencies(), _package()),
        ("/usr/bin/python3", "-m", "cacheroute.cli.main"),
        ("PATH=/usr/local/bin:/usr/bin:/bin", f"PYTHONPATH=/{PACKAGE}:/{SITE}", "PYTHONUNBUFFERED=1"),
    )


def layer_digests(images: Sequence[Image]) -> frozenset[str]:
    """Return the digests of all layers of `images`."""
    return frozenset(each.digest for image in images for each in image.layers)


def _debian() -> Layer:
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in UNUSED]
    command = ["mmdebstrap", "--quiet", *DEBIAN, *excluded, "bookworm"]

    def make(folder: Path) -> None:
        with step("making the Debian layer with mmdebstrap", "30 s"):
            run([*command, folder / "layer.tar"], env={"SOURCE_DATE_EPOCH": "0"})
        oci.seal(folder)

    return oci.sealed(cache.entry(f"layers/debian-{cache.digest(*command)}", make))


def _dependencies() -> Layer:
    lock, project = CHECKOUT / "requirements.lock", CHECKOUT / "pyproject.toml"

    def fill(files: Path) -> None:
        with step("installing the locked dependencies for the image", "20 s"):
            # Requirements are the project's own; versions and hashes are the lock's, so no dev tool comes along.
            python_packages.install(files / SITE, ["--require-hashes", "-r", project, "-c", lock])
            _compile(files / SITE)

    return oci.layer("dependencies", cache.digest(lock.read_bytes(), _section(project), SITE), fill)


def _section(project: Path) -> str:
    """Return the lines of pyproject.toml that name the dependencies, so that other edits keep the layer."""
    lines = project.read_text().splitlines()
    start = lines.index("dependencies = [")
    return "\n".join(lines[start : lines.index("]", start)])


def _package() -> Layer:
    source = CHECKOUT / "operator" / "cacheroute"
    files = [path for path in sorted(source.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    key = cache.digest(
        *(part for path in files for part in (str(path.relative_to(source)), path.read_bytes()))
    )

    def fill(target: Path) -> None:
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, target / PACKAGE / "cacheroute", ignore=ignore)
        _compile(target / PACKAGE)

    return oci.layer("package", key, fill)


def _compile(folder: Path) -> None:
    """Compile for a root file system that is read-only and has no times, so that nothing compiles at start."""
    compileall.compile_dir(
        folder,
        quiet=2,
        workers=0,
        stripdir=str(folder.parents[len(Path(SITE).parts) - 1]),
        prependdir="/",
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
    )


def _one_file(name: str, program: Path) -> Layer:
    def fill(files: Path) -> None:
        target = files / "usr/local/bin" / name
        target.parent.mkdir(parents=True)
        shutil.copy(program, target)

    return oci.layer(name, cache.digest(str(program)), fill)
