"""The main job on a real cluster: install, plan, route, lose things, and go on."""

import time
from dataclasses import replace

import pytest

from cacheroute.domain.movement import served_by
from cacheroute.domain.plan import Plan
from e2e.harness import wait
from e2e.system import manifests
from e2e.system.installation import Installation
from e2e.system.manifests import INTERVAL_SECONDS, MONITORING, NAMESPACE, SYSTEM, WINDOW_SECONDS
from e2e.system.traffic import Answer

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300, func_only=True)]

HOLD_SECONDS = 600
"""Control interval while things are lost: the rates of 40 tenants scatter, and a plan made from them may move keys."""


@pytest.fixture(scope="module")
def planned(installed: Installation) -> Installation:
    """A RoutingPlan that is Ready, with a plan made for steady traffic and then left alone."""
    installed.cluster.apply(manifests.routing_plan(), namespace=NAMESPACE)
    with installed.traffic().running():
        installed.wait_ready(within=60)
        keep_the_plan(installed)
    return installed


def keep_the_plan(installation: Installation) -> None:
    """Plan once more from a full window of traffic that has all tenants in it, then not for a long time."""
    wait.until(lambda: all_known(installation), within=60, what="rates of all 40 tenants")
    generation = installation.cluster.get("rplan", "llama", NAMESPACE)["metadata"]["generation"]
    long = manifests.routing_plan(
        planning={"intervalSeconds": HOLD_SECONDS},
        rates={"windowSeconds": HOLD_SECONDS, "minCoveragePercent": 50},
    )
    installation.cluster.apply(long, namespace=NAMESPACE)

    def settled() -> bool:
        status = installation.status()
        return bool(
            status.get("observedGeneration", 0) > generation
            and all_known(installation)
            and installation.condition("Synced")[0] == "True"
        )

    wait.until(settled, within=30, what="a plan for all 40 tenants")


def all_known(installation: Installation) -> bool:
    """Tell whether the plan in force was made from rates of all tenants: the rarest comes some times a minute."""
    plan = installation.status().get("plan")
    return plan is not None and plan["keys"]["known"] == 40


def unexpected(plan: Plan, answers: list[Answer]) -> list[Answer]:
    """Return the answers that the plan does not explain."""
    served = served_by(plan)
    return [
        one
        for one in answers
        if one.version == plan.version
        and (
            (
                one.tenant in served
                and (one.decision != "planned" or one.destination not in served[one.tenant])
            )
            or (one.tenant not in served and one.decision != "cold")
        )
    ]


def test_a_plan_is_ready_within_two_intervals_and_says_so(installed: Installation) -> None:
    """Row 3: from `kubectl apply` to Ready, and what `kubectl get` shows."""
    with installed.traffic().running():
        installed.cluster.apply(manifests.routing_plan("first", ("llama",)), namespace=NAMESPACE)
        seconds = wait.until(
            lambda: installed.condition("Ready", "first")[0] == "True",
            within=60,
            what="the RoutingPlan to be Ready",
        )
        wait.until(
            lambda: installed.status("first")["gateways"]["synced"] == 2,
            within=5,
            what="both gateways to be synced",
        )
        table = installed.cluster.kubectl("get", "rplan", "first", "-n", NAMESPACE)
    print(f"Ready after {seconds:.1f} s\n{table}")
    header, row = table.splitlines()
    assert header.split()[:9] == [
        "NAME",
        "READY",
        "MODE",
        "KEYS",
        "COVERAGE",
        "DESTS",
        "IMBALANCE",
        "HIT",
        "SYNCED",
    ]
    assert row.split()[1:3] == ["True", "Active"]
    assert "6/6" in row
    assert "2/2" in row
    installed.cluster.kubectl("delete", "rplan", "first", "-n", NAMESPACE, "--timeout=10s")


def test_every_answer_is_where_the_stored_plan_says(planned: Installation) -> None:
    plan = planned.plan()
    assert plan.summary.keys_admitted == 24
    with planned.traffic().running() as traffic:
        wait.until(lambda: len(traffic.answers) > 1500, within=40, what="1,500 answers")
    assert traffic.failed == []
    assert unexpected(plan, traffic.answers) == []
    cold = [one for one in traffic.answers if one.decision == "cold"]
    assert {one.destination for one in cold} == planned.ready_pods()
    assert len(cold) > 100


