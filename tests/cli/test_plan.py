import dataclasses
import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from cacheroute.cli.observed import ObservedHits
from cacheroute.cli.plan_file import read_plan_file
from cacheroute.cli.plan_tables import destination_rows, destinations, keys, summary
from cacheroute.cli.rates_file import read_rates
from cacheroute.cli.tables import text
from cacheroute.domain.fleet import Fleet, Pool
from cacheroute.domain.interval import next_plan
from cacheroute.domain.movement import served_by
from cacheroute.domain.plan import MoveCause
from tests.cli.running import Runner, same_as_file
from tests.domain import builders, plans

FLEET = ("--destinations", 3, "--capacity", 2.5, "--warm", 4)
RATES = "key,rate\n" + "".join(f"tenant-{i:02d},{1 / (1 + i):.6f}\n" for i in range(20)) + ",0.5\n"


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    path = tmp_path / "rates.csv"
    path.write_text(RATES)
    return path


def spec_file(folder: Path, pools: tuple[str, ...] = ("h100",), **planning: object) -> Path:
    nodes = [
        {
            "name": name,
            "nodeSelector": {},
            "capacity": {"requestsPerSecond": "2.5", "warmPrefixes": 4},
        }
        for name in pools
    ]
    document = {
        "apiVersion": "cacheroute.dev/v1alpha1",
        "kind": "RoutingPlan",
        "metadata": {"name": "llama"},
        "spec": {
            "models": ["*"],
            "destinations": {"selector": {"matchLabels": {"app": "vllm"}}},
            "nodePools": nodes,
            "keys": {"sources": [{"header": "x-tenant-id"}]},
            "planning": planning,
            "overrides": [{"key": "tenant-00", "route": "Cold"}, {"key": "tenant-19", "route": "Admit"}],
        },
    }
    path = folder / "plan.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


def destinations_file(folder: Path, *pools: str) -> Path:
    entries = [{"name": f"pod-{at}", "address": "127.0.0.1", "pool": pool} for at, pool in enumerate(pools)]
    path = folder / "destinations.yaml"
    path.write_text(yaml.safe_dump({"destinations": entries}))
    return path


def test_the_tables(run: Runner, rates: Path) -> None:
    ended = run.cacheroute("plan", rates, *FLEET)
    assert (ended.code, ended.err) == (0, "")
    assert "12 planned of 20 known" in ended.out
    assert "12 used of 12" in ended.out
    assert ended.out.count("\n destination-000") == 3
    assert "tenant-00" in ended.out


def test_the_layout_of_the_tables() -> None:
    plan, seen = plans.after(), ObservedHits(0.1, 0.5, 1000, 60.0)
    same_as_file("plan.txt", text(summary(plan, seen), destinations(plan, builders.spec()), keys(plan)))


def test_loads_follow_capacity_standbys_and_the_cold_tail() -> None:
    """Of 20 requests/s 14.5 are planned; pod-c is away, so wide is at pod-b alone, and 5.5 are cold."""
    rows = {row.name: row for row in destination_rows(plans.after(), {"h100": 2.5})}
    assert [(row.keys, row.standby_for) for row in rows.values()] == [(1, 1), (3, 1), (1, 0), (1, 3)]
    assert rows["pod-a"].load == pytest.approx(4.0 + 5.5 / 3)
    assert rows["pod-b"].load == pytest.approx(2.0 + 1.0 + 6.0 + 5.5 / 3)
    assert rows["vacant (was pod-c)"].load == 0.0
    assert sum(row.load for row in rows.values()) == pytest.approx(20.0)


def test_keys_that_nobody_serves_are_part_of_the_cold_tail() -> None:
    plan = plans.after()
    gone = [dataclasses.replace(seat, destination=None, last=seat.name, vacated=1.0) for seat in plan.seats]
    lonely = dataclasses.replace(plan, seats=(plan.seats[0], *gone[1:]))
    rows = destination_rows(lonely, {"h100": 2.5})
    assert rows[0].load == pytest.approx(20.0)


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_documents_are_plans_again(run: Runner, rates: Path, tmp_path: Path, output: str) -> None:
    path = tmp_path / f"plan.{output}"
    ended = run.cacheroute("plan", rates, *FLEET, "-o", output)
    path.write_text(ended.out)
    assert read_plan_file(str(path)).summary.keys_admitted == 12


def test_it_is_the_plan_of_the_operator(run: Runner, rates: Path) -> None:
    measured = read_rates(str(rates), None, max_key_length=128, now=5.0).rates
    spec = dataclasses.replace(builders.spec(), pools=(Pool("default", 2.5, 4),))
    fleet = Fleet(tuple(builders.destination(f"destination-{at:04d}", pool="default") for at in range(3)))
    made = next_plan(spec, None, fleet, measured, 5.0)
    assert made is not None
    assert json.loads(run.cacheroute("plan", rates, *FLEET, "-o", "json").out)["version"] == made.version


