"""Every study of the report works from end to end, in seconds."""

from pathlib import Path

import pytest

from cacheroute.simulation.errors import SimulationError
from cacheroute.simulation.experiments.sweep import Workers, sweep
from cacheroute.simulation.paper.calibration import calibration, stored
from cacheroute.simulation.paper.plots import file_name
from cacheroute.simulation.paper.report import Chapter, write_report
from cacheroute.simulation.paper.studies import studies


@pytest.mark.timeout(300)
def test_a_small_report_is_written_whole(tmp_path: Path) -> None:
    chapters = []
    for study in studies(quick=True, only=("T4", "T12", "T13", "O3")):
        cells = study.cells()
        outcomes = [ran.outcome for ran in sweep(cells, Workers(jobs=1))]
        chapters.append(Chapter(study, study.section(outcomes), len(cells), 1.0))
    write_report(chapters, tmp_path / "results.md", tmp_path / "images")
    page = (tmp_path / "results.md").read_text("utf-8")
    assert "## T4: 8B with whales" in page
    assert "comparisons of two policies that the papers separate" in page
    assert (tmp_path / "images" / file_name("T4")).read_text("utf-8").startswith("<?xml")
    for line in page.splitlines():
        if line.startswith("!["):
            assert (tmp_path / line.rpartition("(")[2].rstrip(")")).is_file()
    tables = [line.count("|") for line in page.splitlines() if line.startswith("| Flat-LB")]
    assert min(tables) >= 7


def test_every_study_has_a_name_of_its_own() -> None:
    names = [study.name for study in studies()]
    assert len(set(names)) == len(names)
    assert {"T1", "T4", "T9", "T11", "T12", "T13", "T14", "S1", "S2", "O1", "O6"} <= set(names)
    assert {study.name for study in studies(only=["T3"])} == {name for name in names if name.startswith("T3")}
    with pytest.raises(SimulationError, match="no table is called 'T99'"):
        studies(only=["T99"])


def test_the_calibration_says_how_it_was_found() -> None:
    found = stored()
    chosen = [
        one
        for one in found["speeds_tried"]
        if (one["slowdown"], one["output"]) == (found["slowdown"], found["prompts"]["output"])
    ]
    assert len(chosen) == 1
    assert chosen[0]["capacities"] == {name: one["ours"] for name, one in found["capacities"].items()}
    assert calibration().prompts.tokens == 1200
    ratio = found["capacities"]["cacheroute"]["ours"] / found["capacities"]["flat"]["ours"]
    assert 3.0 < ratio < 6.0
