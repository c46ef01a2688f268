"""How many requests and tokens came when, and how their lengths drift."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.describe.histogram import Histogram
from cacheroute.simulation.describe.sums import Sums
from cacheroute.simulation.traces.requests import Requests

HOUR, DAY = 3600, 86_400
_PERIOD = 30 * DAY
_PERIODS = 132


class Volume:
    """Requests and tokens of each hour; lengths of each month.

    Args:
        calendar: times are since the epoch, and months are those of the calendar (UTC); otherwise they have 30 days.
    """

    def __init__(self, *, calendar: bool) -> None:
        self._calendar = calendar
        self._origin = 0
        self._sums = {name: Sums() for name in ("requests", "prompt_tokens", "output_tokens")}
        self._active = {name: Active() for name in ("keys", "models")}
        self._months: dict[str, tuple[Histogram, Histogram]] = {}
        self.first = self.last = float("nan")

    def add(self, part: Requests) -> None:
        """Take note of the next requests."""
        if np.isnan(self.first):
            self.first = float(part.time[0])
            self._origin = int(self.first // HOUR)
        self.last = float(part.time[-1])
        hour = (part.time // HOUR).astype(np.int64) - self._origin
        for name, amount in (
            ("requests", None),
            ("prompt_tokens", part.prompt),
            ("output_tokens", part.output),
        ):
            self._sums[name].add(hour, amount)
        day = (part.time // DAY).astype(np.int64) - self._origin // 24
        self._active["keys"].add(part.key, day)
        self._active["models"].add(part.model, day)
        month = self._month(part.time)
        for one in np.unique(month)[:_PERIODS]:
            prompt, output = self._months.setdefault(self._name(int(one)), (Histogram(), Histogram()))
            prompt.add(part.prompt[month == one])
            output.add(part.output[month == one])

    def document(self) -> dict[str, Any]:
        """Return the sums of hours and days, the weekly pattern, and the lengths by month."""
        hours = int(self.last // HOUR) - self._origin + 1
        by_hour = {name: sums.upto(hours) for name, sums in self._sums.items()}
        offset = self._origin % 24
        by_day = {name: _by_day(values, offset) for name, values in by_hour.items()}
        active = {name: one.days.upto(by_day["requests"].size) for name, one in self._active.items()}
        return {
            "by_hour": {"first": self._origin * HOUR, **_whole(by_hour)},
            "by_day": {"first": self._origin // 24 * DAY, **_whole(by_day | active)},
            "busiest_hour_over_mean": _ratio(by_hour["requests"], self.last - self.first),
            "by_month": [
                {
                    "month": name,
                    "requests": prompt.count,
                    "prompt": prompt.document(),
                    "output": output.document(),
                }
                for name, (prompt, output) in self._months.items()
            ],
        }

    def _month(self, time: NDArray[np.float64]) -> NDArray[np.int64]:
        if self._calendar:
            return time.astype(np.int64).astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
        return (time // _PERIOD).astype(np.int64)

    def _name(self, month: int) -> str:
        return str(np.datetime64(month, "M")) if self._calendar else f"days {month * 30}-{month * 30 + 29}"


class Active:
    """How many of a kind had requests on each day."""

    def __init__(self) -> None:
        self.days = Sums()
        self._last = np.full(64, -1)

    def add(self, number: NDArray[np.int32], day: NDArray[np.int64]) -> None:
        """Take note of the next requests, by time; numbers below 0 are not known."""
        known = number >= 0
        if not known.any():
            return
        pairs = np.unique(np.stack((day[known], number[known].astype(np.int64))), axis=1)
        most = int(pairs[1].max()) + 1
        if most > self._last.size:
            self._last = np.concatenate((self._last, np.full(2 * most - self._last.size, -1)))
        new_day, new = pairs[:, self._last[pairs[1]] != pairs[0]]
        self.days.add(new_day)
        self._last[new] = new_day


def _by_day(hours: NDArray[np.float64], offset: int) -> NDArray[np.float64]:
    """Sum hours to days; the first hour is the ``offset``-th of its day."""
    padded = np.concatenate((np.zeros(offset), hours, np.zeros(-(offset + hours.size) % 24)))
    days: NDArray[np.float64] = padded.reshape(-1, 24).sum(axis=1)
    return days


def _whole(columns: dict[str, NDArray[np.float64]]) -> dict[str, list[int]]:
    return {name: values.astype(np.int64).tolist() for name, values in columns.items()}


def _ratio(hours: NDArray[np.float64], seconds: float) -> float:
    """Return the busiest hour over the mean hour; a trace of less than an hour is one."""
    return float(hours.max() / hours.sum() * max(seconds / HOUR, 1.0))
