"""Make .venv from the lock file; needs nothing but Python 3.11 or newer (run by `make`)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
TOOLS = ROOT / ".tools" / "uv"
UV_VERSION = "0.13.9"
MINIMUM = (3, 11)


def say(message: str) -> None:
    """Tell the user what takes time."""
    print(f"setup: {message}", flush=True)  # noqa: T201 - a script's output


def fail(message: str) -> None:
    """End with one line."""
    sys.exit(f"setup: {message}")


def succeeds(*command: str) -> bool:
    """Run a command whose failure is an answer."""
    return subprocess.run(command, check=False, capture_output=True).returncode == 0  # noqa: S603 - our own arguments


def run(*command: str) -> None:
    """Run a command and end where it fails; its output is the explanation."""
    if subprocess.run(command, check=False, cwd=ROOT).returncode != 0:  # noqa: S603 - our own arguments
        fail(f"`{' '.join(command)}` failed; see above")


def find_uv() -> str:
    """Return a uv: one that is installed, or one fetched into .tools."""
    fetched = TOOLS / "bin" / "uv"
    if fetched.exists():
        return str(fetched)
    installed = shutil.which("uv")
    if installed:
        return installed
    say(f"fetching uv {UV_VERSION} (25 MB)")
    shutil.rmtree(TOOLS, ignore_errors=True)
    if succeeds(sys.executable, "-m", "pip", "--version"):
        run(sys.executable, "-m", "pip", "install", "-q", "--target", str(TOOLS), f"uv=={UV_VERSION}")
    else:
        make_venv_with_pip()
    return str(fetched)


def make_venv_with_pip() -> None:
    """Fetch uv through an environment of its own; Debian keeps what that needs in the package python3-venv."""
    if not succeeds(sys.executable, "-c", "import ensurepip"):
        install_debian_venv()
    run(sys.executable, "-m", "venv", str(TOOLS))
    run(str(TOOLS / "bin" / "python"), "-m", "pip", "install", "-q", f"uv=={UV_VERSION}")


def install_debian_venv() -> None:
    """Install Debian's python3-venv where that is possible."""
    apt = shutil.which("apt-get")
    if apt is None or os.geteuid() != 0:
        fail(
            "Python has neither pip nor venv; install them (Debian: apt-get install python3-venv) or put uv on PATH"
        )
    say("installing the Debian package python3-venv")
    run(str(apt), "update", "-qq")
    run(str(apt), "install", "-y", "-qq", "--no-install-recommends", "python3-venv")


def main() -> None:
    """Bring .venv in line with the lock file."""
    if sys.version_info < MINIMUM:
        fail(f"needs Python 3.11 or newer, this is {sys.version.split()[0]}; set PYTHON=/path/to/python3.11")
    uv = find_uv()
    if not (VENV / "bin" / "python").exists():
        say("making .venv")
        run(uv, "venv", "-q", "--python", sys.executable, str(VENV))
    say("installing the locked packages (about 250 MB the first time, from the cache afterwards)")
    os.environ["VIRTUAL_ENV"] = str(VENV)
    run(uv, "pip", "sync", "-q", "--require-hashes", "requirements.lock")
    run(uv, "pip", "install", "-q", "--no-deps", "-e", ".")
    (VENV / ".stamp").touch()
    say("ready: .venv/bin/cacheroute --help")


if __name__ == "__main__":
    main()
