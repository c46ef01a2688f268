"""The diagnosis of traffic whose answer is known: quiet where rates stay, a warning where a crowd comes."""

from dataclasses import replace

from cacheroute.planning.hindsight import Caution
from cacheroute.simulation.contest.made_up import said_of
from cacheroute.simulation.experiments.cell import Cell
from cacheroute.simulation.experiments.traffic import Traffic
from cacheroute.simulation.paper.calibration import calibration
from cacheroute.simulation.paper.operations import REPLANNED, situations
from cacheroute.simulation.shadow.diagnosis import Said, counted, told

CELLS = {one.name: one.cell for one in situations(calibration())}


def said(name: str) -> list[Said]:
    return said_of(CELLS[name], REPLANNED)


def test_nothing_is_said_where_rates_stay_and_destinations_are_lost() -> None:
    for name in ("O1", "O2", "O3"):
        assert told(counted(said(name), 180.0)).startswith("quiet in all")


def test_a_flash_crowd_is_told_as_soon_as_it_is_measured_and_not_before() -> None:
    hot = [one.time for one in said("O4") if Caution.HOT_DESTINATION in one.warnings]
    assert hot[0] == 240.0


def test_the_past_alone_decides() -> None:
    """What comes later changes nothing that was said before."""
    cell = CELLS["O4"]
    assert isinstance(cell.traffic, Traffic)
    calm = Cell(replace(cell.traffic, crowd=None), cell.fleet, cell.warmup)
    before = [one for one in said_of(calm, REPLANNED) if one.time < 190]
    assert len(before) == 4
    assert all(one.warnings == () for one in before)
    assert [one.hindsight for one in said("O4")[:4]] == [one.hindsight for one in before]


def test_drift_and_a_whale_are_told() -> None:
    for name in ("O5", "O6", "O7"):
        assert counted(said(name), 180.0)["HotDestination"] > 0
