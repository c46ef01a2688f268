"""Rates from Prometheus or from the gateway's counters, and our own metrics."""
