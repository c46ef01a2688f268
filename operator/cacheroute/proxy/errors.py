"""What can go wrong between us and Envoy."""


class GatewayError(Exception):
    """Something the user can act on; the message is one line."""
