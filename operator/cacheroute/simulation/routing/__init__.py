"""Routing policies: one request and a view of the fleet in, one destination out. Both simulators use them."""
