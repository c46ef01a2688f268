import pytest

from cacheroute.controllers.addresses import parse_urls

URL = "http://127.0.0.1:9902/stats/prometheus"


def test_a_url_that_is_given_twice_counts_once() -> None:
    assert parse_urls([URL, URL, "https://gateway/stats"]) == (URL, "https://gateway/stats")


@pytest.mark.parametrize(
    "text", ["", "nonsense", "127.0.0.1:9902", "file:///etc/hosts", "http://", "http://["]
)
def test_what_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"URL"):
        parse_urls([text])
