"""Everything that is said of a trace."""

from typing import Any

import numpy as np

from cacheroute.simulation.describe.gaps import Burstiness, Gaps, known
from cacheroute.simulation.describe.histogram import Histogram
from cacheroute.simulation.describe.reuse import BlockReuse, Hits, SessionFigures
from cacheroute.simulation.describe.sharing import Sharing
from cacheroute.simulation.describe.skew import Skew
from cacheroute.simulation.describe.structure import Structure
from cacheroute.simulation.describe.volume import Volume
from cacheroute.simulation.traces.linked import linked
from cacheroute.simulation.traces.readers.open import Reading
from cacheroute.simulation.traces.requests import Requests

VERSION = 1
"""Of the document; it is raised when a member changes its meaning or goes."""
_MICRO = 1e6


class Description:
    """Takes a trace part by part; holds sums, counts and histograms, never the requests.

    Args:
        reading: the trace; its parts are read by ``describe``.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._volume = Volume(calendar=reading.calendar)
        self._burst = Burstiness()
        self._lengths = {name: Histogram() for name in ("prompt", "output", "duration", "ttft")}
        self._per_mille = Histogram()
        self._keys, self._models, self._endpoints = Skew(), Skew(), Skew()
        self._model_gaps = Gaps()
        self._sharing, self._structure = Sharing(), Structure()
        self._hits, self._sessions, self._blocks = Hits(), SessionFigures(), BlockReuse(reading.block)

    def add(self, part: Requests) -> None:
        """Take note of the next requests, by time; at least one."""
        self._add_lengths(part)
        self._keys.add(part.key, part.prompt, part.output)
        self._models.add(part.model, part.prompt, part.output)
        self._endpoints.add(part.endpoint, part.prompt, part.output)
        modelled = part.model >= 0
        self._model_gaps.add(part.model[modelled].astype(np.int64), part.time[modelled])
        for one in (
            self._volume,
            self._burst,
            self._sharing,
            self._structure,
            self._hits,
            self._sessions,
            self._blocks,
        ):
            one.add(part)

    def _add_lengths(self, part: Requests) -> None:
        self._lengths["prompt"].add(part.prompt)
        self._lengths["output"].add(part.output)
        for name in ("duration", "ttft"):
            seconds = getattr(part, name)
            self._lengths[name].add(np.round(seconds[~np.isnan(seconds)] * _MICRO).astype(np.int64))
        self._per_mille.add(np.round(1000 * part.output / part.prompt).astype(np.int64))

    def document(self) -> dict[str, Any]:
        """Return the description as plain JSON types; docs/traces.md says what the members mean."""
        words, lengths = self._reading.words, self._lengths
        return {
            "version": VERSION,
            "file": self._reading.name,
            "format": str(self._reading.format),
            "made_up": self._reading.made_up,
            "requests": lengths["prompt"].count,
            "left_out": words.left_out,
            "calendar": self._reading.calendar,
            "first": self._volume.first,
            "seconds": self._volume.last - self._volume.first,
            "prompt": _length(lengths["prompt"]),
            "output": _length(lengths["output"]) if words.answers else None,
            "output_over_prompt": self._per_mille.document(1e-3) if words.answers else None,
            "duration": lengths["duration"].document(1 / _MICRO),
            "ttft": lengths["ttft"].document(1 / _MICRO),
            "volume": self._volume.document(),
            "burstiness": self._burst.document(),
            "keys": self._keys.document(words.keys.texts),
            "models": self._modelled(),
            "endpoints": self._endpoints.document(words.endpoints.texts),
            "structure": self._structure.document(),
            "prefix": {
                "hits": self._hits.document(),
                "reuse_times": self._structure.reuse_times(),
                "sessions": self._sessions.document(own=words.sessions),
                "blocks": self._blocks.document(),
            },
        }

    def _modelled(self) -> dict[str, Any] | None:
        names = self._reading.words.models.texts
        document = self._models.document(names)
        if document is None:
            return None
        cv, lag = self._model_gaps.cv(), self._model_gaps.lag_1()
        numbers = {name: at for at, name in enumerate(names)}
        for one in document["largest"]:
            at = numbers[one["name"]]
            one |= {"cv_of_gaps": known(cv[at]), "lag_1_of_gaps": known(lag[at])}
        bursty = cv[np.isfinite(cv)]
        document["bursty_share"] = float((bursty > 1).mean()) if bursty.size else None
        document["long_tail"] = self._sharing.document(self._models.requests(len(names)))
        return document


def describe(reading: Reading) -> dict[str, Any]:
    """Read a trace once and return its description.

    Raises:
        TraceFileError: the trace cannot be used.
    """
    description = Description(reading)
    for part in linked(reading.parts):
        description.add(part)
    return description.document()


def _length(lengths: Histogram) -> dict[str, Any]:
    return {"total": int(lengths.total), **(lengths.document() or {}), "curve": lengths.curve()}
