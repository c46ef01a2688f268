"""Parts of a page that are written by themselves, between marks that nobody sees."""

import re


def with_part(page: str, name: str, text: str) -> str:
    """Return the page with this text as its part ``name``; a part that is not there yet is added at the end."""
    begin, end = _marks(name)
    whole = f"{begin}\n{text.strip()}\n{end}"
    if begin in page:
        before, _, rest = page.partition(begin)
        return before + whole + rest.partition(end)[2]
    return f"{page.rstrip()}\n\n{whole}\n"


def parts_of(page: str) -> dict[str, str]:
    """Return the parts of a page by their names, in their order."""
    return {
        found["name"]: found["text"].strip()
        for found in re.finditer(
            r"<!-- begin (?P<name>[a-z-]+) -->\n(?P<text>.*?)\n<!-- end (?P=name) -->", page, re.DOTALL
        )
    }


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- begin {name} -->", f"<!-- end {name} -->"
