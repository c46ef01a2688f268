"""The planner: numbers in, numbers out. No I/O, no clock, no names of Kubernetes or Envoy."""
