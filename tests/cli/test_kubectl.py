import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cacheroute.cli.plan_file import save_plan
from tests.cli.api_server import Cluster, path, serving
from tests.cli.running import Ended, Runner
from tests.domain import plans


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Iterator[Path]:
    with serving(cluster, tmp_path) as file:
        yield file


def failed(ended: Ended, code: int = 1) -> str:
    assert (ended.code, ended.out, ended.err.count("\n")) == (code, "", 1)
    return ended.err


def test_explain_prints_what_cacheroute_explain_prints(
    run: Runner, cluster: Cluster, kubeconfig: Path, tmp_path: Path
) -> None:
    cluster.add("llama", plans.after())
    save_plan(tmp_path / "plan.json", plans.after())
    expected = run.cacheroute("explain", "wide", "-p", tmp_path / "plan.json").out
    assert run.kubectl("explain", "wide", "llama", "--kubeconfig", kubeconfig).out == expected
    assert run.kubectl("explain", "wide", "--kubeconfig", kubeconfig).out == expected
    yaml_out = run.kubectl("explain", "wide", "--kubeconfig", kubeconfig, "-o", "yaml").out
    assert yaml_out == run.cacheroute("explain", "wide", "-p", tmp_path / "plan.json", "-o", "yaml").out


def test_explain_needs_a_name_where_there_are_several(
    run: Runner, cluster: Cluster, kubeconfig: Path
) -> None:
    cluster.add("llama", plans.after())
    cluster.add("mistral")
    told = failed(run.kubectl("explain", "wide", "--kubeconfig", kubeconfig))
    assert told == "cacheroute: namespace inference has RoutingPlans llama, mistral: name one\n"


def test_explain_without_a_routing_plan_or_a_stored_plan(
    run: Runner, cluster: Cluster, kubeconfig: Path
) -> None:
    assert "namespace inference has no RoutingPlan" in failed(
        run.kubectl("explain", "wide", "--kubeconfig", kubeconfig)
    )
    cluster.add("llama")
    assert "there is none yet" in failed(run.kubectl("explain", "wide", "--kubeconfig", kubeconfig))


def test_explain_of_an_impossible_key_asks_no_cluster(run: Runner, tmp_path: Path) -> None:
    told = failed(run.kubectl("explain", "a b", "--kubeconfig", tmp_path / "none"), code=2)
    assert "key 'a b': has ' '" in told


def test_diff_compares_the_plan_in_force_with_a_file(
    run: Runner, cluster: Cluster, kubeconfig: Path, tmp_path: Path
) -> None:
    cluster.add("llama", plans.before())
    file = tmp_path / "plan.json.gz"
    save_plan(file, plans.after())
    ended = run.kubectl("diff", "llama", file, "--kubeconfig", kubeconfig, "--exit-code", "-o", "json")
    assert ended.code == 1
    assert json.loads(ended.out)["keys"] == {"moved": 2, "admitted": 1, "dropped": 1}
    save_plan(file, plans.before())
    equal = run.kubectl("diff", "llama", file, "--kubeconfig", kubeconfig, "--exit-code")
    assert (equal.code, "route alike" in equal.out) == (0, True)


def test_the_plan_as_json_is_a_plan_file(run: Runner, cluster: Cluster, kubeconfig: Path) -> None:
    cluster.add("llama", plans.after())
    printed = run.kubectl("plan", "llama", "--kubeconfig", kubeconfig, "-o", "json").out
    assert "Rebalanced" in run.cacheroute("explain", "bolt", "-p", "-", stdin=printed.encode()).out


def test_hold_and_resume_undo_each_other(run: Runner, cluster: Cluster, kubeconfig: Path) -> None:
    body = cluster.add("llama")
    held = run.kubectl("hold", "llama", "--kubeconfig", kubeconfig)
    assert (held.code, held.out) == (0, "RoutingPlan inference/llama: mode Active to Hold\n")
    assert body["spec"]["mode"] == "Hold"
    again = run.kubectl("hold", "llama", "--kubeconfig", kubeconfig)
    assert again.out == "RoutingPlan inference/llama: is in mode Hold already, nothing changed\n"
    resumed = run.kubectl("resume", "llama", "--kubeconfig", kubeconfig)
    assert resumed.out == "RoutingPlan inference/llama: mode Hold to Active\n"
    assert body["spec"]["mode"] == "Active"


def test_hold_of_a_plan_that_does_not_say_its_mode(run: Runner, cluster: Cluster, kubeconfig: Path) -> None:
    body = cluster.add("llama", mode=None)
    assert "mode" not in body["spec"]
    run.kubectl("hold", "llama", "--kubeconfig", kubeconfig)
    assert body["spec"]["mode"] == "Hold"


@pytest.mark.parametrize("command", ["hold", "resume"])
def test_a_plan_in_shadow_is_left_alone(
    run: Runner, cluster: Cluster, kubeconfig: Path, command: str
) -> None:
    """Hold would begin to route by plan, and resume would not lead back to Shadow."""
    body = cluster.add("llama", mode="Shadow")
    assert "spec.mode is Shadow" in failed(run.kubectl(command, "llama", "--kubeconfig", kubeconfig))
    assert body["spec"]["mode"] == "Shadow"


def test_a_mode_changed_by_somebody_else_meanwhile_stays(
    run: Runner, cluster: Cluster, kubeconfig: Path
) -> None:
    body = cluster.add("llama")
    cluster.before_patch = lambda: body["spec"].update(mode="Shadow")
    assert "was changed meanwhile" in failed(run.kubectl("hold", "llama", "--kubeconfig", kubeconfig))
    assert body["spec"]["mode"] == "Shadow"


def test_hold_without_the_right_to_patch(run: Runner, cluster: Cluster, kubeconfig: Path) -> None:
    cluster.add("llama")
    cluster.refused.add(path("llama"))
    told = failed(run.kubectl("hold", "llama", "--kubeconfig", kubeconfig))
    assert told == (
        "cacheroute: RoutingPlan inference/llama: the API server answered 403: routingplans is forbidden: "
        "User cannot patch\n"
    )


def test_hold_of_a_plan_that_is_not_there(run: Runner, kubeconfig: Path) -> None:
    assert "RoutingPlan inference/none: there is none yet" in failed(
        run.kubectl("hold", "none", "--kubeconfig", kubeconfig)
    )


def test_errors_of_files_and_options_have_code_2(
    run: Runner, cluster: Cluster, kubeconfig: Path, tmp_path: Path
) -> None:
    cluster.add("llama", plans.before())
    failed(run.kubectl("diff", "llama", tmp_path / "none", "--kubeconfig", kubeconfig), code=2)
    failed(run.kubectl("hold"), code=2)
    failed(run.kubectl("hold", "llama", "--kubeconfig", tmp_path / "none"))


@pytest.mark.parametrize("command", [("hold", "llama"), ("explain", "wide"), ("status",)])
def test_a_cluster_without_cacheroute(
    run: Runner, cluster: Cluster, kubeconfig: Path, command: tuple[str, ...]
) -> None:
    cluster.objects.clear()
    assert "the API server answered 404" in failed(run.kubectl(*command, "--kubeconfig", kubeconfig))
