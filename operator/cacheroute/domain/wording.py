"""Words that several messages share."""


def counted(number: int, noun: str) -> str:
    """Return the number with its noun: `1 key`, `2 keys`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
