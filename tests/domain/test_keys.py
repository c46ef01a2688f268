import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.domain.keys import KEY_PUNCTUATION, canonical_key, canonical_model

ALPHABET = string.ascii_letters + string.digits + KEY_PUNCTUATION


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Acme-42", "acme-42"),
        ("urn:uuid:ABC/def@x=1+2~|", "urn:uuid:abc/def@x=1+2~|"),
        ("", None),
        ("*", None),
        ("acme.", None),
        (".", None),
        (".acme", ".acme"),
        ("a*", None),
        ("a b", None),
        ("a\n", None),
        ("a\x00b", None),
        ("İ", None),
        ("ſ", None),
        ("\N{KELVIN SIGN}", None),
        ("x" * 128, "x" * 128),
        ("x" * 129, None),
    ],
)
def test_canonical_key(raw: str, expected: str | None) -> None:
    assert canonical_key(raw, 128) == expected


@given(st.text(ALPHABET, min_size=1, max_size=64).filter(lambda raw: not raw.endswith(".")))
def test_canonical_keys_are_fixed_points_without_case(raw: str) -> None:
    key = canonical_key(raw, 64)
    assert key is not None
    assert canonical_key(key, 64) == key
    assert key == canonical_key(raw.swapcase(), 64)


@given(st.text())
def test_no_text_gives_a_key_outside_the_alphabet(raw: str) -> None:
    key = canonical_key(raw, 128)
    assert key is None or set(key) <= set(ALPHABET.lower())


def test_models_differ_in_case_only_for_people() -> None:
    assert canonical_model("meta-llama/Llama-3.3-70B") == "meta-llama/llama-3.3-70b"
