"""Errors of the simulation layer."""


class SimulationError(ValueError):
    """A setting or a request that no engine could serve: the message names the value and the bound."""
