"""The log workload over lists that answer: what it asks, how often, in which phases."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.operation import Answer, Row
from model.plan import Phase, Sizes
from model.schedule import Condition
from tests.workloads.virtual import MS, SECOND, LateTime, Scene, planned
from workloads.answers import end_as_told, end_of_read
from workloads.log import LogWorkload


def played(scene: Scene, for_ns: int) -> LogWorkload:
    workload = LogWorkload(scene.stage)
    workload.start()
    scene.time.advance(for_ns)
    return workload


def acks_of(scene: Scene) -> list[int | None]:
    return [each.acks for each in scene.logs.operations("append")]


@pytest.mark.parametrize(("rate", "processes"), [("50/s", 5), ("600/m", 1), ("200/s", 7)])
def test_all_processes_together_keep_the_rate(rate: str, processes: int) -> None:
    """The plan's rate is that of requests, whatever the number of processes, within five percent over a long run."""
    scene = Scene(planned(rate=rate, processes=processes), latency_ns=1_000)
    played(scene, 100 * SECOND)
    wanted = {"50/s": 5_000, "600/m": 1_000, "200/s": 20_000}[rate]
    assert abs(len(scene.logs.asked) - wanted) <= wanted * 0.05


def test_late_ticks_do_not_slow_the_workload_down() -> None:
    """The next tick is counted from when this one was due: a machine that is always 3 ms late still makes 100 a second."""
    scene = Scene(planned(rate="100/s", processes=1), latency_ns=0, time=LateTime())
    played(scene, 100 * SECOND)
    assert 9_500 < len(scene.logs.asked) < 10_500


