"""Errors of the planning layer."""


class PlanningInputError(ValueError):
    """An array that cannot be planned with; the message names the array and the first bad index."""
