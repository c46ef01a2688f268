"""Errors of the simulated server."""


class SettingsError(ValueError):
    """A flag that cannot be: the message names the flag, its value and what to do."""


class ListenError(RuntimeError):
    """The address cannot be bound; the message names it."""


class RequestError(Exception):
    """A request that is refused; becomes an answer in OpenAI's error shape."""

    def __init__(self, status: int, kind: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status."""
        self.kind = kind
        """The ``type`` of the error, in vLLM's words."""
        self.field = field
        """The request field at fault, if it is one."""


def invalid_body(message: str, field: str) -> RequestError:
    """Return the refusal of a body that does not have the form of a request; ``field`` is its path in the body."""
    return RequestError(400, "Bad Request", message, field)


def engine_ended() -> RequestError:
    """Return what vLLM answers when its engine has been ended under a request."""
    message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    return RequestError(500, "InternalServerError", message)


def bad_request(message: str, field: str | None = None) -> RequestError:
    """Return the refusal of a request that no retry would mend."""
    return RequestError(400, "BadRequestError", message, field)
