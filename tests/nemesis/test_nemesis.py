"""The nemesis: a schedule carried out, in time that passes only when we say so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model import evidence
from model.cluster import Cluster, Fired, NodeId, Sleep, Steps, Until
from model.plan import Plan
from model.refusal import InfrastructureFailure
from model.schedule import Condition, Event
from nemesis import course
from nemesis.fault import Fault
from tests.nemesis.fake import MS, FakeCluster, S, Watched

PLAN = Plan(tidemark=1, for_ns=30 * S)


def pause(**said: object) -> Event:
    return Event(**{"fault": "pause", "target": "n2", **said})  # type: ignore[arg-type]


def test_an_event_fires_at_its_time_and_heals_after_its_duration() -> None:
    """Both counted from the origin, which need not be zero."""
    cluster = FakeCluster()
    cluster.time.now = 100 * S
    run = Watched(cluster, (pause(at_ns=5 * S, for_ns=3 * S),), PLAN)
    run.run(5 * S - 1)
    assert cluster.take() == []
    run.run(1)
    assert cluster.take() == ["pause 2"]
    run.run(3 * S - 1)
    assert cluster.take() == []
    run.run(1)
    assert cluster.take() == ["release pause 2"]
    assert (run.row()["fired_ns"], run.row()["healed_ns"]) == (5 * S, 8 * S)


def test_what_has_no_duration_is_healed_at_the_end() -> None:
    """And once: a second end finds nothing in force."""
    run = Watched(FakeCluster(), (pause(at_ns=0),), PLAN).run(20 * S)
    assert run.row()["healed_ns"] is None
    run.nemesis.heal_all()
    run.nemesis.heal_all()
    assert run.cluster.take() == ["pause 2", "release pause 2"]
    assert run.row()["healed_ns"] == 20 * S


def test_a_fault_healed_at_the_end_is_not_healed_again_when_its_duration_is_over() -> None:
    """A second release would have nothing to release."""
    run = Watched(FakeCluster(), (pause(at_ns=0, for_ns=5 * S),), PLAN).run(1 * S)
    run.nemesis.heal_all()
    run.run(10 * S)
    assert run.cluster.take() == ["pause 2", "release pause 2"]


def test_nothing_fires_after_the_end() -> None:
    """An event at a time has then simply never fired; one with a condition says that the run ended first."""
    events = (pause(at_ns=9 * S), pause(when=Condition(acked=10)))
    run = Watched(FakeCluster(), events, PLAN).run(1 * S)
    run.nemesis.heal_all()
    run.acked = 10
    run.run(20 * S)
    assert run.cluster.take() == []
    assert run.nemesis.refused == {1: "the run ended first"}
    assert [(row["fired_ns"], row["refused"]) for row in run.nemesis.rows(0)] == [(None, None), (None, "the run ended first")]


def test_a_condition_is_asked_until_it_is_met() -> None:
    """Every ten milliseconds, so that the event fires at most that much late."""
    run = Watched(FakeCluster(), (pause(when=Condition(isr=("n1",))),), PLAN).run(1234 * MS)
    run.cluster.isr = (1,)
    run.run(10 * MS)
    assert run.row()["fired_ns"] == 1240 * MS


def test_a_condition_that_is_not_met_in_time_is_refused() -> None:
    """After `within`, or when the plan's time is over; both counted from the origin."""
    events = (pause(when=Condition(acked=1), within_ns=20 * S), pause(when=Condition(acked=1)))
    cluster = FakeCluster()
    cluster.time.now = 100 * S
    run = Watched(cluster, events, PLAN).run(20 * S - 1)
    assert run.nemesis.refused == {}
    run.run(1)
    assert run.nemesis.refused == {0: "condition not met within 20s"}
    run.run(10 * S)
    assert run.nemesis.refused == {0: "condition not met within 20s", 1: "condition not met within 30s"}
    run.acked = 1
    run.run(1 * S)
    assert run.cluster.take() == []


