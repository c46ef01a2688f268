"""Errors of the Kubernetes layer."""


class InvalidRoutingPlanError(ValueError):
    """A RoutingPlan cannot be read; the message names the object, the field and what is wrong."""


class ClusterReadError(RuntimeError):
    """The cluster cannot be read for a user; one line that names what was asked for and why it failed."""


class ClusterWriteError(RuntimeError):
    """The cluster cannot be changed for a user; one line that names the object, why, and what to do."""
