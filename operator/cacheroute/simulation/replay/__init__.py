"""Token-level replay: a trace over destinations with session caches, without engine timing (arXiv 2608.13573, 7.2)."""