def test_the_served_hit_is_what_the_engines_count(planned: Installation) -> None:
    """Row 3: over one window of steady traffic the gateway's figure and the engines' own agree within a point."""
    short = manifests.routing_plan(planning={"intervalSeconds": INTERVAL_SECONDS}, mode="Shadow")
    planned.cluster.apply(short, namespace=NAMESPACE)
    with planned.traffic().running():
        time.sleep(WINDOW_SECONDS + INTERVAL_SECONDS)  # a window must pass, there is no condition to wait for
        before = planned.engine_tokens()
        time.sleep(WINDOW_SECONDS)  # the window that is compared
        after = planned.engine_tokens()
        seen = planned.status()["lastDecision"]["time"]
        wait.until(
            lambda: planned.status()["lastDecision"]["time"] != seen, within=30, what="the next interval"
        )
        served = float(planned.status()["served"]["tokenHitPercent"])
    engines = 100 * (after[1] - before[1]) / (after[0] - before[0])
    print(f"served hit: gateway {served:.2f} %, engines {engines:.2f} %")
    assert served == pytest.approx(engines, abs=1.0)
    with planned.traffic().running():
        keep_the_plan(planned)


def victim_of(plan: Plan) -> str:
    """Return the destination with the most keys."""
    served = served_by(plan)
    return max(
        sorted(plan.by_destination()), key=lambda name: sum(name in names for names in served.values())
    )


def lose(installation: Installation, how: str) -> None:
    """Lose a pod under load and check everything that is promised about it."""
    before = installation.plan()
    victim = victim_of(before)
    with installation.traffic().running() as traffic:
        wait.until(lambda: len(traffic.answers) > 200, within=20, what="traffic to flow")
        if how == "delete":
            installation.cluster.kubectl(
                "delete", "pod", victim, "-n", NAMESPACE, "--grace-period=0", "--force"
            )
        else:
            installation.cluster.provider.kill_container(NAMESPACE, victim)
            wait.until(
                lambda: victim not in installation.ready_pods(),
                within=20,
                every=0.02,
                what=f"{victim} not Ready",
            )
        seen = time.monotonic()
        wait.until(
            lambda: victim not in installation.plan().by_destination(),
            within=10,
            every=0.02,
            what="the repair",
        )
        repaired = time.monotonic() - seen
        plan = installation.plan()
        wait.until(
            lambda: (
                installation.status()["plan"]["revision"] == plan.revision
                or len(installation.plan().by_destination()) == 6
            ),
            within=10,
            every=0.05,
            what="the status to say so",
        )
        reported = time.monotonic() - seen
        check_only_its_keys_moved(before, plan, victim)
        wait.until(
            lambda: len(installation.plan().by_destination()) == 6, within=60, what="the seat to be filled"
        )
        last = time.monotonic()
        wait.until(lambda: len(traffic.since(last + 1)) > 300, within=20, what="traffic after the repair")
    after = installation.plan()
    print(
        f"{how}: {len(traffic.answers)} requests, {len(traffic.failed)} failed, stored {repaired:.2f} s, status {reported:.2f} s"
    )
    assert [one for one in traffic.failed if how != "delete" or not ended_under(one, victim)] == []
    assert repaired < 2
    assert reported < 2
    successor = (set(after.by_destination()) - (set(before.by_destination()) - {victim})).pop()
    assert served_by(after) == {
        key: frozenset(successor if name == victim else name for name in names)
        for key, names in served_by(before).items()
    }
    assert unexpected(after, traffic.since(last + 1)) == []


def ended_under(answer: Answer, victim: str) -> bool:
    """Whether the engine itself said that it was ended under the request, as vLLM does on SIGTERM.

    A deletion without grace leaves it no time to finish what it computes (docs/operations.md).
    """
    return answer.destination == victim and answer.status == 500 and "EngineCore" in answer.complaint


def check_only_its_keys_moved(before: Plan, after: Plan, victim: str) -> None:
    old, new = served_by(before), served_by(after)
    assert {key for key in old if old[key] != new[key]} == {
        key for key, names in old.items() if victim in names
    }
    assert after.version == before.version


