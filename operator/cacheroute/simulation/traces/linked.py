"""Requests with their sessions: those of the file, otherwise reconstructed."""

from collections.abc import Iterator

import numpy as np

from cacheroute.simulation.traces.requests import Requests
from cacheroute.simulation.traces.seen import Seen
from cacheroute.simulation.traces.sessions import Linker
from cacheroute.simulation.traces.trace import UNKNOWN

_MODELS = 1 << 20
"""More than there are names of models."""


def linked(parts: Iterator[Requests]) -> Iterator[Requests]:
    """Yield the requests with ``session`` and ``prefix``.

    A file that names sessions is believed: a turn's prefix is the prompt and answer of the turn before, as far as they
    fit into its prompt. Without sessions and without keys there are none.
    """
    linker, seen, own = Linker(), Seen(), False
    for part in parts:
        own = own or bool((part.session != UNKNOWN).any())
        if own:
            yield _followed(part, seen)
        elif (part.key != UNKNOWN).any():
            kind = (part.endpoint.astype(np.int64) + 1) * _MODELS + part.model
            found = linker.link(part.key.astype(np.int64), kind, part.prompt, part.output)
            keyed = part.key != UNKNOWN
            yield part.linked(np.where(keyed, found.session, UNKNOWN), found.turn, found.prefix)
        else:
            yield part


def _followed(part: Requests, seen: Seen) -> Requests:
    named = part.session != UNKNOWN
    turn, prefix = np.zeros((2, part.size), dtype=np.int64)
    left = (part.prompt + part.output)[named]
    known = seen.add(part.session[named], part.time[named], left)
    turn[named], prefix[named] = known.nth, np.minimum(known.carried, part.prompt[named])
    return part.linked(part.session, turn, prefix)
