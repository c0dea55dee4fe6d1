"""The consumer workload over lists that answer: assignments, seeks, and polls that follow each other."""

from __future__ import annotations

from collections import Counter, defaultdict

from model.operation import Answer, Operation, Row
from tests.workloads.virtual import SECOND, Scene, planned
from workloads.consumer import ConsumerWorkload


def played(scene: Scene, for_ns: int) -> ConsumerWorkload:
    workload = ConsumerWorkload(scene.stage)
    workload.start()
    scene.time.advance(for_ns)
    return workload


def of_consumers(scene: Scene) -> dict[str, list[Row]]:
    """The rows of each, in order."""
    found = defaultdict(list)
    for row in sorted(scene.rows, key=lambda row: row.op):
        if row.client not in ("raw-0", "raw-3"):
            found[row.client].append(row)
    return found


def test_one_process_in_three_appends_and_the_others_consume() -> None:
    """At the rate of the plan, all together."""
    scene = Scene(planned(rate="500/s", processes=6, acks_of_processes=(-1, 1)))
    played(scene, 10 * SECOND)
    assert abs(len(scene.logs.asked) - 5_000) <= 250
    writers = {row.client: row.acks for row in scene.rows if row.kind == "append"}
    assert writers == {"raw-0": -1, "raw-3": 1}
    for rows in of_consumers(scene).values():
        kinds = Counter(row.kind for row in rows)
        assert set(kinds) == {"poll", "assign", "start_offset", "end_offset"}
        assert kinds["poll"] > 0.7 * len(rows)


def test_polls_of_a_session_follow_each_other() -> None:
    """A poll begins behind the last record of the one before, or where the session was begun."""
    scene = Scene(planned(rate="1000/s", processes=3, topics={"t": 3}))
    played(scene, 20 * SECOND)
    followed = 0
    for rows in of_consumers(scene).values():
        at: dict[int | None, int] = {}
        for row in rows:
            if row.kind == "assign":
                assert row.offset is not None
                at[row.partition] = row.offset
            if row.kind == "poll" and row.type == "ok":
                assert row.from_offset == at[row.partition]
                at[row.partition] += len(row.values or ())
                followed += 1
    assert followed > 5_000


def test_consumers_begin_everywhere_and_seek() -> None:
    """Assignments at the start, at the end and where they were; one partition or several; seeks back, forward and far beyond."""
    scene = Scene(planned(rate="1000/s", processes=3, topics={"t": 4}))
    played(scene, 30 * SECOND)
    back = forward = beyond = 0
    for rows in of_consumers(scene).values():
        at: dict[int | None, int] = {}
        for row in rows:
            if row.kind == "assign" and row.partition in at and row.offset is not None:
                back += row.offset < at[row.partition]
                forward += row.offset > at[row.partition]
            if row.kind == "assign" and row.offset is not None:
                at[row.partition] = row.offset
            if row.kind == "poll":
                beyond += row.error == "OFFSET_OUT_OF_RANGE"
        assert set(at) == {0, 1, 2, 3}
    assert min(back, forward, beyond) > 20
    assert any(row.kind == "assign" and row.offset == 0 for row in scene.rows)


def test_a_position_out_of_range_is_begun_anew() -> None:
    """At the start or at the end of the log, in a new session."""
    scene = Scene(planned(rate="500/s", processes=3))
    played(scene, 30 * SECOND)
    begun = 0
    for rows in of_consumers(scene).values():
        for i, row in enumerate(rows[:-2]):
            if row.error == "OFFSET_OUT_OF_RANGE":
                place, assign = rows[i + 1], rows[i + 2]
                assert (place.kind in ("start_offset", "end_offset"), assign.kind) == (True, "assign")
                assert assign.offset == place.offset
                assert (assign.session or 0) >= (row.session or 0) + 2
                begun += 1
    assert begun > 5


def test_a_place_that_is_not_told_is_asked_for_again() -> None:
    """Nothing is polled before the assignment is made."""
    scene = Scene(planned(rate="500/s", processes=2))

    def silent(asked: Operation) -> Answer | None:
        return Answer(fact="TIMED_OUT") if asked.kind in ("start_offset", "end_offset") else None

    scene.logs.answering = silent
    played(scene, 2 * SECOND)
    (rows,) = of_consumers(scene).values()
    assert {row.kind for row in rows} <= {"start_offset", "end_offset"}
    assert len(rows) > 300


def test_a_poll_that_failed_is_made_again_from_the_same_position() -> None:
    """Unless the position was the reason: in a new session, which the recorder numbers."""
    scene = Scene(planned(rate="500/s", processes=2))
    chance = scene.chance("answers")

    def sometimes(asked: Operation) -> Answer | None:
        return Answer(fact="NOT_LEADER_OR_FOLLOWER") if asked.kind == "poll" and chance.getrandbits(2) == 0 else None

    scene.logs.answering = sometimes
    played(scene, 10 * SECOND)
    (rows,) = of_consumers(scene).values()
    again = [(row, rows[i + 1]) for i, row in enumerate(rows[:-1]) if row.error == "NOT_LEADER_OR_FOLLOWER"]
    polled = [(row, later) for row, later in again if later.kind == "poll"]
    assert len(polled) > 100
    assert all((later.from_offset, later.session) == (row.from_offset, (row.session or 0) + 1) for row, later in polled)


def test_a_stop_leaves_nothing_behind() -> None:
    """The last polls are answered, and no more begin."""
    scene = Scene(planned(rate="1000/s"))
    workload = played(scene, SECOND)
    workload.stop()
    assert scene.time.run_until(lambda: workload.idle, SECOND)
    asked = len(scene.logs.asked)
    scene.time.advance(SECOND)
    assert len(scene.logs.asked) == asked
