"""Requests of the past: read from logs and public traces, or made up; one value for all simulators."""
