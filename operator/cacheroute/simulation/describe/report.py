"""A description as one HTML page that needs nothing else."""

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from cacheroute import __version__
from cacheroute.simulation.describe.plots import pictures

Section = tuple[str, Sequence[tuple[str, str]]]


def report(document: dict[str, Any], sections: Sequence[Section]) -> str:
    """Return the page.

    Args:
        document: the description.
        sections: titles, and names and values as they are shown.
    """
    loader = PackageLoader("cacheroute.simulation.describe", "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.get_template("report.html.j2")
    return template.render(
        document=document, sections=sections, pictures=pictures(document), version=__version__
    )
