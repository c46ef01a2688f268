"""All policies on traces that others published, and what the planner's diagnosis says of each beforehand."""
