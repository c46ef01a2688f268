"""The gateway's side: routing tables become Envoy resources and are served by delta ADS."""
