"""The idempotent workload over lists that answer: who produces, in which bursts, under which ids."""

from __future__ import annotations

from collections import Counter, defaultdict

from model.operation import Answer, Operation, Row
from model.plan import Phase
from tests.workloads.virtual import MS, SECOND, Scene, planned
from workloads.idempotent import IdempotentWorkload
from workloads.lane import SEQUENCES


def played(scene: Scene, for_ns: int) -> IdempotentWorkload:
    workload = IdempotentWorkload(scene.stage)
    workload.start()
    scene.time.advance(for_ns)
    return workload


def appends(scene: Scene) -> list[Row]:
    return sorted((row for row in scene.rows if row.kind == "append"), key=lambda row: row.op)


def number_of(row: Row) -> int:
    """Of the process."""
    return int(row.client.removeprefix("raw-"))


def test_all_processes_together_keep_the_rate() -> None:
    """A burst counts as its requests."""
    scene = Scene(planned(rate="50/s", processes=6), latency_ns=1_000)
    played(scene, 100 * SECOND)
    assert abs(len(scene.logs.asked) - 5_000) <= 250


def test_two_of_three_processes_produce_and_all_look() -> None:
    """The third only reads and asks for ends; a producer looks where nothing is open."""
    scene = Scene(planned(rate="1000/s", processes=6))
    played(scene, 10 * SECOND)
    assert {number_of(row) for row in scene.rows if row.kind in ("append", "init")} == {0, 1, 3, 4}
    assert {number_of(row) for row in scene.rows if row.kind == "read"} == set(range(6))
    kinds = Counter(row.kind for row in scene.rows if number_of(row) in (0, 1, 3, 4))
    assert min(kinds["read"], kinds["end_offset"]) > 100
    assert {row.idempotent for row in appends(scene)} == {True}


def test_batches_of_every_size_are_in_flight_together() -> None:
    """As many as the plan allows, never more; each with as many records as it allows."""
    scene = Scene(planned(rate="500/s", processes=1, in_flight=4, batch=3), latency_ns=20 * MS)
    played(scene, 20 * SECOND)
    sent = [at_ns for at_ns, batch in scene.logs.asked if batch[0].kind == "append"]
    together = Counter(sum(at_ns - 20 * MS < each <= at_ns for each in sent) for at_ns in sent)
    assert set(together) == {1, 2, 3, 4}
    assert {len(batch) for _, batch in scene.logs.asked if batch[0].kind == "append"} == {1, 2, 3}


def test_sequences_go_on_within_each_partition_and_half_of_the_ids_wrap() -> None:
    """A producer id has one sequence per partition and epoch, beginning at 0 or shortly before 2^31."""
    scene = Scene(planned(rate="1000/s", processes=2, topics={"t": 2}))
    played(scene, 30 * SECOND)
    lines = defaultdict(list)
    for row in appends(scene):
        lines[row.producer_id, row.producer_epoch, row.partition].append(row.sequence or 0)
    for first, *rest in lines.values():
        assert rest == [(first + i) % SEQUENCES for i in range(1, len(rest) + 1)]
    starts = [line[0] for (_, epoch, _), line in lines.items() if epoch == 0]
    near = [start for start in starts if start]
    assert 0.3 < len(near) / len(starts) < 0.7
    assert min(near) >= SEQUENCES - 30
    assert sum(0 in line[1:] for line in lines.values()) > 10
    raised = {(producer, epoch) for producer, epoch, _ in lines if epoch}
    assert len(raised) > 10
    assert all(line[0] == 0 for (_, epoch, _), line in lines.items() if epoch)


def test_producers_come_and_go() -> None:
    """A process takes a new id now and then, when nothing is open; every id is of one process."""
    scene = Scene(planned(rate="1000/s", processes=2))
    played(scene, 15 * SECOND)
    inits = [row for row in scene.rows if row.kind == "init"]
    assert len(inits) > 10
    owners = defaultdict(set)
    for row in appends(scene):
        owners[row.producer_id].add(number_of(row))
    assert all(len(each) == 1 for each in owners.values())


def test_without_a_producer_id_nothing_is_appended() -> None:
    """It is asked for again with every tick that would append."""
    scene = Scene(planned(rate="100/s", processes=1))
    scene.logs.answering = lambda asked: Answer(fact="COORDINATOR_LOAD_IN_PROGRESS") if asked.kind == "init" else None
    played(scene, 5 * SECOND)
    assert sum(row.kind == "init" for row in scene.rows) > 300
    assert appends(scene) == []


def test_a_batch_that_gets_no_answer_comes_again_with_its_sequence_and_its_values() -> None:
    """One row, several attempts."""
    scene = Scene(planned(rate="100/s", processes=1))
    chance = scene.chance("answers")

    def sometimes(asked: Operation) -> Answer | None:
        first = asked.kind == "append" and chance.getrandbits(2) == 0
        return Answer(fact="TIMED_OUT") if first else None

    scene.logs.answering = sometimes
    played(scene, 20 * SECOND)
    sent = defaultdict(set)
    for asked in scene.logs.operations("append"):
        sent[asked.value].add((asked.producer_id, asked.producer_epoch, asked.sequence))
    assert all(len(numbers) == 1 for numbers in sent.values())
    assert sum((row.attempts or 0) > 1 for row in appends(scene)) > 50


def test_a_stop_leaves_nothing_behind() -> None:
    """Not even where nobody answers: nothing is sent again, and the workload comes to rest."""
    scene = Scene(planned(rate="1000/s"))
    scene.logs.answering = lambda asked: Answer(fact="TIMED_OUT") if asked.kind == "append" else None
    workload = played(scene, SECOND)
    workload.stop()
    assert scene.time.run_until(lambda: workload.idle, 10 * MS)
    asked = len(scene.logs.asked)
    scene.time.advance(20 * SECOND)
    assert len(scene.logs.asked) == asked


def test_phases_and_acks_are_the_plans() -> None:
    """As in the log workload: so many appends, each phase with its own acks or those that were dealt out."""
    phases = Phase(write=40, acks=1), Phase(write=30)
    scene = Scene(planned(rate="500/s", processes=3, phases=phases, acks_of_processes=(-1, 1)))
    played(scene, 20 * SECOND)
    rows = appends(scene)
    assert [row.acks for row in rows[:40]] == [1] * 40
    assert {(number_of(row), row.acks) for row in rows[40:]} == {(0, -1), (1, 1)}
    assert len(rows) == 70


def test_the_same_seed_asks_the_same() -> None:
    """Seed and answers decide every operation and its time."""

    def rows(seed: int) -> list[Row]:
        scene = Scene(planned(seed=seed, rate="300/s", topics={"t": 2}))
        played(scene, 2 * SECOND)
        return scene.rows

    assert rows(3) == rows(3) != rows(4)
