"""Destinations (vLLM pods) and the GPU node pools that they stand on."""

import enum
from dataclasses import dataclass


class DestinationState(enum.StrEnum):
    """What a destination can be given."""

    READY = "Ready"
    """It takes new requests."""
    DRAINING = "Draining"
    """It finishes what it has; new requests go to the standby."""
    LOST = "Lost"
    """It is there but answers nothing: not Ready, or its node is not."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A GPU node pool: its destinations share one capacity and one number of warm slots.

    Attributes:
        name: unique within a plan.
        requests_per_second: capacity of one destination at its latency knee (q_cap), requests/s, > 0.
        warm_prefixes: warm slots of one destination (W), >= 0.
        kv_cache_tokens: KV cache of one destination, tokens, > 0; None where only slots are counted.
    """

    name: str
    requests_per_second: float
    warm_prefixes: int
    kv_cache_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Destination:
    """One independently routable model server.

    Attributes:
        name: unique within a plan: the pod's name.
        address: IPv4 or IPv6 address.
        port: TCP port of the OpenAI API.
        pool: name of its pool.
        node: name of the node; empty where there are no nodes.
        zone: topology zone of the node; empty where unknown.
        state: what it can be given.
    """

    name: str
    address: str
    port: int
    pool: str
    node: str = ""
    zone: str = ""
    state: DestinationState = DestinationState.READY


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is observed of a plan's destinations.

    Attributes:
        destinations: those on a pool, sorted by name.
        unpooled: names of selected pods whose node is in no pool, sorted; they are no destinations.
        empty_pools: names of pools that no node matches, sorted.
    """

    destinations: tuple[Destination, ...] = ()
    unpooled: tuple[str, ...] = ()
    empty_pools: tuple[str, ...] = ()

    def in_state(self, state: DestinationState) -> tuple[Destination, ...]:
        """Return the destinations in ``state``, sorted by name."""
        return tuple(one for one in self.destinations if one.state is state)
