"""A language model of no use and no size: two layers of random weights, and a tokenizer with one token a byte."""

import json
from pathlib import Path
from typing import Any

VOCABULARY = 1024
"""Token ids that a request may name."""
SPECIAL = ("<unk>", "<s>", "</s>")
MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
TOKENIZER_CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "unk_token": SPECIAL[0],
    "bos_token": SPECIAL[1],
    "eos_token": SPECIAL[2],
    "model_max_length": 4096,
    "chat_template": "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:",
}


def write_model(folder: Path) -> Path:
    """Write the three files that vLLM reads (weights are made up by ``--load-format dummy``); returns the folder."""
    files = {
        "config.json": MODEL,
        "tokenizer.json": _tokenizer(),
        "tokenizer_config.json": TOKENIZER_CONFIG,
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    return folder


def _tokenizer() -> dict[str, Any]:
    """Return a byte-level BPE without merges, in the format of the `tokenizers` library."""
    words = {word: number for number, word in enumerate((*SPECIAL, *_byte_letters()))}
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": words[word], "content": word, "special": True, **flags} for word in SPECIAL],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": words, "merges": []},
    }


def _byte_letters() -> list[str]:
    """Return the letter that stands for each byte (GPT-2): itself if it can be seen, else one from U+0100 on."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    letters, hidden = [], 0
    for byte in range(256):
        letters.append(chr(byte) if byte in seen else chr(0x100 + hidden))
        hidden += byte not in seen
    return letters
