"""Text that a proxy sent, as it may stand in logs, conditions and terminals."""

_MOST = 300


def one_line(text: str) -> str:
    """Return it as one line of at most 300 characters that can all be shown; Envoy quotes whole resources."""
    line = "".join(
        character if character.isprintable() else "?" for character in " ".join(text[: 2 * _MOST].split())
    )
    return line if len(line) <= _MOST else line[: _MOST - 1] + "…"
