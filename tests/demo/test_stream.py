"""Streamed answers, and what became of the request."""

import math

import pytest

from cacheroute.demo.stream import Stream
from cacheroute.demo.tally import Fate

HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "x-cacheroute-destination": "engine-1",
    "x-cacheroute-decision": "planned",
}
ROLE = b'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}\n\n'
CONTENT = b'data: {"choices":[{"delta":{"content":" abc"}}]}\n\n'
USAGE = (
    b'data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":16,'
    b'"prompt_tokens_details":{"cached_tokens":64}}}\n\n'
)
DONE = b"data: [DONE]\n\n"
BROKEN = "ClientPayloadError: the connection was closed"


def begun(*pieces: bytes) -> Stream:
    stream = Stream()
    stream.head(200, HEADERS)
    for seconds, piece in enumerate(pieces, start=1):
        stream.feed(piece, float(seconds))
    return stream


def test_a_whole_answer_has_no_complaint() -> None:
    stream = begun(ROLE, CONTENT, USAGE, DONE)
    assert stream.complaint(wanted_tokens=16) == ""
    assert stream.fate("", killed=()) is Fate.ANSWERED
    assert (stream.destination, stream.decision) == ("engine-1", "planned")
    assert (stream.prompt_tokens, stream.cached_tokens) == (100, 64)


def test_the_first_token_is_the_first_content_not_the_role() -> None:
    assert begun(ROLE, CONTENT, CONTENT).first_token == 2.0
    assert math.isnan(begun(ROLE).first_token)


def test_pieces_may_end_anywhere() -> None:
    everything = ROLE + CONTENT + USAGE + DONE
    stream = begun(*(everything[i : i + 1] for i in range(len(everything))))
    assert stream.complaint(16) == ""
    assert stream.cached_tokens == 64


def test_usage_without_details_has_no_cached_tokens() -> None:
    plain = b'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":16,"prompt_tokens_details":null}}\n'
    assert begun(plain).cached_tokens == 0


@pytest.mark.parametrize(
    ("pieces", "complaint"),
    [
        ((ROLE, CONTENT), "ended early"),
        ((USAGE.replace(b'completion_tokens":16', b'completion_tokens":3'), DONE), "gave 3 of 16 tokens"),
    ],
)
def test_half_an_answer_is_none(pieces: tuple[bytes, ...], complaint: str) -> None:
    assert complaint in begun(*pieces).complaint(16)


def test_only_a_stream_that_the_killed_engine_had_begun_is_cut() -> None:
    assert begun(ROLE).fate(BROKEN, killed={"engine-1"}) is Fate.CUT
    assert begun(ROLE).fate(BROKEN, killed={"engine-2"}) is Fate.FAILED
    assert Stream().fate(BROKEN, killed={"engine-1"}) is Fate.FAILED


def test_an_error_answer_is_a_failure_even_if_it_names_the_killed_engine() -> None:
    for status, kind in ((503, "text/event-stream"), (200, "application/json")):
        stream = Stream()
        stream.head(status, {**HEADERS, "content-type": kind})
        assert stream.complaint(16) == f"HTTP {status}"
        assert stream.fate("HTTP", killed={"engine-1"}) is Fate.FAILED


def test_an_error_in_the_stream_is_half_an_answer() -> None:
    assert "ended early" in begun(ROLE, b'data: {"error":{"message":"no"}}\n\n').complaint(16)
