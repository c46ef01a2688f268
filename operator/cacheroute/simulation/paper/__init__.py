"""The tables of CacheRoute (arXiv 2608.19677), simulated anew and laid beside the paper's values."""
