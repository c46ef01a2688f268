"""Errors of the domain layer."""


class DomainError(ValueError):
    """A value that cannot be: the message names what failed, on which object, and what to do."""


class PlanFormatError(DomainError):
    """A stored plan cannot be read back; the message names the field."""


class StoreError(RuntimeError):
    """Something could not be read from, or written to, where plans and status are kept; retried later."""
