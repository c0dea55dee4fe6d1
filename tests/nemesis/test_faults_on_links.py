"""Faults of links: what they ask of the handles, and how they learn whether they had teeth."""

from __future__ import annotations

import pytest

from tests.nemesis.fake import FakeCluster, one_fault

FROM_N1 = {"one_way": True}
LASTING = [
    ("cut", {}, "cut n1>n4 both"),
    ("cut", {"streams": "answers"}, "cut n1>n4 answers"),
    ("hold", {"streams": "requests"}, "hold n1>n4 requests"),
    ("refuse", {}, "refuse n1>n4"),
    ("silent", {}, "silent n1>n4 both"),
    ("delay", {"latency": "5ms"}, "delay n1>n4 5000000 0 both"),
    ("delay", {"latency": "5ms", "jitter": "1ms", "streams": "answers"}, "delay n1>n4 5000000 1000000 answers"),
    ("throttle", {"rate": "1KiB/s"}, "throttle n1>n4 1024 both"),
    ("slice", {"gap": "2us", "size": "3B"}, "slice n1>n4 3 2000 both"),
    ("gate", {"message": "Fetch", "action": "drop", "count": 2}, "gate n1>n4 Fetch drop both 2"),
    ("gate", {"message": "Vote", "action": "hold"}, "gate n1>n4 Vote hold both None"),
]


@pytest.mark.parametrize(("fault", "args", "call"), LASTING)
def test_a_link_fault_does_its_verb_and_takes_exactly_that_away(fault: str, args: dict[str, object], call: str) -> None:
    """Other faults of the same link stay, also those of the same verb."""
    run = one_fault(FakeCluster(), fault, ("n1", "n4"), **FROM_N1, **args)
    assert run.cluster.take() == [call]
    run.cluster.touched = 3
    run.nemesis.heal_all()
    assert run.cluster.take() == [f"release {call}"]
    assert run.row()["effect"] is True
    assert run.nemesis.toothless == ()


@pytest.mark.parametrize(("fault", "args", "call"), LASTING)
def test_a_link_fault_that_touched_nothing_is_toothless(fault: str, args: dict[str, object], call: str) -> None:
    """Nobody sent anything: that is reported, not hidden. Where nobody could count, nothing is claimed."""
    for touched, effect in ((0, False), (None, None)):
        run = one_fault(FakeCluster(), fault, ("n1", "n4"), **FROM_N1, **args)
        run.cluster.touched = touched
        run.nemesis.heal_all()
        assert run.row()["effect"] is effect
        assert run.nemesis.toothless == ((0,) if effect is False else ())


def test_a_fault_between_a_node_and_itself_is_toothless_at_once() -> None:
    """A target of two names may turn out to be one node; no count is needed to know what that does."""
    run = one_fault(FakeCluster(), "cut", ("leader", "n1"))
    run.cluster.touched = None
    run.nemesis.heal_all()
    assert run.cluster.take() == []
    assert run.row()["effect"] is False
    assert run.told[-1] == ("heals", 0, "it had no effect: no link lies between them")


def test_a_fault_of_many_links_asks_all_of_them_before_it_heals_the_first() -> None:
    """Healing one link could end what another one would have counted."""
    run = one_fault(FakeCluster(), "cut", "n1")
    run.cluster.touched = 1
    run.nemesis.heal_all()
    assert (
        len([call for call in run.cluster.take() if call.startswith("release")]) == 5 * 2 + 2
    )  # five nodes, two groups of clients
    assert run.row()["effect"] is True


@pytest.mark.parametrize(("connections", "effect"), [(1, True), (0, False)])
def test_a_reset_bites_where_there_is_a_connection(connections: int, effect: bool) -> None:
    """It is over at once."""
    cluster = FakeCluster()
    cluster.connections = connections
    run = one_fault(cluster, "reset", ("n1", "n4"), one_way=True, streams="answers")
    assert cluster.take() == ["reset n1>n4 answers"]
    assert run.row()["effect"] is effect
    assert run.row()["healed_ns"] == 0


def test_a_reset_that_cannot_be_counted_claims_nothing() -> None:
    """None is not False."""
    cluster = FakeCluster()
    cluster.touched = None
    assert one_fault(cluster, "reset", ("n1", "n4")).row()["effect"] is None
