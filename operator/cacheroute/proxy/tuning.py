"""Every number that the compiled configuration contains, once."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the gateway's Envoys wait, retry and bound what clients can use up.

    Attributes:
        stream_idle_seconds: a stream without a byte in either direction for this long is reset. There is
            no route timeout: an answer that is not streamed sends nothing until it is complete.
        request_header_seconds: time a client has to send its headers.
        request_seconds: time a client has to send a whole request, whose body is held until then; not until its answer.
        connect_milliseconds: time to connect to a destination before it counts as failed.
        upstream_idle_seconds: idle connections to destinations are closed after this. It must be less than
            the engine's keep-alive (vLLM: 5 s), or a request meets a connection that is just being closed.
        repeated_tries: tries beyond the plan's maxRetries. Envoy's main thread tells the workers of an ejection; until
            it does (milliseconds, more on a busy machine) a key with one destination draws the dead one again.
        retry_base_milliseconds: first back-off between tries.
        retry_max_milliseconds: longest back-off between tries.
        host_attempts: how often the load balancer draws again when it drew a destination already tried.
        ejection_seconds: how long a destination is left out after a failed connection or a reset; doubled
            each time it happens again, up to ``max_ejection_seconds``.
        checked_ejection_seconds: the same where active checks end it as soon as the destination answers.
        max_ejection_seconds: the longest ejection.
        max_counters: counters (three for each key and decision) that an Envoy keeps; with as many, new keys
            are not counted until unused ones are dropped (0.3 KB each, so about 130 MB).
        max_streams: concurrent HTTP/2 streams of one client connection.
    """

    stream_idle_seconds: int = 3600
    request_header_seconds: int = 10
    request_seconds: int = 300
    connect_milliseconds: int = 500
    upstream_idle_seconds: int = 4
    repeated_tries: int = 2
    retry_base_milliseconds: int = 10
    retry_max_milliseconds: int = 150
    host_attempts: int = 5
    ejection_seconds: int = 3
    checked_ejection_seconds: int = 30
    max_ejection_seconds: int = 30
    max_counters: int = 500_000
    max_streams: int = 1000
