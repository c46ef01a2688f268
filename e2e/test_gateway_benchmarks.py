"""That every row of `make bench-gateway` runs, in its smallest variant; the figures are nobody's business here."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.gateway.__main__ import ROWS
from e2e.gateway_rig import envoy_program

pytestmark = [pytest.mark.envoy, pytest.mark.timeout(400)]


@pytest.mark.parametrize("row", ROWS)
def test_the_smallest_variant_of_a_row_runs(row: str, tmp_path: Path) -> None:
    envoy_program()
    command = [
        sys.executable,
        "-m",
        "benchmarks.gateway",
        "--quick",
        "--only",
        row,
        "--output",
        str(tmp_path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / f"gateway-{row}.json").read_text("utf-8"))
    assert document["figures"]
    assert all(figure["value"] >= 0 for figure in document["figures"])
