"""Hashes that identify the contents of KV blocks."""

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

TokenIds = NDArray[np.uint32]
"""Token ids, shape (n,)."""

_DIGEST_BYTES = 16


def chain_hashes(tokens: TokenIds, block_size: int, salt: str = "") -> tuple[bytes, ...]:
    """Return one hash for each full block of ``block_size`` tokens; the rest of the tokens has none.

    A block's hash covers all tokens before it and the salt, as in vLLM's prefix cache: equal hashes mean equal
    prefixes, and requests of different ``cache_salt`` never share a block.
    """
    data = tokens.astype("<u4", copy=False).tobytes()
    width = 4 * block_size
    parent = blake2b(salt.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).digest()
    hashes = []
    for start in range(0, len(data) - width + 1, width):
        parent = blake2b(parent + data[start : start + width], digest_size=_DIGEST_BYTES).digest()
        hashes.append(parent)
    return tuple(hashes)
