"""Errors of the demonstration."""


class DemoError(RuntimeError):
    """The demonstration cannot go on; the message says which part failed and how."""
