"""What operators do: asked through the Kafka protocol, and bitten when the cluster agreed."""

from __future__ import annotations

import pytest

from model.plan import Plan
from model.schedule import Event
from nemesis.asking import LIMIT_NS
from tests.nemesis.fake import MS, FakeCluster, S, Watched, one_fault

ASKED = [
    ("elect", None, {}, "elect ('t', 0) preferred"),
    ("elect", "t/0", {"kind": "unclean"}, "elect ('t', 0) unclean"),
    ("reassign", "t/0", {"to": ["n3", "n1"]}, "reassign ('t', 0) (3, 1)"),
    ("change_config", None, {"key": "min.insync.replicas", "value": 1}, "change_config None min.insync.replicas 1"),
]


@pytest.mark.parametrize(("fault", "target", "args", "call"), ASKED)
@pytest.mark.parametrize("error", [None, "NOT_CONTROLLER"])
def test_an_operator_has_done_something_when_the_answer_has_no_error(
    fault: str, target: str | None, args: dict[str, object], call: str, error: str | None
) -> None:
    """The error is the note: ELECTION_NOT_NEEDED, say, means that nothing changed."""
    cluster = FakeCluster()
    cluster.error = error
    run = one_fault(cluster, fault, target, **args)
    assert cluster.take() == [call]
    run.run(1 * S).nemesis.heal_all()
    assert run.row()["effect"] is (error is None)
    assert run.told[-1][2] == ("it bit" if error is None else "it had no effect: NOT_CONTROLLER")


def test_an_operator_who_gets_no_answer_knows_nothing() -> None:
    """The request may still be carried out, so nothing is claimed; after the limit nobody waits any more."""
    cluster = FakeCluster()
    cluster.answers = False
    run = one_fault(cluster, "elect", "t/0").run(2 * LIMIT_NS)
    assert run.row()["effect"] is None
    assert run.row()["healed_ns"] == LIMIT_NS


def test_a_setting_goes_back_to_what_the_plan_says() -> None:
    """For a topic that has its own value the default would be another change, not a heal."""
    cluster = FakeCluster()
    run = one_fault(cluster, "change_config", None, key="min.insync.replicas", value=1, topic="t").run(1 * S)
    run.nemesis.heal_all()
    assert cluster.take() == ["change_config t min.insync.replicas 1", "change_config t min.insync.replicas 2"]
    assert run.row()["args"] == '{"key":"min.insync.replicas","value":1,"topic":"t","old":"2"}'


def test_a_setting_that_the_plan_does_not_give_goes_back_to_its_default() -> None:
    """The row still says which value was in force before."""
    plan = Plan(tidemark=1, config={"auto.leader.rebalance.enable": True})
    events = tuple(
        Event(at_ns=0, fault="change_config", args={"key": key, "value": "false"})
        for key in ("unclean.leader.election.enable", "auto.leader.rebalance.enable")
    )
    cluster = FakeCluster()
    run = Watched(cluster, events, plan).run(1 * S)
    cluster.take()
    run.nemesis.heal_all()
    assert cluster.take() == [
        "change_config None unclean.leader.election.enable None",
        "change_config None auto.leader.rebalance.enable true",
    ]
    assert '"old":"false"' in run.row(0)["args"]
    assert '"old":"true"' in run.row(1)["args"]


def test_a_setting_is_asked_back_until_somebody_listens() -> None:
    """When everything heals at once, the controllers need a moment."""
    cluster = FakeCluster()
    run = one_fault(cluster, "change_config", None, key="min.insync.replicas", value=1, topic="t").run(1 * S)
    cluster.take()
    cluster.error = "NOT_CONTROLLER"
    run.nemesis.heal_all()
    run.run(600 * MS)
    cluster.error = None
    run.run(10 * S)
    assert cluster.take() == ["change_config t min.insync.replicas 2"] * 3
