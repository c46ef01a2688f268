"""Kubernetes: the RoutingPlan API, what is observed, where plans are kept, and the one writer of status."""
