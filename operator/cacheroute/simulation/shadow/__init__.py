"""Shadow replay: a user's own traffic on a simulated fleet, routed flat and by plan."""
