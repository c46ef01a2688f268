"""Links between pages, and pages that messages, help texts and comments name, exist with their headings."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
NAMED = re.compile(r"(?<![\w/])docs/[\w./-]+\.md(?:#[\w-]+)?")


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True)  # noqa: S607
    return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]


def anchors(page: Path) -> set[str]:
    """Return what a fragment of a link can name: headings as GitHub spells them, without those in code."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


def dead(source: Path, base: Path, target: str) -> str | None:
    name, _, fragment = target.partition("#")
    page = base / name if name else source
    found = page.exists() and (not fragment or page.suffix != ".md" or fragment in anchors(page))
    return None if found else f"{source.relative_to(ROOT)}: {target}"


@pytest.mark.skipif(
    not (ROOT / ".git").exists() and os.environ.get("CI") != "true", reason="not a git checkout"
)
def test_no_link_is_dead() -> None:
    texts = {path: path.read_bytes().decode("utf-8", "ignore") for path in tracked()}
    links = [
        dead(path, path.parent, target)
        for path, text in texts.items()
        if path.suffix == ".md"
        for target in LINK.findall(text)
    ]
    named = [dead(path, ROOT, target) for path, text in texts.items() for target in set(NAMED.findall(text))]
    assert [one for one in links + named if one] == []
