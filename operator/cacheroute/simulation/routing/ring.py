"""A consistent-hash ring with virtual nodes (Karger et al. 1997)."""

from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cacheroute.simulation.struct import struct

VIRTUAL_NODES = 256
"""Points of one destination."""


@struct
class Ring(NamedTuple):
    """Points in order of their hashes; walking is going up by one, from the last to the first."""

    owner: NDArray[np.int64]
    """int64[R * VIRTUAL_NODES], the destination of each point."""
    start: NDArray[np.int64]
    """int64[K], the first point at or after the hash of each key."""


def ring(destinations: int, keys: int, salt: int) -> Ring:
    """Return the ring of destinations 0..R-1 and keys 0..K-1; rings of different salts are independent."""
    points = np.array(
        [_hash(salt, "d", r, node) for r in range(destinations) for node in range(VIRTUAL_NODES)],
        dtype=np.uint64,
    )
    order = np.argsort(points, kind="stable")
    hashes = np.array([_hash(salt, "k", key, 0) for key in range(keys)], dtype=np.uint64)
    start = np.searchsorted(points[order], hashes) % max(points.size, 1)
    return Ring((order // VIRTUAL_NODES).astype(np.int64), start.astype(np.int64))


def _hash(*parts: object) -> int:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest())
