"""Rates from a Prometheus server, through prometheus-api-client in a thread."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import requests
import urllib3.exceptions
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from urllib3.util.retry import Retry

from cacheroute.domain.rates import RatesOutcome, RatesReason, RatesUnavailable
from cacheroute.domain.spec import PlanSpec
from cacheroute.prom import promql
from cacheroute.prom.interpret import AnswerError, Measured, figures, outcome, scalar, vector

MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""130,000 keys are about 13 MB; an answer over this is refused instead of read."""
_CHUNK = 1 << 16
_THREADS = 4
"""Measurements at a time, apart from other threads of the process: a server that drips bytes can keep them all."""
_GRACE_SECONDS = 1.0
"""How much longer than the timeout a thread may take before it is left to itself."""
_INFORMATION = "PromQL info"
"""Prometheus 2.48 to 2.53 put remarks among the warnings, for instance that a counter's name lacks ``_total``."""


@dataclass(frozen=True, slots=True)
class PrometheusOptions:
    """How to reach Prometheus; never part of a RoutingPlan.

    Attributes:
        url: base URL.
        timeout_seconds: for one measurement, which is at most four queries.
        bearer_token_file: read anew for every measurement; None for none.
        ca_file: trusted certificates; None for the system's.
        verify: whether the server's certificate is checked.
    """

    url: str
    timeout_seconds: float = 20.0
    bearer_token_file: Path | None = None
    ca_file: Path | None = None
    verify: bool = True


class WarningsError(RuntimeError):
    """Prometheus answered with warnings: the data is partial."""


class TooLargeError(RuntimeError):
    """An answer exceeds MAX_ANSWER_BYTES."""


class _BoundedSession(requests.Session):
    """Reads answers up to a size and a deadline, and refuses those that carry warnings.

    prometheus-api-client returns only the result, so the envelope is looked at here.
    """

    def __init__(self, seconds: float) -> None:
        """Take the time for everything that this session asks, seconds from now."""
        super().__init__()
        self._deadline = time.monotonic() + seconds

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Ask, and read the whole answer."""
        bounds = {"stream": True, "timeout": self._left(), "allow_redirects": False}
        response = super().request(*args, **(kwargs | bounds))
        with response:
            content = self._body(response)
        response._content = content  # noqa: SLF001 - how requests itself stores a consumed stream
        _refuse_warnings(response)
        return response

    def _body(self, response: requests.Response) -> bytes:
        content = bytearray()
        while chunk := response.raw.read1(_CHUNK, decode_content=True):
            content += chunk
            if len(content) > MAX_ANSWER_BYTES:
                raise TooLargeError(f"the answer is over {MAX_ANSWER_BYTES >> 20} MiB")
            self._left()
        return bytes(content)

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise requests.Timeout("the answer is not complete")
        return left


def _refuse_warnings(response: requests.Response) -> None:
    if not response.ok or b'"warnings"' not in response.content:
        return
    warnings = [str(one) for one in json.loads(response.content).get("warnings") or []]
    partial = [one for one in warnings if not one.startswith(_INFORMATION)]
    if partial:
        raise WarningsError(partial[0])


_CAUSES: dict[type[Exception], tuple[RatesReason, str]] = {
    requests.Timeout: (RatesReason.TIMEOUT, "did not answer in time"),
    urllib3.exceptions.TimeoutError: (RatesReason.TIMEOUT, "did not answer in time"),
    urllib3.exceptions.HTTPError: (RatesReason.UNREACHABLE, "broke off its answer"),
    requests.exceptions.JSONDecodeError: (RatesReason.MALFORMED, "answered with something that is not JSON"),
    requests.RequestException: (RatesReason.UNREACHABLE, "is not reachable"),
    PrometheusApiClientException: (RatesReason.REFUSED, "refused the query"),
    WarningsError: (RatesReason.PARTIAL, "answered with a warning, the data is partial"),
    TooLargeError: (RatesReason.MALFORMED, "gave an answer that is not read"),
    AnswerError: (RatesReason.MALFORMED, "gave an answer that cannot be used"),
    KeyError: (RatesReason.MALFORMED, "gave an answer that lacks a field"),
    TypeError: (RatesReason.MALFORMED, "gave an answer of another shape"),
    AttributeError: (RatesReason.MALFORMED, "gave an answer of another shape"),
    RecursionError: (RatesReason.MALFORMED, "gave an answer that is nested too deeply"),
    OverflowError: (RatesReason.MALFORMED, "gave a number that is no number of proxies"),
    ValueError: (RatesReason.MALFORMED, "gave an answer that cannot be read"),
    OSError: (RatesReason.UNREACHABLE, "cannot be asked"),
}
"""What each failure means; the first kind that fits counts, so special ones stand before general ones."""


class PrometheusRates:
    """Asks Prometheus; every way in which that can fail is an outcome."""

    def __init__(self, options: PrometheusOptions) -> None:
        self._options = options
        self._source = f"Prometheus at {_without_password(options.url)}"
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="prometheus")

    async def fetch(self, spec: PlanSpec, proxies: int) -> RatesOutcome:
        """Measure the rates of a plan's keys."""
        asked = asyncio.get_running_loop().run_in_executor(self._threads, self.ask, spec, proxies)
        try:
            async with asyncio.timeout(self._options.timeout_seconds + _GRACE_SECONDS):
                return await asked
        except TimeoutError:
            return RatesUnavailable(RatesReason.TIMEOUT, f"{self._source} did not answer in time")

    def ask(self, spec: PlanSpec, proxies: int) -> RatesOutcome:
        """Measure, blocking."""
        try:
            return outcome(spec, self._measure(spec), proxies, self._source)
        except tuple(_CAUSES) as error:
            reason, complaint = next(cause for kind, cause in _CAUSES.items() if isinstance(error, kind))
            return RatesUnavailable(reason, f"{self._source} {complaint}: {_short(error)}")

    def _measure(self, spec: PlanSpec) -> Measured:
        with PrometheusConnect(
            url=self._options.url, session=self._session(), retry=Retry(0, read=False)
        ) as client:
            client.headers = self._headers()
            numbers = figures(client.custom_query(promql.figures(spec)))
            return Measured(
                by_key=vector(client.custom_query(promql.key_rates(spec))),
                reporting=int(scalar(client.custom_query(promql.reporting_proxies(spec))) or 0),
                numbers=numbers,
                uncounted=numbers.pop((promql.UNCOUNTED_FIGURE, ""), 0.0),
                time=time.time(),
                tokens_by_key=vector(client.custom_query(promql.key_tokens(spec)))
                if spec.needs_tokens
                else None,
            )

    def _session(self) -> requests.Session:
        session = _BoundedSession(self._options.timeout_seconds)
        session.verify = str(self._options.ca_file) if self._options.ca_file else self._options.verify
        return session

    def _headers(self) -> dict[str, str]:
        if self._options.bearer_token_file is None:
            return {}
        return {
            "Authorization": f"Bearer {self._options.bearer_token_file.read_text(encoding='ascii').strip()}"
        }


def _without_password(url: str) -> str:
    """Return a URL as it may be shown in a status."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _short(error: Exception) -> str:
    """Return one line; of a connection that failed, what failed without the query."""
    cause = getattr(error.args[0], "reason", None) if error.args else None
    return " ".join(str(cause or error).split())[:200] or type(error).__name__
