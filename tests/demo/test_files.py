"""The files that standalone mode reads are ones that it accepts."""

from pathlib import Path

from cacheroute.controllers.file_world import read_destinations, read_plans
from cacheroute.demo.drift_run import DriftOptions
from cacheroute.demo.files import write_destinations, write_plan
from cacheroute.demo.scenario import DemoOptions
from cacheroute.domain.spec import Mode, PolicyName


def test_the_plan_is_accepted_in_both_modes(tmp_path: Path) -> None:
    options = DemoOptions()
    for mode, interval in (("Shadow", 10), ("Active", options.window_seconds)):
        path = tmp_path / "plan.yaml"
        write_plan(path, options.plan_file(mode, interval))
        (spec,) = read_plans(path).values()
        assert spec.mode is Mode(mode)
        assert spec.rates.window_seconds >= spec.planning.interval_seconds == interval
        assert spec.pools[0].warm_prefixes * options.engines >= options.tenants


def test_the_plan_of_each_policy_is_accepted(tmp_path: Path) -> None:
    for policy in PolicyName:
        path = tmp_path / "plan.yaml"
        write_plan(path, DriftOptions(DemoOptions(), interval=2).plan_file(policy, "Active", 2))
        (spec,) = read_plans(path).values()
        assert (spec.planning.policy, spec.planning.interval_seconds, spec.rates.window_seconds) == (
            policy,
            2,
            8,
        )


def test_the_next_plan_comes_after_the_end() -> None:
    options = DemoOptions(seconds=600.0, warmup_seconds=600.0)
    assert options.window_seconds > options.arm_seconds + 24.0
    assert options.window_seconds <= 3600


def test_destinations_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "destinations.yaml"
    write_destinations(path, {"engine-0": "127.1.2.11", "engine-1": "127.1.2.12"}, 8000)
    assert [(one.name, str(one.address), one.port) for one in read_destinations(path)] == [
        ("engine-0", "127.1.2.11", 8000),
        ("engine-1", "127.1.2.12", 8000),
    ]
    assert not list(tmp_path.glob("*.tmp"))
