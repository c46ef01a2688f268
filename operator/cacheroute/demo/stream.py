"""One streamed answer as far as it has come: a pure reader of server-sent events, and what became of the request."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import orjson

from cacheroute.demo.tally import Fate

OK = 200
EVENT_STREAM = "text/event-stream"
_DATA = b"data: "
_DONE = b"[DONE]"


@dataclass(slots=True)
class Stream:
    """What is known of an answer.

    Attributes:
        status: of HTTP, 0 before the headers.
        is_stream: whether an engine's stream has begun: 200 and server-sent events, which no error answer is.
        destination: who answers.
        decision: why there.
        first_token: seconds from sending until the first content; NaN before.
        prompt_tokens: as the engine counted them.
        cached_tokens: of those, from its prefix cache.
        answer_tokens: as the engine counted them.
        finished: whether the end mark came.
    """

    status: int = 0
    is_stream: bool = False
    destination: str = ""
    decision: str = ""
    first_token: float = math.nan
    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    finished: bool = False
    _rest: bytes = field(default=b"", repr=False)

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Take the status and the headers."""
        self.status = status
        self.is_stream = status == OK and headers.get("content-type", "").startswith(EVENT_STREAM)
        self.destination = headers.get("x-cacheroute-destination", "")
        self.decision = headers.get("x-cacheroute-decision", "")

    def feed(self, data: bytes, seconds: float) -> None:
        """Take a piece of the body that came ``seconds`` after the request was sent."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.startswith(_DATA):
                self._event(line[len(_DATA) :].strip(), seconds)

    def _event(self, data: bytes, seconds: float) -> None:
        if data == _DONE:
            self.finished = True
            return
        event = orjson.loads(data)
        if usage := event.get("usage"):
            self.prompt_tokens = usage["prompt_tokens"]
            self.answer_tokens = usage["completion_tokens"]
            self.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        elif math.isnan(self.first_token) and any(
            (choice.get("delta") or {}).get("content") for choice in event.get("choices", ())
        ):
            self.first_token = seconds

    def complaint(self, wanted_tokens: int) -> str:
        """Return why an answer whose body has ended is no good, or nothing."""
        if not self.is_stream:
            return f"HTTP {self.status}"
        if not self.finished:
            return f"the stream from {self.destination or 'nobody'} ended early"
        if self.answer_tokens != wanted_tokens:
            return f"{self.destination} gave {self.answer_tokens} of {wanted_tokens} tokens"
        return ""

    def fate(self, complaint: str, killed: Collection[str]) -> Fate:
        """Return what became of the request.

        Cut is only a stream that a killed engine had begun: its status line and headers have gone to the client, so
        neither a gateway nor a client library can send the request again without being seen. All else has failed.
        """
        if not complaint:
            return Fate.ANSWERED
        return Fate.CUT if self.is_stream and self.destination in killed else Fate.FAILED