def test_standard_input_and_parquet_give_the_same_plan(run: Runner, rates: Path, tmp_path: Path) -> None:
    pl.read_csv(rates).write_parquet(tmp_path / "rates.parquet")
    versions = {
        json.loads(ended.out)["version"]
        for ended in (
            run.cacheroute("plan", rates, *FLEET, "-o", "json"),
            run.cacheroute("plan", "-", *FLEET, "-o", "json", stdin=RATES.encode()),
            run.cacheroute("plan", tmp_path / "rates.parquet", *FLEET, "-o", "json"),
        )
    }
    assert len(versions) == 1


def test_saved_plans_are_the_next_ones_start(run: Runner, rates: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json.gz", tmp_path / "b.json"
    assert f"is in {first}\n" in run.cacheroute("plan", rates, *FLEET, "--save", first).err
    assert gzip.decompress(first.read_bytes()).startswith(b"{")
    chained = ("--capacity", 2.5, "--warm", 4, "--previous", first, "--save", second)
    run.cacheroute("plan", rates, *chained)
    before, after = read_plan_file(str(first)), read_plan_file(str(second))
    assert (after.version, after.installed) == (before.version, before.installed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json.gz", "b.json", "rates.csv"]


def test_a_destination_less_is_gone_for_good_and_only_its_keys_move(
    run: Runner, rates: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    run.cacheroute("plan", rates, *FLEET, "--save", first)
    smaller = ("--destinations", 2, *FLEET[2:])
    run.cacheroute("plan", rates, *smaller, "--previous", first, "--save", second)
    before, after = (served_by(read_plan_file(str(file))) for file in (first, second))
    moved = {key for key in after if after[key] != before.get(key)}
    assert {seat.name for seat in read_plan_file(str(second)).seats} == {
        "destination-0000",
        "destination-0001",
    }
    assert moved == {key for key, names in before.items() if "destination-0002" in names} & after.keys()


def test_the_previous_plan_is_all_that_the_next_needs(run: Runner, rates: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    run.cacheroute("plan", rates, *FLEET, "--save", first)
    ended = run.cacheroute("plan", rates, "--previous", first, "--save", second)
    assert ended.code == 0
    assert read_plan_file(str(second)) == read_plan_file(str(first))


def test_a_routing_plan_gives_pools_planning_and_overrides(run: Runner, rates: Path, tmp_path: Path) -> None:
    file = spec_file(tmp_path, policy="Paper")
    listed = destinations_file(tmp_path, "h100", "h100")
    ended = run.cacheroute("plan", rates, "-f", file, "--destinations-file", listed, "-o", "json")
    document = json.loads(ended.out)
    assert document["policy"] == "Paper"
    assert [seat["destination"] for seat in document["seats"]] == ["pod-0", "pod-1"]
    ended = run.cacheroute("plan", rates, "-f", file, "--destinations", 2, "--policy", "stable", "-o", "json")
    document = json.loads(ended.out)
    planned = {key for group in document["groups"] for key in group["keys"]}
    assert document["policy"] == "Stable"
    assert ("tenant-00" in planned, "tenant-19" in planned) == (False, True)
    ended = run.cacheroute("plan", rates, "-f", file, "--destinations", 2, "--warm", 2, "-o", "json")
    assert json.loads(ended.out)["summary"]["slotsTotal"] == 4


def test_a_key_that_is_routed_cold_is_dropped_and_explained(run: Runner, rates: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    run.cacheroute("plan", rates, *FLEET, "--save", first)
    file = spec_file(tmp_path, pools=("default",))
    run.cacheroute("plan", rates, "-f", file, "--previous", first, "--save", second)
    document = json.loads(run.cacheroute("explain", "tenant-00", "-p", second, "-o", "json").out)
    assert (document["planned"], document["dropped"]["cause"]) == (False, MoveCause.FORCED_COLD.value)


def test_requests_are_judged_as_they_came(run: Runner, tmp_path: Path) -> None:
    """Each key comes twice at once and then not for long: Poisson arrivals of these rates would hit far less."""
    keys = np.repeat([f"tenant-{i:03d}" for i in reversed(range(200))], 2)
    time = np.repeat(np.arange(200) * 10.0, 2) + np.tile([0.0, 0.1], 200)
    path = tmp_path / "requests.csv"
    pl.DataFrame({"time": time, "key": keys}).write_csv(path)
    ended = run.cacheroute("plan", path, *FLEET)
    line = next(one for one in ended.out.splitlines() if one.startswith("observed"))
    assert "200 requests in the second half" in line
    assert "16.7 % flat" in line  # the second of each pair finds it on 1 of 3: 1/3 of 1/2
    assert "20.7 % planned" in line  # 12 of the 100 pairs are planned, and their second one always finds it


def test_what_brings_no_key_is_not_judged(run: Runner) -> None:
    ended = run.cacheroute("plan", "-", *FLEET, stdin=b"time,key\n1,\n2,\n")
    assert ended.code == 0
    assert "observed" not in ended.out


def test_refused_keys_are_told_beside_the_result(run: Runner) -> None:
    ended = run.cacheroute("plan", "-", *FLEET, stdin=b"key,rate\na b,1\nc,1\n")
    assert (ended.code, ended.err.count("\n")) == (0, 1)
    assert "standard input: keys that cannot be planned: 1" in ended.err


WRONG = [
    ((), "--capacity and --warm are needed"),
    (("--destinations", 3), "--capacity and --warm are needed"),
    (("--capacity", 1, "--warm", 1), "--destinations is needed"),
    ((*FLEET, "--capacity", "nan"), "Invalid value for '--capacity'"),
    ((*FLEET, "--capacity", 0), "Invalid value for '--capacity'"),
    ((*FLEET, "--warm", -1), "Invalid value for '--warm'"),
    ((*FLEET, "--policy", "best"), "Invalid value for '--policy': 'best' is not one of"),
    ((*FLEET, "--balance", "tokens"), "need a column prompt_tokens"),
    ((*FLEET, "--admission", "bytes"), "--admission Bytes needs --kv-cache-tokens"),
    ((*FLEET, "--admission", "bytes", "--kv-cache-tokens", 9), "need a column prompt_tokens"),
    ((*FLEET, "--name", "x"), "--name says which RoutingPlan of a file"),
    ((*FLEET, "-f", "none.yaml"), "none.yaml: cannot be read"),
    ((*FLEET, "--destinations-file", "none.yaml"), "exclude each other"),
    ((*FLEET, "--previous", "none"), "none: cannot be read"),
    ((*FLEET, "--save", "/none/plan.json"), "/none/plan.json: cannot be written"),
    ((*FLEET, "--what"), "No such option: --what"),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_what_is_wrong_is_one_line(
    run: Runner, rates: Path, options: tuple[object, ...], message: str
) -> None:
    ended = run.cacheroute("plan", rates, *options)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert message in ended.err


def test_what_is_wrong_between_files(run: Runner, rates: Path, tmp_path: Path) -> None:
    two = spec_file(tmp_path, pools=("h100", "h200"))
    listed = destinations_file(tmp_path, "h100", "l4")
    for options, message in (
        (("-f", two, "--destinations", 2), "there are pools h100, h200: list them by --destinations-file"),
        (
            ("-f", two, "--destinations-file", listed),
            "destination 'pod-1': pool 'l4' is not one of the plan's",
        ),
        (("-f", two, "--capacity", 3), "has 2 pools; change their capacities in the file"),
        (("-f", two, "--name", "other"), "has RoutingPlans llama: choose one of them by --name"),
        (
            ("--destinations-file", listed, *FLEET[2:]),
            "there are 2 pools, h100, l4: give their capacities by -f",
        ),
    ):
        ended = run.cacheroute("plan", rates, *options)
        assert (ended.code, ended.err.count("\n")) == (2, 1)
        assert message in ended.err


def test_a_previous_plan_on_other_pools(run: Runner, rates: Path, tmp_path: Path) -> None:
    """Once this was a defect: the planner looked for a pool that the spec does not have."""
    first, file = tmp_path / "a.json", spec_file(tmp_path)
    run.cacheroute("plan", rates, *FLEET, "--save", first)
    ended = run.cacheroute("plan", rates, "-f", file, "--previous", first)
    assert (ended.code, ended.err) == (
        2,
        "cacheroute: the previous plan: destination 'destination-0000': pool 'default' is not one of the plan's: h100\n",
    )
    moved = run.cacheroute("plan", rates, "-f", file, "--previous", first, "--destinations", 3, "-o", "json")
    assert {seat["pool"] for seat in json.loads(moved.out)["seats"]} == {"h100"}


def test_rates_whose_sum_is_no_number(run: Runner) -> None:
    ended = run.cacheroute("plan", "-", *FLEET, stdin=b"key,rate\na,1e308\nb,1e308\n")
    assert (ended.code, ended.err) == (
        2,
        "cacheroute: demand: the rates add up to more than a float64 holds\n",
    )


def test_a_former_plan_file_survives_a_failed_save(run: Runner, rates: Path, tmp_path: Path) -> None:
    folder = tmp_path / "taken"
    (folder / "inside").mkdir(parents=True)
    ended = run.cacheroute("plan", rates, *FLEET, "--save", folder)
    assert ended.code == 2
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_plan_is_saved_through_a_link_and_never_over_a_device(
    run: Runner, rates: Path, tmp_path: Path
) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("{}")
    target.chmod(0o600)
    link.symlink_to(target)
    assert run.cacheroute("plan", rates, *FLEET, "--save", link).code == 0
    assert (link.is_symlink(), target.stat().st_mode & 0o777) == (True, 0o600)
    assert read_plan_file(str(target)).groups
    (tmp_path / "folder").mkdir()
    ended = run.cacheroute("plan", rates, *FLEET, "--save", tmp_path / "folder")
    assert (ended.code, "is no regular file" in ended.err) == (2, True)
