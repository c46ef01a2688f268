"""The whole product on a real cluster: chart, operator, gateway, Prometheus and simulated engines."""
