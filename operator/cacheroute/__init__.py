"""Planned prefix-affinity routing for vLLM fleets."""
