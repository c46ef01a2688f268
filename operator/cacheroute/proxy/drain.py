"""Lets an Envoy finish its requests before it is ended; talks to its administration on loopback only."""

import http.client
import json
import time
from dataclasses import dataclass
from enum import StrEnum

from cacheroute.proxy.bootstrap import Place
from cacheroute.proxy.errors import GatewayError

PERIOD_SECONDS = 0.5
TIMEOUT_SECONDS = 5.0
_STAT_PREFIX = "http.gateway."
_ACTIVE, _TOTAL = f"{_STAT_PREFIX}downstream_rq_active", f"{_STAT_PREFIX}downstream_rq_total"
_QUERY = "/stats?format=json&filter=" + r"^http\.gateway\.downstream_rq_(active|total)$"


class DrainEnd(StrEnum):
    """Why a drain ended."""

    QUIET = "no request was running or came any more"
    TIMEOUT = "the time was up; what still ran is cut"
    GONE = "Envoy has ended"


@dataclass(frozen=True, slots=True)
class Drained:
    """How a drain went.

    Attributes:
        end: why it ended.
        seconds: that it took.
        requests: that were still running at its end.
    """

    end: DrainEnd
    seconds: float
    requests: int


def drain(admin: Place, longest: float, quiet: float) -> Drained:
    """Tell Envoy to say goodbye on every connection, and wait until nobody needs it any more.

    From `/healthcheck/fail` on every answer closes its connection (HTTP/1.1 `Connection: close`, HTTP/2 GOAWAY), so
    that clients open the next one to another Envoy; /ready fails; new connections are still served, because load
    balancers learn late that the Envoy goes.

    Args:
        admin: Envoy's administration.
        longest: seconds after which the drain ends whatever still runs.
        quiet: seconds without any request after which it is over; connections without requests do not count.

    Raises:
        GatewayError: Envoy does not listen at ``admin``, so there is nothing to drain.
    """
    _ask(admin, "POST", "/healthcheck/fail")
    started = quiet_since = time.monotonic()
    active, known = 0, -1
    while (now := time.monotonic()) < started + longest:
        try:
            active, total = _requests(admin)
        except GatewayError:
            return Drained(DrainEnd.GONE, now - started, active)
        if active or total != known:
            quiet_since, known = now, total
        elif now >= quiet_since + quiet:
            return Drained(DrainEnd.QUIET, now - started, active)
        time.sleep(PERIOD_SECONDS)
    return Drained(DrainEnd.TIMEOUT, time.monotonic() - started, active)


def _requests(admin: Place) -> tuple[int, int]:
    """Return how many requests run, and how many there ever were; zeros before the first configuration."""
    stats = json.loads(_ask(admin, "GET", _QUERY))["stats"]
    values = {one["name"]: int(one["value"]) for one in stats if "name" in one}
    return values.get(_ACTIVE, 0), values.get(_TOTAL, 0)


def _ask(admin: Place, method: str, path: str) -> bytes:
    """Ask the administration until it answers.

    Raises:
        GatewayError: nobody listens there; an Envoy that is only slow is waited for.
    """
    while True:
        connection = http.client.HTTPConnection(admin.host, admin.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path)
            return connection.getresponse().read()
        except TimeoutError:
            continue
        except (OSError, http.client.HTTPException) as error:
            raise GatewayError(f"no Envoy answers at {admin.host}:{admin.port}: {error}") from error
        finally:
            connection.close()
