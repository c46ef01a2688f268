"""A tokenizer that costs nothing: four bytes of text are one token.

Boundaries never depend on later text, so a longer prompt has the tokens of its prefix (but for a last one that was
not full). A token id is the four bytes read as a little-endian number, hence the text comes back from the ids.
Chat messages are separate runs of tokens between marks, as with real chat templates: an answer that the client sends
back in the next turn has the very tokens that were generated.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b, shake_128

import numpy as np

from cacheroute.engine.errors import bad_request
from cacheroute.simulation.engine_model.hashes import TokenIds

BYTES_PER_TOKEN = 4
# The byte 0xFF is in no UTF-8 text, so this is the id of no text. It stands before every role and every content.
_BEGIN = np.array([0xFFFFFF01], dtype=np.uint32)
_LETTERS = 26
_LARGEST_ID = 2**32 - 1


def text_tokens(text: str) -> TokenIds:
    """Return the tokens of a text, shape (ceil(bytes / 4),)."""
    data = text.encode("utf-8", "replace")
    return np.frombuffer(data + bytes(-len(data) % BYTES_PER_TOKEN), dtype="<u4").astype(
        np.uint32, copy=False
    )


def id_tokens(ids: Sequence[int]) -> TokenIds:
    """Return token ids that the client has chosen; raises RequestError for ids that no vocabulary has."""
    if ids and not (min(ids) >= 0 and max(ids) <= _LARGEST_ID):
        raise bad_request(f"prompt: token ids must be from 0 to {_LARGEST_ID}", "prompt")
    return np.array(ids, dtype=np.uint32)


def chat_tokens(messages: Iterable[tuple[str, str]]) -> TokenIds:
    """Return the tokens of (role, text) messages, and of the opening of the assistant's answer."""
    runs: list[TokenIds] = []
    for role, text in messages:
        runs += (_BEGIN, text_tokens(role), _BEGIN, text_tokens(text))
    runs += (_BEGIN, text_tokens("assistant"), _BEGIN)
    return np.concatenate(runs)


def prompt_seed(prompt: TokenIds) -> bytes:
    """Return what decides the answer to a prompt: a hash of it, 16 bytes."""
    return blake2b(prompt.tobytes(), digest_size=16).digest()


def generated_text(seed: bytes, count: int) -> str:
    """Return an answer of ``count`` tokens, each of them a space and three letters."""
    text = np.full((count, BYTES_PER_TOKEN), ord(" "), dtype=np.uint8)
    noise = np.frombuffer(shake_128(seed).digest(3 * count), dtype=np.uint8)
    text[:, 1:] = noise.reshape(count, 3) % _LETTERS + ord("a")
    return text.tobytes().decode("ascii")


def natural_length(seed: bytes) -> int:
    """Return after how many tokens the answer to a prompt would end by itself: 64 to 575."""
    return 64 + int.from_bytes(seed[:2], "little") % 512