def test_an_event_can_wait_for_an_earlier_one() -> None:
    """`after: 0` means that event 0 has fired."""
    run = Watched(FakeCluster(), (pause(at_ns=2 * S), pause(when=Condition(after=0), target="n3")), PLAN).run(3 * S)
    assert run.cluster.take() == ["pause 2", "pause 3"]
    assert run.row(1)["fired_ns"] == 2 * S


def test_the_leader_is_whoever_leads_when_the_fault_fires() -> None:
    """Not whoever led when the schedule was written."""
    run = Watched(FakeCluster(), (Event(at_ns=5 * S, fault="kill", target="leader"),), PLAN).run(4 * S)
    run.cluster.leader = 3
    run.run(2 * S)
    assert run.cluster.take() == ["kill 3"]
    assert run.row()["resolved"] == [3]
    assert run.row()["target"] == "leader"


def test_a_target_nobody_answers_to_is_refused_with_the_reason() -> None:
    """Nothing is touched, and `for` has nothing to heal."""
    cluster = FakeCluster()
    cluster.leader = None
    run = Watched(cluster, (Event(at_ns=0, fault="kill", target="leader", for_ns=1 * S),), PLAN).run(5 * S)
    assert cluster.take() == []
    assert run.nemesis.refused == {0: "t/0 has no leader"}
    assert run.told == [("refused", 0, "t/0 has no leader")]
    assert run.row()["fired_ns"] is None


def test_whoever_watches_hears_what_fires_heals_and_is_refused() -> None:
    """With the numbers of the events and who was hit."""
    events = (
        Event(at_ns=0, fault="cut", target=("leader", ("n4", "c1")), for_ns=2 * S),
        pause(at_ns=1 * S, target=("n3", "n2"), for_ns=2 * S),
        pause(when=Condition(acked=1), within_ns=1500 * MS),
    )
    run = Watched(FakeCluster(), events, PLAN)
    run.cluster.touched = 1
    run.run(5 * S)
    assert run.told == [
        ("fires", 0, "n1 | n4 c1"),
        ("fires", 1, "n2 n3"),
        ("refused", 2, "condition not met within 1500ms"),
        ("heals", 0, "it bit"),
        ("heals", 1, "it had no effect"),  # healing the first one took the count away
    ]
    assert run.nemesis.toothless == (1,)
    assert run.nemesis.fired == {0, 1}


def test_the_rows_are_a_table_of_events() -> None:
    """CHECKERS 1.7: one row per event of the schedule, fired or not, in the stored schema."""
    events = (
        Event(at_ns=0, fault="kill", target="n2", for_ns=1 * S),
        Event(at_ns=1 * S, fault="cut", target="n3", args={"streams": "answers"}),
        Event(at_ns=29 * S, fault="cut", args={"shape": "halves"}),
    )
    run = Watched(FakeCluster(), events, PLAN).run(10 * S)
    run.nemesis.heal_all()
    kill, cut, never = evidence.to_table("events", run.nemesis.rows(run.origin_ns)).to_pylist()
    assert kill["damage"] == [
        {"node": 2, "topic": "t", "partition": 0, "how": "restart", "dropped_from": None, "dropped": 0},
    ]
    assert (kill["fired_ns"], kill["healed_ns"], kill["effect"], kill["resolved"]) == (0, 1 * S, True, [2])
    assert (cut["resolved"], cut["effect"]) == ([-2, -1, 1, 2, 3, 4, 5, 6], False)
    assert cut["args"] == '{"streams":"answers","sides":[[3]]}'
    assert (never["fired_ns"], never["resolved"], never["target"], never["effect"]) == (None, None, None, None)


def test_a_condition_of_the_workload_is_answered_by_the_same_eyes() -> None:
    """A phase may wait for an event, or for appends."""
    run = Watched(FakeCluster(), (pause(at_ns=1 * S),), PLAN)
    assert not run.nemesis.met(Condition(after=0))
    run.run(2 * S)
    assert run.nemesis.met(Condition(after=0))
    assert not run.nemesis.met(Condition(acked=3))
    run.acked = 3
    assert run.nemesis.met(Condition(acked=3, leader="n1"))


