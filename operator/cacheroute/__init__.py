"""Planned prefix-affinity routing for vLLM fleets."""

__version__ = "0.1.0"
