"""What a study of the trace paper's figures is: replays, and a section made of what they give."""

from collections.abc import Sequence
from typing import Protocol

from cacheroute.simulation.paper.study import Section, Told
from cacheroute.simulation.year.run import Replay, Values

REQUESTS, SEEDS = 200_000, 5
MADE = (
    "The year-long trace is not public here: ours is a made-up trace of its schema with the published statistics of its sessions "
    "(requests, lengths, what continues). How far apart the requests of a session are is fitted to the requests that LRU finds in figure 16; nothing else is. "
    "In ours the length of a prompt has nothing to do with how soon its session goes on, which may be why small caches find more tokens of DeepSeek V3.2 than was published."
)


class TraceStudy(Told, Protocol):
    """One figure."""

    def replays(self) -> Sequence[Replay]:
        """Return the replays."""

    def told(self, values: Sequence[Values]) -> Section:
        """Return the section, from what the replays gave in their order."""