def test_a_failure_of_the_infrastructure_passes_through() -> None:
    """It is no verdict; and the end still heals what was in force."""
    cluster = FakeCluster()

    def fails(node: NodeId) -> None:
        raise InfrastructureFailure("no such container")

    cluster.processes.__dict__["pause"] = fails
    run = Watched(cluster, (pause(at_ns=1 * S),), PLAN)
    with pytest.raises(InfrastructureFailure, match="no such container"):
        run.run(2 * S)
    run.nemesis.heal_all()
    assert cluster.take() == []
    assert run.row()["effect"] is None  # nobody knows how far it came


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A fault in the place of `pause` that does not want to end, and what became of it."""
    heard: list[str] = []

    def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: object) -> Steps[Fired]:
        try:
            while True:
                yield Sleep(1 * S)
        finally:
            heard.append("closed")

    def heal(cluster: Cluster, targets: tuple[NodeId, ...], args: object, effect: bool | None) -> bool | None:
        heard.append("healed")
        return None

    monkeypatch.setitem(course.FAULTS_BY_NAME, "pause", Fault("pause", inject=inject, heal=heal))  # type: ignore[arg-type]
    return heard


def test_a_fault_that_does_not_want_to_end_is_closed_before_it_is_healed(stubborn: list[str]) -> None:
    """Nothing of it acts after its heal."""
    run = Watched(FakeCluster(), (pause(at_ns=0, for_ns=5 * S),), PLAN).run(20 * S)
    assert stubborn == ["closed", "healed"]
    assert run.row()["effect"] is None


def test_once_everything_is_healed_nobody_looks_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop that still waits, a condition that was never met: the end ends them, and each is told once."""
    cluster = FakeCluster()
    cluster.stop_takes_ns, cluster.answers = None, False
    events = (
        Event(at_ns=0, fault="stop", target="n2"),
        Event(at_ns=0, fault="elect", target="t/0"),
        pause(when=Condition(acked=1)),
    )
    run = Watched(cluster, events, PLAN).run(1 * S)
    run.nemesis.heal_all()
    assert [kind for kind, _, _ in run.told] == ["fires", "fires", "heals", "heals", "refused"]
    looks: list[int] = []
    monkeypatch.setattr(cluster, "observe", lambda: looks.append(cluster.time.now))
    run.run(60 * S)
    assert looks == []


def test_a_wait_ends_at_its_limit_and_not_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits need not be a multiple of the time between two looks."""
    ended: list[tuple[int, bool]] = []

    def inject(cluster: Cluster, targets: tuple[NodeId, ...], args: object) -> Steps[Fired]:
        met = yield Until(lambda state: False, 25 * MS)
        ended.append((cluster.time.now_ns(), met))
        return Fired(bit=None)

    monkeypatch.setitem(course.FAULTS_BY_NAME, "pause", Fault("pause", inject=inject))  # type: ignore[arg-type]
    Watched(FakeCluster(), (pause(at_ns=0),), PLAN).run(1 * S)
    assert ended == [(25 * MS, False)]


def drawn_events() -> Iterator[Event]:
    for at_s in range(1, 5):
        yield pause(at_ns=at_s * S, target="any-broker", for_ns=1 * S)
        yield Event(at_ns=at_s * S, fault="cut", args={"shape": "halves"}, for_ns=1 * S)


@given(st.sets(st.integers(0, 7)), st.integers(0, 2**32))
def test_deleting_events_moves_no_other_draw(deleted: set[int], seed: int) -> None:
    """So a schedule can be shrunk: what is left still hits the same nodes and links."""
    events = tuple(drawn_events())
    plan = Plan(tidemark=1, seed=seed)
    whole, left = FakeCluster(), FakeCluster()
    every = Watched(whole, events, plan).run(20 * S).nemesis.rows(0)
    some = Watched(left, tuple(event for i, event in enumerate(events) if i not in deleted), plan).run(20 * S).nemesis.rows(0)
    kept = [row["resolved"] for i, row in enumerate(every) if i not in deleted]
    assert [row["resolved"] for row in some] == kept
    assert set(left.calls) <= set(whole.calls)
