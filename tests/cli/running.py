"""Runs our commands in this process, as their entry points do."""

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from cacheroute.cli.kubectl import main as kubectl_main
from cacheroute.cli.main import main as cacheroute_main

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Ended:
    code: object
    out: str
    err: str


class Runner:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def cacheroute(self, *arguments: object, stdin: bytes = b"") -> Ended:
        return self._run(cacheroute_main, "cacheroute", arguments, stdin)

    def kubectl(self, *arguments: object, stdin: bytes = b"") -> Ended:
        return self._run(kubectl_main, "kubectl-cacheroute", arguments, stdin)

    def _run(
        self, main: Callable[[], None], program: str, arguments: tuple[object, ...], stdin: bytes
    ) -> Ended:
        self._monkeypatch.setattr(sys, "argv", [program, *map(str, arguments)])
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as end:
            main()
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return Ended(end.value.code, said.out, said.err)


def same_as_file(name: str, text: str) -> None:
    """Compare with a golden file; CACHEROUTE_UPDATE_GOLDEN=1 writes it anew, then read the difference."""
    path = DATA / name
    if os.environ.get("CACHEROUTE_UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")
