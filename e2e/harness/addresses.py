"""Who has which address inside a local cluster.

198.18.0.0/15 is set aside for benchmarks (RFC 2544), so nothing real is hidden. Every cluster lives in
network namespaces of its own, so all clusters use the same addresses.
"""

CONTROL_PLANE = "198.18.0.1"
API_SERVER = f"https://{CONTROL_PLANE}:6443"
SERVICES = "198.18.64.0/20"
DNS = "198.18.64.10"
PODS = "198.18.96.0/19"
MOST_NODES = 30


def node(number: int) -> str:
    """Return the address of node `number`, counted from 1."""
    return f"198.18.0.{10 + number}"


def pods(number: int) -> str:
    """Return the range of the pods on node `number`."""
    return f"198.18.{96 + number}.0/24"
