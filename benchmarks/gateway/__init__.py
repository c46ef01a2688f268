"""Measurements of the real gateway: `python -m benchmarks.gateway [--quick] [--only ROW]`; ratios within one run."""