def test_a_pod_deleted_without_grace(planned: Installation) -> None:
    lose(planned, "delete")


def test_a_pod_whose_process_is_killed(planned: Installation) -> None:
    lose(planned, "kill")


def test_the_operator_is_deleted_under_load(planned: Installation) -> None:
    """Row 5: no request notices, the new one serves the same versions and moves nothing."""
    before = planned.plan()
    gateways = planned.gateway_pods()
    versions = {pod: planned.xds_versions(pod) for pod in gateways}
    assert all(versions.values())
    selector = "app.kubernetes.io/component=operator"
    old = {pod["metadata"]["name"] for pod in planned.cluster.list("pods", selector, SYSTEM)}
    with planned.traffic().running() as traffic:
        wait.until(lambda: len(traffic.answers) > 200, within=20, what="traffic to flow")
        planned.cluster.kubectl("delete", "pod", "-n", SYSTEM, "-l", selector, "--grace-period=0", "--force")

        def replaced() -> bool:
            pods = planned.cluster.list("pods", selector, SYSTEM)
            return any(
                pod["metadata"]["name"] not in old
                and any(
                    one["type"] == "Ready" and one["status"] == "True"
                    for one in pod["status"].get("conditions", [])
                )
                for pod in pods
            )

        wait.until(replaced, within=60, what="the new operator to be ready")
        moment = time.monotonic()
        wait.until(
            lambda: planned.condition("Synced")[0] == "True",
            within=30,
            what="the gateways to be synced again",
        )
        wait.until(lambda: len(traffic.since(moment)) > 300, within=20, what="traffic after the restart")
    assert traffic.failed == []
    assert {pod: planned.xds_versions(pod) for pod in gateways} == versions
    after = planned.plan()
    assert replace(after, summary=before.summary) == before
    assert served_by(after) == served_by(before)
    assert unexpected(before, traffic.answers) == []


def test_prometheus_is_stopped_for_several_intervals(planned: Installation) -> None:
    """Row 6: routing goes on, the condition says why there are no rates, and it recovers."""
    short = manifests.routing_plan(planning={"intervalSeconds": INTERVAL_SECONDS})
    planned.cluster.apply(short, namespace=NAMESPACE)
    with planned.traffic().running() as traffic:
        wait.until(lambda: planned.condition("RatesAvailable")[0] == "True", within=30, what="rates")
        planned.cluster.kubectl("scale", "deployment/prometheus", "-n", MONITORING, "--replicas=0")
        wait.until(
            lambda: planned.condition("RatesAvailable")[0] == "False", within=40, what="rates to be missing"
        )
        held = planned.plan()
        moment = time.monotonic()
        wait.until(
            lambda: time.monotonic() > moment + 3 * INTERVAL_SECONDS,
            within=60,
            what="three intervals to pass",
        )
        status, reason = planned.condition("RatesAvailable")
        assert status == "False"
        assert reason in ("SourceUnreachable", "Timeout")
        assert planned.plan().revision == held.revision
        assert planned.condition("Ready")[0] == "True"
        planned.cluster.kubectl("scale", "deployment/prometheus", "-n", MONITORING, "--replicas=1")
        wait.until(
            lambda: planned.condition("RatesAvailable")[0] == "True", within=60, what="rates to be back"
        )
    assert traffic.failed == []


def test_a_second_plan_for_the_same_model_is_refused(planned: Installation) -> None:
    """Row 7: what the schema cannot see is a condition that names the owner; the plan in force is not touched."""
    before = planned.plan().version
    planned.cluster.apply(manifests.routing_plan("rival", ("llama", "other")), namespace=NAMESPACE)
    wait.until(
        lambda: planned.condition("Accepted", "rival") == ("False", "ModelClaimed"),
        within=20,
        what="the refusal",
    )
    message = next(
        one["message"] for one in planned.status("rival")["conditions"] if one["type"] == "Accepted"
    )
    assert "inference/llama" in message
    assert planned.condition("Ready")[0] == "True"
    planned.cluster.kubectl("delete", "rplan", "rival", "-n", NAMESPACE, "--timeout=10s")
    assert before
