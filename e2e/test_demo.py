"""`cacheroute demo` as users run it, and that nothing is left of it however it ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson
import pytest

from e2e.gateway_rig import envoy_program

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(300)]

COMMAND = (sys.executable, "-m", "cacheroute.cli.main", "demo")
SMALL = ("--engines", "4", "--tenants", "200", "--rate", "30", "--seconds", "12", "--warmup", "10")
DRIFT = (
    "--engines",
    "4",
    "--tenants",
    "200",
    "--rate",
    "30",
    "--seconds",
    "20",
    "--warmup",
    "10",
    "--interval",
    "5",
)
MARK = "CACHEROUTE_DEMO_TEST"
START_SECONDS, END_SECONDS, RUN_SECONDS = 60.0, 20.0, 240.0


@dataclass
class Run:
    """A demonstration; everything that it starts inherits ``mark`` in its environment."""

    folder: Path
    options: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        inherited = {**os.environ, **self.environment, "TMPDIR": str(self.folder), MARK: self.mark}
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen((*COMMAND, *self.options), stdout=out, stderr=err, env=inherited)

    @property
    def output(self) -> bytes:
        """Standard output so far."""
        return (self.folder / "out").read_bytes()

    @property
    def errors(self) -> str:
        """Standard error so far."""
        return (self.folder / "err").read_text("utf-8")

    @property
    def kept(self) -> list[Path]:
        """Folders of the run that are there."""
        return list(self.folder.glob("cacheroute-demo-*"))

    def processes(self) -> list[int]:
        """Return the ids of everything that runs with the mark."""
        needle = f"{MARK}={self.mark}".encode()
        return [
            int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if needle in _read(path)
        ]

    def until_under_load(self, sign: str = "flat:") -> None:
        """Wait until requests are sent, of which ``sign`` tells."""
        wait(lambda: sign.encode() in self.output, START_SECONDS, lambda: f"no load: {self.errors}")
        assert len(self.processes()) == 1 + 4 + 2

    def until_all_ended(self) -> None:
        """Wait until nothing of it runs."""
        wait(lambda: not self.processes(), END_SECONDS, lambda: f"still running: {self.processes()}")


def wait(reached: Callable[[], bool], seconds: float, complaint: Callable[[], str]) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        if time.monotonic() > deadline:
            pytest.fail(f"after {seconds:.0f} s: {complaint()}")
        time.sleep(0.05)


def _read(path: Path) -> bytes:
    """Return what a process's file says; nothing for one that has ended."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


@contextlib.contextmanager
def demo(folder: Path, *options: str, **environment: str) -> Iterator[Run]:
    """Start a demonstration; what is left of it is killed at the end."""
    run = Run(folder, options, environment)
    try:
        yield run
    finally:
        for process in run.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        run.process.wait()


@pytest.fixture(autouse=True)
def _envoy() -> None:
    """Fetch Envoy before anything is timed."""
    envoy_program()


def test_two_runs_at_once_both_show_what_planning_gains(tmp_path: Path) -> None:
    with (
        demo(tmp_path / "a", *SMALL, "-o", "json", "--seed", "1") as one,
        demo(tmp_path / "b", *SMALL, "-o", "json", "--seed", "2") as other,
    ):
        for run in (one, other):
            assert run.process.wait(RUN_SECONDS) == 0, run.errors
            found = orjson.loads(run.output)
            assert found["planned"]["hitPercent"] - found["flat"]["hitPercent"] >= 15
            assert found["failedRequests"] == 0
            assert found["keysMoved"] == found["failover"]["keys"] > 0
            assert found["failover"]["keysAwayAfterReturn"] == 0
            assert found["planned"]["requests"] == found["flat"]["requests"] > 200
            assert found["planned"]["decisions"]["planned"] > 0.95 * found["planned"]["requests"]
            assert found["flat"]["decisions"].keys() == {"cold"}
            assert {"maxOverMean", "ttftP99Ms"} <= found["flat"].keys()
            assert {"cutStreams", "seconds"} <= found.keys()
            run.until_all_ended()
            assert not run.kept


def test_drifting_rates_cost_stable_less_than_paper(tmp_path: Path) -> None:
    with demo(tmp_path / "run", "--drift", *DRIFT, "-o", "json") as run:
        assert run.process.wait(RUN_SECONDS) in {0, 1}, run.errors
        found = orjson.loads(run.output)
        stable, paper = found["stable"], found["paper"]
        assert found["failedRequests"] == 0
        assert found["intervals"] == len(stable["perInterval"]) == len(paper["perInterval"]) == 4
        assert stable["requests"] == paper["requests"] > 400
        assert found["gainPoints"] == pytest.approx(stable["hitPercent"] - paper["hitPercent"], abs=0.11)
        assert found["gainPoints"] > 0
        assert paper["keysMovedPercentPerInterval"] > 60
        assert stable["keysMovedPercentPerInterval"] < 20
        assert stable["decisions"]["planned"] > 0.8 * stable["requests"]
        run.until_all_ended()


def test_ctrl_c_under_drift_ends_everything(tmp_path: Path) -> None:
    with demo(tmp_path / "run", "--drift", *DRIFT) as run:
        run.until_under_load("warm-up:")
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(END_SECONDS) == 130
        run.until_all_ended()
        assert not run.kept
        assert "Traceback" not in run.errors


def test_ctrl_c_ends_everything(tmp_path: Path) -> None:
    with demo(tmp_path / "run", *SMALL) as run:
        run.until_under_load()
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait(END_SECONDS) == 130
        run.until_all_ended()
        assert not run.kept
        assert "Traceback" not in run.errors


def test_a_killed_run_leaves_no_process(tmp_path: Path) -> None:
    with demo(tmp_path / "run", *SMALL) as run:
        run.until_under_load()
        run.process.kill()
        run.process.wait()
        run.until_all_ended()


def test_a_part_that_does_not_start_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "envoy"
    broken.write_text("#!/bin/sh\necho 'bad gateway day'\nexit 7\n", encoding="utf-8")
    broken.chmod(0o755)
    with demo(tmp_path / "run", *SMALL, CACHEROUTE_ENVOY=str(broken)) as run:
        assert run.process.wait(START_SECONDS) == 1
        (complaint,) = run.errors.splitlines()
        assert "gateway ended while starting" in complaint
        assert "bad gateway day" in complaint
        run.until_all_ended()
        (kept,) = run.kept
        assert str(kept) in complaint
        assert (kept / "gateway.log").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("-o", "yaml"), "--output"),
        (("--engines", "1"), "--engines"),
        (("--tenants", "many"), "--tenants"),
        (("--interval", "5"), "--interval"),
        (("--drift", "--seconds", "45"), "--seconds"),
    ],
)
def test_a_wrong_option_is_named(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    with demo(tmp_path / "run", *options) as run:
        assert run.process.wait(START_SECONDS) == 2
        assert named in run.errors
        assert not run.kept
