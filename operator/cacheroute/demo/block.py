"""A block of loopback addresses of one's own, so that two runs on one machine never meet.

Linux takes all of 127.0.0.0/8 as local. A run claims 127.A.B.0/24 by keeping a listening socket on 127.A.B.1.
"""

import random
import socket
from dataclasses import dataclass

from cacheroute.demo.errors import DemoError

CLAIM_PORT = 1025
"""Marks a block as taken; no privileged port, so that no right is needed."""
TRIES = 200


@dataclass(frozen=True, slots=True)
class Block:
    """A claimed block; it is given back when the socket is closed, or the process ends."""

    prefix: str
    claim: socket.socket

    def address(self, host: int) -> str:
        """Return the address with that last number, 2 to 254."""
        return f"{self.prefix}.{host}"

    def release(self) -> None:
        """Give the block back."""
        self.claim.close()


def claim_block(chooser: random.Random) -> Block:
    """Claim a free block, one of those that ``chooser`` draws.

    Raises:
        DemoError: none could be claimed; binding 127.A.B.1 needs Linux.
    """
    complaint = ""
    for _ in range(TRIES):
        prefix = f"127.{chooser.randrange(16, 250)}.{chooser.randrange(1, 250)}"
        claim = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            claim.bind((f"{prefix}.1", CLAIM_PORT))
            claim.listen(1)
        except OSError as error:
            complaint = str(error)
            claim.close()
            continue
        return Block(prefix, claim)
    raise DemoError(f"no block of loopback addresses could be claimed ({complaint}); this needs Linux")
