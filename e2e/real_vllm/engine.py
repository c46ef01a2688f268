"""Real vLLM servers as processes of a run."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cacheroute.domain.table import Endpoint
from e2e.harness.errors import HarnessError, ServiceEndedError
from e2e.harness.progress import step
from e2e.harness.wait import until
from e2e.real_vllm import environment

MODEL = "tiny"
BLOCK_SIZE = 32
"""Tokens in a KV block; vLLM's CPU attention takes multiples of 32 only."""
BLOCKS = 100
"""Few, so that little traffic evicts; one of them is vLLM's null block."""
MAX_MODEL_LEN = 2048
START_SECONDS = 400.0
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_SERVER_DEV_MODE": "1",  # POST /reset_prefix_cache
    "VLLM_TARGET_DEVICE": "cpu",
}


@dataclass
class RealEngine:
    """One vLLM server; `start` it, again too after it has ended.

    Attributes:
        name: of the destination.
        folder: for its log; it holds the model in `model`.
        flags: more flags of `vllm serve`.
    """

    name: str
    folder: Path
    flags: tuple[str, ...] = ()
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Its output."""
        return self.folder / f"{self.name}.log"

    @property
    def running(self) -> bool:
        """Whether the server's first process runs."""
        return self.process is not None and self.process.poll() is None

    def endpoint(self, seat: int | None = None, *, draining: bool = False) -> Endpoint:
        """Return it as a routing table has it."""
        return Endpoint(self.name, "127.0.0.1", self.port, draining, seat)

    def begin(self) -> None:
        """Start it without waiting; it dies with us."""
        self.port = _free_port()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *self._command()],
                env=_clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def healthy(self) -> bool:
        """Whether it answers; raises ServiceEndedError where it has ended."""
        if not self.running:
            raise ServiceEndedError(f"{self.name} has ended; {self.last_words()}")
        return self._request("GET", "/health") == 200

    def reset_cache(self) -> None:
        """Empty the prefix cache."""
        status = self._request("POST", "/reset_prefix_cache")
        if status != 200:
            raise HarnessError(f"{self.name}: POST /reset_prefix_cache: {status}; {self.last_words()}")

    def terminate(self) -> None:
        """Send SIGTERM to the first process, as the kubelet does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)

    def wait(self, within: float) -> float:
        """Wait for the first process to end by itself and clear what it left; returns the seconds it took."""
        seconds = until(lambda: not self.running, within=within, what=f"{self.name} has ended")
        self.kill()
        return seconds

    def kill(self) -> None:
        """Kill all its processes at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def last_words(self) -> str:
        """Return the end of its log."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
        return f"{self.log} ends: " + " | ".join(lines)

    def _request(self, method: str, path: str) -> int:
        """Return the status; raises HarnessError where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path)
            return connection.getresponse().status
        except OSError as error:
            raise HarnessError(f"{method} {self.url}{path}: {error}") from error
        finally:
            connection.close()

    def _command(self) -> list[str | Path]:
        own = {"--host": "127.0.0.1", "--port": self.port, "--served-model-name": MODEL}
        sizes = {
            "--block-size": BLOCK_SIZE,
            "--num-gpu-blocks-override": BLOCKS,
            "--max-model-len": MAX_MODEL_LEN,
        }
        flags = [str(word) for pair in (own | sizes).items() for word in pair]
        fixed = ["--load-format", "dummy", "--dtype", "bfloat16", "--enforce-eager"]
        command: list[str | Path] = [environment.vllm(), "serve", self.folder / "model"]
        return [*command, *flags, *fixed, "--enable-prompt-tokens-details", *self.flags]


def start(*engines: RealEngine) -> None:
    """Start those that do not run, at once, and wait until all answer."""
    missing = [engine for engine in engines if not engine.running]
    if not missing:
        return
    with step(f"starting vLLM: {', '.join(engine.name for engine in missing)}", "60 s"):
        for engine in missing:
            engine.begin()
        for engine in missing:
            until(engine.healthy, within=START_SECONDS, what=f"{engine.name} answers", every=0.5)


def _clean_environment() -> Mapping[str, str]:
    """Return ours without what points Python at our own packages."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return ours | _ENVIRONMENT


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
