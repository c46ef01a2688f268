"""What a study of the report is: simulations, and a section made of what they give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from cacheroute.simulation.experiments.cell import Cell, Outcome


@dataclass(frozen=True, slots=True)
class Curves:
    """A plot: named curves over common axes.

    Attributes:
        title: of the plot.
        across: label of the horizontal axis.
        up: label of the vertical axis.
        curves: points (x, y) by name.
        limit: a horizontal line, None for none.
        logarithmic: whether the vertical axis is.
        across_logarithmic: whether the horizontal axis is.
    """

    title: str
    across: str
    up: str
    curves: Mapping[str, Sequence[tuple[float, float]]]
    limit: float | None = None
    logarithmic: bool = False
    across_logarithmic: bool = False


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far ours and the paper's say the same.

    Attributes:
        same: comparisons of two policies with the same direction in both.
        unseparated: those that only one of the two separates.
        opposite: those with opposite directions, told in words.
    """

    same: int = 0
    unseparated: int = 0
    opposite: tuple[str, ...] = ()

    @property
    def compared(self) -> int:
        """Comparisons that the paper separates."""
        return self.same + self.unseparated + len(self.opposite)

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(
            self.same + other.same, self.unseparated + other.unseparated, self.opposite + other.opposite
        )


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report.

    Attributes:
        heading: of each column.
        rows: cells as text.
        statements: what follows from the numbers, computed.
        agreement: with the paper, None where the paper has nothing to compare with.
        plots: pictures.
        numbers: plain JSON types, for programs.
    """

    heading: Sequence[str]
    rows: Sequence[Sequence[str]]
    statements: Sequence[str] = ()
    agreement: Agreement | None = None
    plots: Sequence[Curves] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)


class Told(Protocol):
    """What the report says of a study beside its results."""

    @property
    def name(self) -> str:
        """Short, such as T1; names files."""

    @property
    def title(self) -> str:
        """For people."""

    @property
    def about(self) -> str:
        """What is simulated, in a few sentences."""


class Study(Told, Protocol):
    """One table."""

    def cells(self) -> Sequence[Cell]:
        """Return the simulations."""

    def section(self, outcomes: Sequence[Outcome]) -> Section:
        """Return the section, from the outcomes of the cells in their order."""
