import pytest
from envoy.config.core.v3 import base_pb2
from google.protobuf import json_format

from cacheroute.proxy.bootstrap import BootstrapSettings, Place, bootstrap
from cacheroute.proxy.node import ProxyNode, read_node


def test_a_bootstrap_says_what_the_server_reads() -> None:
    settings = BootstrapSettings("blue", node="envoy-7", listen=Place("127.0.0.9", 1234))
    node = json_format.ParseDict(bootstrap(settings)["node"], base_pb2.Node())
    node.user_agent_build_version.version.major_number = 1
    node.user_agent_build_version.version.minor_number = 40
    assert read_node(node) == ProxyNode("envoy-7", "blue", (1, 40), "127.0.0.9", 1234)


def test_a_node_that_says_nothing_listens_on_the_default_port() -> None:
    node = read_node(base_pb2.Node(id="x", cluster="y"))
    assert (node.address, node.port, node.version) == ("0.0.0.0", 10080, (0, 0))


@pytest.mark.parametrize(
    ("version", "supported"), [((1, 36), False), ((1, 37), True), ((2, 0), True), ((0, 0), False)]
)
def test_versions(version: tuple[int, int], supported: bool) -> None:  # noqa: FBT001  an expectation
    assert (ProxyNode("x", "y", version).unsupported == "") is supported
