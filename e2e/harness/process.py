"""Short commands that must succeed."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from e2e.harness.errors import HarnessError


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
) -> str:
    """Run a command and return its standard output.

    Raises:
        HarnessError: It could not start or ended with another code than 0; the message carries its last lines.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env={**os.environ, **env} if env else None,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as missing:
        raise HarnessError(f"{words[0]}: no such program; needed for: {' '.join(words)}") from missing
    if done.returncode != 0:
        last = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise HarnessError(f"{' '.join(words)}: ended with {done.returncode}\n{last}")
    return done.stdout
