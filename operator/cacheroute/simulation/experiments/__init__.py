"""Series of simulations: load ladders, capacities at an objective, seeds side by side."""
