import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cacheroute.engine.errors import RequestError
from cacheroute.engine.tokens import (
    chat_tokens,
    generated_text,
    id_tokens,
    natural_length,
    prompt_seed,
    text_tokens,
)


@given(st.text(), st.text())
def test_later_text_changes_no_full_token(text: str, more: str) -> None:
    full = len(text.encode()) // 4
    assert text_tokens(text + more)[:full].tolist() == text_tokens(text)[:full].tolist()


@given(st.text())
def test_four_bytes_a_token(text: str) -> None:
    assert len(text_tokens(text)) == -(-len(text.encode()) // 4)


@given(st.text(min_size=1), st.integers(1, 200))
def test_an_answer_sent_back_has_the_tokens_that_were_generated(question: str, count: int) -> None:
    asked = chat_tokens([("user", question)])
    answer = generated_text(prompt_seed(asked), count)
    later = chat_tokens([("user", question), ("assistant", answer), ("user", "and?")])
    generated = np.concatenate((asked, text_tokens(answer)))
    assert later[: len(generated)].tolist() == generated.tolist()
    assert len(generated) == len(asked) + count


def test_roles_and_texts_cannot_be_confused() -> None:
    assert chat_tokens([("user", "ab")]).tolist() != chat_tokens([("userab", "")]).tolist()


def test_answers_depend_on_the_prompt_alone() -> None:
    seeds = [prompt_seed(text_tokens(text)) for text in ("one", "one", "two")]
    answers = [(generated_text(seed, 8), natural_length(seed)) for seed in seeds]
    assert answers[0] == answers[1] != answers[2]


@pytest.mark.parametrize("bad", [-1, 2**32])
def test_impossible_ids_are_refused(bad: int) -> None:
    with pytest.raises(RequestError, match="token ids"):
        id_tokens([1, bad])