def test_processes_tick_on_schedules_of_their_own() -> None:
    """Requests do not come in volleys: hardly two begin in the same millisecond, and gaps differ."""
    scene = Scene(planned(rate="50/s", processes=5))
    played(scene, 10 * SECOND)
    times = [at_ns // MS for at_ns, _ in scene.logs.asked]
    assert len(set(times)) > 0.9 * len(times)
    assert len({later - earlier for earlier, later in pairwise(times)}) > 20


def test_about_sixty_percent_append_and_the_rest_looks() -> None:
    """Appends, reads and end offsets come in their shares; some appends share a request."""
    scene = Scene(planned(rate="1000/s", processes=5))
    played(scene, 10 * SECOND)
    kinds = Counter(batch[0].kind for _, batch in scene.logs.asked)
    requests = len(scene.logs.asked)
    assert 0.55 < kinds["append"] / requests < 0.65
    assert 0.25 < kinds["read"] / requests < 0.35
    assert 0.07 < kinds["end_offset"] / requests < 0.13
    assert {len(batch) for _, batch in scene.logs.asked} == {1, 2, 3, 4}


def test_every_partition_of_every_topic_is_used() -> None:
    """The partition of a request is drawn from all of them, each as likely."""
    scene = Scene(planned(rate="1000/s", topics={"b": 2, "a": 1}))
    played(scene, 10 * SECOND)
    found = Counter((batch[0].topic, batch[0].partition) for _, batch in scene.logs.asked)
    assert sorted(found) == [("a", 0), ("b", 0), ("b", 1)]
    assert min(found.values()) > 0.3 * sum(found.values())


def test_reads_begin_near_the_known_end_at_0_and_beyond() -> None:
    """A process reads what it has learned of: mostly recent offsets, sometimes all from 0, sometimes what is not there yet."""
    scene = Scene(planned(rate="1000/s", processes=1))
    played(scene, 10 * SECOND)
    reads = [row for row in scene.rows if row.kind == "read"][-1_000:]
    recent = [row for row in reads if row.type == "ok" and row.from_offset and row.from_offset > 1_000]
    assert 700 < len(recent) < 900
    assert all(row.from_offset == 0 or (row.from_offset or 0) > 1_000 for row in reads)
    assert 60 < sum(row.from_offset == 0 for row in reads) < 150
    assert 60 < sum(row.error == "OFFSET_OUT_OF_RANGE" for row in reads) < 150
    assert {row.at_end for row in recent} == {True, False}


def test_a_slow_answer_makes_its_process_wait_and_nobody_else() -> None:
    """A tick that finds its process busy passes: requests never pile up."""
    scene = Scene(planned(rate="1000/s", processes=4), latency_ns=100 * MS)
    played(scene, 10 * SECOND)
    requests = len(scene.logs.asked)
    assert 350 < requests <= 400  # four processes, a request each per 100 ms and a bit


def test_a_failed_append_is_never_sent_again() -> None:
    """The workload does not retry: no value is asked for twice, whatever the answer was, and the next tick writes another."""
    scene = Scene(planned(rate="500/s"))
    scene.logs.answering = lambda asked: Answer(fact="NOT_SENT") if (asked.value or 0) % 3 == 0 else None
    played(scene, 5 * SECOND)
    values = [each.value for each in scene.logs.operations("append")]
    assert len(set(values)) == len(values) > 1_000
    assert {row.type for row in scene.rows if row.kind == "append"} == {"ok", "fail"}


def test_stopping_ends_ticks_and_leaves_the_open_ones_to_end() -> None:
    """After `stop` nothing begins; `idle` says when the last answer has come."""
    scene = Scene(planned(rate="1000/s"), latency_ns=50 * MS)
    workload = played(scene, SECOND)
    workload.stop()
    asked, last_ns = len(scene.logs.asked), scene.logs.asked[-1][0]
    assert scene.time.run_until(lambda: workload.idle, SECOND)
    assert scene.time.now_ns() == last_ns + 50 * MS > SECOND
    scene.time.advance(SECOND)
    assert len(scene.logs.asked) == asked


@given(st.integers(0, 2**40), st.integers(1, 6), st.sampled_from([MS, 7 * MS, 40 * MS]))
def test_the_same_seed_asks_the_same(seed: int, processes: int, latency_ns: int) -> None:
    """Seed and answers decide every operation and its time; another seed gives other ones."""

    def rows(seed: int) -> list[Row]:
        scene = Scene(planned(seed=seed, processes=processes, rate="300/s", topics={"t": 2}), latency_ns=latency_ns)
        played(scene, SECOND)
        return scene.rows

    assert rows(seed) == rows(seed) != rows(seed + 1)


def test_a_slower_cluster_moves_no_tick() -> None:
    """When ticks come is drawn from a stream of its own: with slow answers requests are left out, none is moved."""

    def times(latency_ns: int) -> set[int]:
        scene = Scene(planned(rate="200/s", processes=2), latency_ns=latency_ns)
        played(scene, 5 * SECOND)
        return {at_ns for at_ns, _ in scene.logs.asked}

    assert times(30 * MS) < times(1)


# -- what an append carries ---------------------------------------------------------------------------------------------


def test_batches_values_and_partitions_are_as_the_plan_says() -> None:
    """Up to so many records, each of a size in the range; a hot partition gets four in five requests."""
    scene = Scene(planned(rate="1000/s", topics={"a": 1, "b": 2}, batch=9, value_size=Sizes(20, 24), spread="hot"))
    played(scene, 10 * SECOND)
    assert {len(batch) for _, batch in scene.logs.asked} == set(range(1, 10))
    assert {each.size for each in scene.logs.operations("append")} == {20, 21, 22, 23, 24}
    assert {each.size for each in scene.logs.operations("read")} == {24}
    where = Counter((batch[0].topic, batch[0].partition) for _, batch in scene.logs.asked)
    assert 0.78 < where["a", 0] / sum(where.values()) < 0.82
    assert set(where) == {("a", 0), ("b", 0), ("b", 1)}


def test_a_batch_of_one_is_never_more() -> None:
    """And a lone partition is not hotter than itself."""
    scene = Scene(planned(rate="1000/s", batch=1, spread="hot"))
    played(scene, 5 * SECOND)
    assert {len(batch) for _, batch in scene.logs.asked} == {1}


def test_acks_are_dealt_out_to_the_processes() -> None:
    """In turn; a phase with acks of its own overrides them."""
    phases = Phase(write=30, acks=0), Phase(write=200)
    scene = Scene(planned(rate="1000/s", processes=5, acks_of_processes=(-1, 1), phases=phases))
    played(scene, 5 * SECOND)
    rows = sorted((row for row in scene.rows if row.kind == "append"), key=lambda row: row.op)
    assert {row.acks for row in rows[:30]} == {0}
    found = {(row.client, row.acks) for row in rows[30:]}
    assert found == {("raw-0", -1), ("raw-1", 1), ("raw-2", -1), ("raw-3", 1), ("raw-4", -1)}


# -- phases -------------------------------------------------------------------------------------------------------------


def test_phases_that_count_follow_each_other_with_their_acks() -> None:
    """So many appends each, with the phase's acks or the plan's; then none, while reads go on."""
    phases = Phase(write=50), Phase(write=30, acks=1), Phase(write=7, acks=0)
    scene = Scene(planned(rate="500/s", acks=-1, phases=phases))
    played(scene, 5 * SECOND)
    assert acks_of(scene) == [-1] * 50 + [1] * 30 + [0] * 7
    assert sum(at_ns > 4 * SECOND for at_ns, _ in scene.logs.asked) > 450
    assert {batch[0].kind for at_ns, batch in scene.logs.asked if at_ns > 4 * SECOND} == {"read", "end_offset"}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.integers(1, 6), st.booleans())
