"""The final read over lists that answer, and over some that do not for a while (CHECKERS 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.operation import Answer, Operation, Row
from model.plan import Sizes
from tests.workloads.virtual import MS, SECOND, Scene, planned
from workloads.final_read import Expected, FinalRead

LIMIT_NS = 60 * SECOND


def scene_of(*lengths: int, first_offset: int = 0, processes: int = 2) -> Scene:
    """One topic, a partition for each length, filled with values."""
    scene = Scene(planned(processes=processes, topics={"t": len(lengths)}), first_offset=first_offset)
    for partition, length in enumerate(lengths):
        scene.logs.log("t", partition).extend(1_000_000 * partition + i for i in range(length))
    return scene


def read_out(scene: Scene) -> FinalRead:
    final = FinalRead(scene.stage)
    final.start()
    assert scene.time.run_until(lambda: final.done, LIMIT_NS)
    return final


def rows_of(scene: Scene, partition: int) -> list[Row]:
    return sorted((row for row in scene.rows if row.partition == partition), key=lambda row: row.op)


def covered(rows: list[Row]) -> list[int]:
    """The values that the ok reads returned, checked to be without gap from one to the next."""
    values: list[int] = []
    position = None
    for row in rows:
        if row.kind == "read" and row.type == "ok" and row.values:
            assert position in (None, row.base_offset)
            values += row.values
            position = (row.base_offset or 0) + len(row.values)
    return values


def script(*answers: Answer | None) -> Callable[[Operation], Answer | None]:
    """These answers first, in turn; None, and whatever comes behind them, is the truth."""
    waiting: Iterator[Answer | None] = iter(answers)
    return lambda asked: next(waiting, None)


@given(
    st.lists(st.integers(0, 1_700), min_size=1, max_size=5),
    st.integers(1, 4),
    st.sampled_from([0, 7, 1_000]),
    st.lists(st.sampled_from(["NOT_SENT", "OFFSET_NOT_AVAILABLE", "TIMED_OUT", None]), max_size=30),
)
def test_everything_is_read_whatever_fails_on_the_way(
    lengths: list[int], processes: int, first_offset: int, facts: list[str | None]
) -> None:
    """Every partition is read whole, from its start to its end, by `final` operations, the last of them at the end."""
    scene = scene_of(*lengths, first_offset=first_offset, processes=processes)
    scene.logs.answering = script(*(None if fact is None else Answer(fact=fact) for fact in facts))
    final = read_out(scene)
    assert final.complete == {("t", i): True for i in range(len(lengths))}
    assert final.idle
    assert all(row.final for row in scene.rows)
    for partition in range(len(lengths)):
        rows = rows_of(scene, partition)
        assert covered(rows) == scene.logs.log("t", partition)
        assert (rows[-1].kind, rows[-1].at_end) == ("read", True)


@pytest.mark.parametrize("first_offset", [0, 12])
def test_an_empty_log_takes_one_read(first_offset: int) -> None:
    """Start, end, end again, then one read at the end that returns nothing and says so."""
    scene = scene_of(0, first_offset=first_offset)
    read_out(scene)
    assert [row.kind for row in scene.rows] == ["start_offset", "end_offset", "end_offset", "read"]
    assert (scene.rows[-1].from_offset, scene.rows[-1].values, scene.rows[-1].at_end) == (first_offset, (), True)


def test_reads_take_five_hundred_at_a_time() -> None:
    """A long log comes in chunks, each from where the last one ended."""
    scene = scene_of(1_200, first_offset=100)
    read_out(scene)
    reads = [(row.from_offset, len(row.values or ())) for row in scene.rows if row.kind == "read"]
    assert reads == [(100, 500), (600, 500), (1_100, 200)]


def test_reads_leave_room_for_the_largest_values() -> None:
    """Five hundred records are asked for as what they may weigh, or a long log of large values would take for ever."""
    scene = Scene(planned(value_size=Sizes(8, 4_096)))
    read_out(scene)
    assert {each.size for each in scene.logs.operations("read")} == {4_096}


def test_a_failure_is_asked_again_after_50_ms() -> None:
    """The failed rows are recorded as well, and the next attempt comes 50 ms behind them."""
    scene = scene_of(3)
    scene.logs.answering = script(Answer(fact="NOT_SENT"), None, None, None, Answer(fact="TIMED_OUT"))
    read_out(scene)
    assert [(row.kind, row.type) for row in scene.rows] == [
        ("start_offset", "fail"),
        ("start_offset", "ok"),
        ("end_offset", "ok"),
        ("end_offset", "ok"),
        ("read", "fail"),
        ("read", "ok"),
    ]
    starts = [row.start_ns // MS for row in scene.rows]
    assert starts == [0, 51, 52, 53, 54, 105]


def test_the_end_must_be_told_twice_alike_without_a_failure_between() -> None:
    """An end that moves, or that could not be told again, is no end yet."""
    ends = [4, 5, 5]
    scene = scene_of(5)
    scene.logs.answering = script(None, *(Answer(fact="SUCCESS", offset=end) for end in ends))
    read_out(scene)
    assert [row.offset for row in scene.rows if row.kind == "end_offset"] == [4, 5, 5]

    scene = scene_of(5)
    scene.logs.answering = script(None, None, Answer(fact="OFFSET_NOT_AVAILABLE"))
    read_out(scene)
    assert [row.offset for row in scene.rows if row.kind == "end_offset"] == [5, None, 5, 5]


def test_a_log_that_grew_is_read_to_its_new_end() -> None:
    """A write whose fate was open may still arrive: complete is only what ended at the end."""
    scene = scene_of(500)

    def grow(asked: Operation) -> None:
        if asked.kind == "read" and asked.from_offset == 0:
            scene.logs.log("t", 0).extend((1, 2, 3))

    scene.logs.answering = grow
    read_out(scene)
    assert [len(row.values or ()) for row in scene.rows if row.kind == "read"] == [500, 3]


def test_a_log_that_was_cut_off_meanwhile_has_another_end() -> None:
    """A tail that is lost between the end offset and the read is told by a new end offset; the read does not wait for it."""
    scene = scene_of(10)

    def cut(asked: Operation) -> None:
        if asked.kind == "read":
            del scene.logs.log("t", 0)[6:]

    scene.logs.answering = cut
    read_out(scene)
    assert [row.offset for row in scene.rows if row.kind == "end_offset"] == [10, 10, 6, 6]
    assert covered(scene.rows) == list(range(6))


def test_a_start_that_moved_is_asked_for_again() -> None:
    """OFFSET_OUT_OF_RANGE says that the position is gone: the partition is begun anew."""
    scene = scene_of(10)
    moved: list[Operation] = []

    def move(asked: Operation) -> None:
        if asked.kind == "read" and not moved:
            moved.append(asked)
            scene.logs.first_offset = 4
            del scene.logs.log("t", 0)[:4]

    scene.logs.answering = move
    read_out(scene)
    assert [row.offset for row in scene.rows if row.kind == "start_offset"] == [0, 4]
    assert covered(scene.rows) == [4, 5, 6, 7, 8, 9]


def test_partitions_are_read_at_once_by_several_processes() -> None:
    """Each process has its own partitions: one that does not answer keeps only its own process waiting."""
    scene = scene_of(3, 3, 3, 3, processes=2)
    scene.logs.answering = lambda asked: Answer(fact="NOT_SENT") if asked.partition == 0 else None
    final = FinalRead(scene.stage)
    final.start()
    scene.time.advance(SECOND)
    assert final.complete == {("t", 0): False, ("t", 1): True, ("t", 2): False, ("t", 3): True}
    assert not final.done


@pytest.mark.parametrize("fact", ["NOT_SENT", "SUCCESS"])
def test_it_gives_up_when_stopped_while_asking(fact: str) -> None:
    """After `stop` the open request ends, whatever comes back nothing is asked behind it, and the rest stays incomplete."""
    scene = scene_of(3, processes=1)
    scene.logs.answering = lambda asked: Answer(fact=fact, offset=3)
    final = FinalRead(scene.stage)
    final.start()
    final.stop()
    assert not final.idle
    scene.time.advance(SECOND)
    assert (final.idle, final.done, len(scene.logs.asked)) == (True, False, 1)


def test_it_gives_up_when_stopped_while_waiting() -> None:
    """Between two attempts it is idle, and after `stop` it stays so."""
    scene = scene_of(3, processes=1)
    scene.logs.answering = lambda asked: Answer(fact="NOT_SENT")
    final = FinalRead(scene.stage)
    final.start()
    scene.time.advance(10 * MS)
    assert final.idle
    final.stop()
    scene.time.advance(SECOND)
    assert (final.idle, final.done, len(scene.logs.asked)) == (True, False, 1)


def test_more_processes_than_partitions_leave_some_idle() -> None:
    """A process without a partition asks for nothing."""
    scene = scene_of(2, processes=5)
    read_out(scene)
    assert {row.client for row in scene.rows} == {"raw-0"}


# -- what was acknowledged and cannot be read yet --------------------------------------------------------------------------------


def read_out_expecting(scene: Scene, end: int, until_ns: int) -> list[int | None]:
    """The ends that were told until it was read."""
    final = FinalRead(scene.stage, Expected({("t", 0): end}, until_ns))
    final.start()
    assert scene.time.run_until(lambda: final.done, LIMIT_NS)
    return [row.offset for row in scene.rows if row.kind == "end_offset"]


def told_late(*ends: int) -> Callable[[Operation], Answer | None]:
    """The high watermark is behind for so many answers."""
    waiting = list(ends)
    return lambda asked: Answer(fact="SUCCESS", offset=waiting.pop(0)) if asked.kind == "end_offset" and waiting else None


def test_an_end_below_what_was_acknowledged_is_asked_for_again() -> None:
    """What the leader alone has is readable when the others have it: here 100 ms later."""
    scene = scene_of(9, processes=1)
    scene.logs.answering = told_late(7, 7)
    assert read_out_expecting(scene, end=9, until_ns=SECOND) == [7, 7, 9, 9]
    assert covered(rows_of(scene, 0)) == scene.logs.log("t", 0)


def test_but_only_until_nobody_is_that_slow() -> None:
    """What is lost does not come back: the log is read as it is."""
    scene = scene_of(7, processes=1)
    ends = read_out_expecting(scene, end=9, until_ns=SECOND)
    assert set(ends) == {7}
    assert SECOND // (50 * MS) <= len(ends) <= SECOND // (50 * MS) + 3
    assert covered(rows_of(scene, 0)) == scene.logs.log("t", 0)
