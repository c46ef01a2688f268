"""Addresses of a run."""

import random
import socket
from pathlib import Path

from cacheroute.demo.block import Block, claim_block
from cacheroute.demo.fleet import Fleet, addresses


def test_everything_has_an_address_of_the_block() -> None:
    with socket.socket() as claim:
        found = addresses(Block("127.4.5", claim))
    assert (found.gateway, found.xds, found.http) == ("127.4.5.2:8080", "127.4.5.3:18000", "127.4.5.3:8081")


def test_two_runs_that_draw_the_same_block_get_different_ones() -> None:
    first, second = claim_block(random.Random(5)), claim_block(random.Random(5))  # noqa: S311 - no secret
    try:
        assert first.prefix != second.prefix
    finally:
        first.release()
        second.release()


def test_a_block_that_was_given_back_is_free() -> None:
    first = claim_block(random.Random(6))  # noqa: S311 - no secret
    first.release()
    second = claim_block(random.Random(6))  # noqa: S311 - no secret
    second.release()
    assert first.prefix == second.prefix


def test_engines_are_named_in_order(tmp_path: Path) -> None:
    with socket.socket() as claim:
        fleet = Fleet(tmp_path, Block("127.4.5", claim), engines=3, cache_blocks=600)
    assert fleet.engines == ("engine-0", "engine-1", "engine-2")
    assert not any(fleet.running(name) for name in fleet.engines)
