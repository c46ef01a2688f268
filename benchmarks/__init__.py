"""Measurements: `python -m benchmarks [NAME...]`; medians and ratios, never a verdict."""