def test_a_phase_begins_when_the_one_before_it_is_answered(writes: list[int], processes: int, refuse: bool) -> None:
    """Whatever the answers: each phase makes exactly its number of appends, and none before all earlier ones have ended."""
    phases = tuple(Phase(write=number, acks=i % 2) for i, number in enumerate(writes))
    scene = Scene(planned(rate="1000/s", processes=processes, phases=phases), latency_ns=3 * MS)
    scene.logs.answering = lambda asked: Answer(fact="TIMED_OUT") if refuse and asked.kind == "append" else None
    played(scene, 2 * SECOND)
    rows = sorted((row for row in scene.rows if row.kind == "append"), key=lambda row: row.op)
    assert [row.acks for row in rows] == [i % 2 for i, number in enumerate(writes) for _ in range(number)]
    at = 0
    for number in writes:
        before, after = rows[:at], rows[at:]
        assert max((row.start_ns + row.took_ns for row in before), default=-1) <= min(row.start_ns for row in after)
        at += number


def test_a_phase_with_a_condition_lasts_until_it_is_met() -> None:
    """Appends go on without a count; within 10 ms of the condition's first moment the next phase has begun."""
    condition = Condition(leaderless=True)
    scene = Scene(planned(rate="2000/s", acks=1, phases=(Phase(until=condition), Phase(write=20, acks=-1))))
    scene.holds = lambda asked: asked is condition and scene.time.now_ns() >= 2 * SECOND
    played(scene, 4 * SECOND)
    assert acks_of(scene)[-21:] == [1] + [-1] * 20
    last = max(at_ns for at_ns, batch in scene.logs.asked if batch[0].acks == 1)
    assert 2 * SECOND - 10 * MS < last <= 2 * SECOND + 10 * MS


def test_a_condition_does_not_wait_for_open_appends() -> None:
    """Its moment may pass: the next phase begins though appends of the last are open, and their answers count for neither."""
    phases = Phase(until=Condition(leaderless=True)), Phase(write=3, acks=0), Phase(write=2, acks=1)
    scene = Scene(planned(rate="1000/s", processes=4, phases=phases), latency_ns=200 * MS)
    scene.holds = lambda condition: scene.time.now_ns() >= 100 * MS
    scene.logs.answering = lambda asked: Answer(fact="NOT_SENT") if asked.acks == 1 else None
    played(scene, 5 * SECOND)
    acks = acks_of(scene)
    assert acks[-5:] == [0, 0, 0, 1, 1]
    assert set(acks[:-5]) == {-1}


def test_a_condition_that_holds_at_once_makes_its_phase_empty() -> None:
    """Nothing is appended in a phase that is over before it begins."""
    phases = Phase(until=Condition(acked=1), acks=0), Phase(write=5, acks=1)
    scene = Scene(planned(rate="500/s", phases=phases))
    scene.holds = lambda condition: True
    played(scene, SECOND)
    assert acks_of(scene) == [1] * 5


def test_conditions_are_not_asked_after_the_stop() -> None:
    """A stopped workload leaves nothing behind that polls for ever."""
    scene = Scene(planned(phases=(Phase(until=Condition(leaderless=True)),)))
    asked: list[Condition] = []

    def never(condition: Condition) -> bool:
        asked.append(condition)
        return False

    scene.holds = never
    workload = played(scene, SECOND)
    assert len(asked) == 101
    workload.stop()
    scene.time.advance(SECOND)
    assert len(asked) == 101


# -- what answers tell --------------------------------------------------------------------------------------------------


def row(kind: str, **columns: object) -> Row:
    return Row(**{"op": 0, "process": 0, "client": "raw-0", "kind": kind, "type": "ok", "start_ns": 0, "took_ns": 0, **columns})  # type: ignore[arg-type]


def test_the_end_of_a_read_is_behind_its_last_record() -> None:
    """Dense answers count from their base, or else from the offset asked for; others name every offset."""
    assert end_of_read(row("read", from_offset=3, values=(7, 8))) == 5
    assert end_of_read(row("read", from_offset=3, base_offset=4, values=(7, 8))) == 6
    assert end_of_read(row("read", from_offset=3, offsets=(4, 9), values=(7, 8))) == 10
    assert end_of_read(row("read", from_offset=3, values=())) is None


def test_the_latest_answer_says_where_the_log_ends() -> None:
    """A log may shrink, so an answer about its end counts even when it is lower; a read cut short proves only a least end."""
    assert end_as_told(row("append", offset=4), 9) == 5
    assert end_as_told(row("end_offset", offset=4), 9) == 4
    assert end_as_told(row("read", from_offset=3, values=(7,), at_end=True), 9) == 4
    assert end_as_told(row("read", from_offset=3, values=(7,), at_end=False), 9) == 9
    assert end_as_told(row("read", from_offset=9, values=(7,), at_end=False), 9) == 10
    assert end_as_told(row("end_offset", type="fail", error="TIMED_OUT"), 9) == 9
    assert end_as_told(row("append", type="info", error="TIMED_OUT"), 9) == 9
