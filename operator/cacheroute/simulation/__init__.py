"""Replay and simulation of fleets: the engine model and what is driven by it. No I/O of servers, no wall clock."""
