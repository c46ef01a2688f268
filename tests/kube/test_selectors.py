from hypothesis import given
from hypothesis import strategies as st

from cacheroute.kube.selectors import Expression, Operator, Selector

WORDS = st.sampled_from(["a", "b", "c", ""])
LABELS = st.dictionaries(WORDS, WORDS)
VALUES = st.frozensets(WORDS)


@given(LABELS, WORDS, VALUES)
def test_not_in_is_the_opposite_of_in(labels: dict[str, str], key: str, values: frozenset[str]) -> None:
    among = Expression(key, Operator.IN, values).matches(labels)
    assert among is (key in labels and labels[key] in values)
    assert Expression(key, Operator.NOT_IN, values).matches(labels) is not among


@given(LABELS, WORDS)
def test_exists_and_its_opposite(labels: dict[str, str], key: str) -> None:
    assert Expression(key, Operator.EXISTS).matches(labels) is (key in labels)
    assert Expression(key, Operator.DOES_NOT_EXIST).matches(labels) is (key not in labels)


@given(LABELS, LABELS, st.lists(st.builds(Expression, WORDS, st.sampled_from(Operator), VALUES)))
def test_every_requirement_must_hold(
    labels: dict[str, str], wanted: dict[str, str], expressions: list[Expression]
) -> None:
    selector = Selector(tuple(wanted.items()), tuple(expressions))
    expected = wanted.items() <= labels.items() and all(one.matches(labels) for one in expressions)
    assert selector.matches(labels) is expected


def test_an_empty_selector_matches_everything() -> None:
    assert Selector().matches({})
    assert Selector().matches({"a": "b"})


def test_an_absent_label_is_in_nothing_not_even_the_empty_value() -> None:
    assert not Expression("a", Operator.IN, frozenset({""})).matches({})
