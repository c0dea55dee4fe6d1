"""The workloads in simulated clusters under random faults, with the right rules: what they claim to do happens, and nothing that
must not.

What is asserted is read from the rows by hand, without the checkers. Only faults that leave the disks alone: beyond them PROTOCOL
allows losses.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import count, islice, pairwise

import msgspec
import pytest

from harness.run import Recorded, run
from harness.worlds import schedule_of, world_of
from model.cluster import TopicPartition
from model.operation import Row
from model.plan import Plan, Sizes, Workload
from model.plan_file import from_data
from model.quantity import parse_rate
from tests.clusters.sim.random_plans import random_plan

RUNS = 30
SECONDS = 10
ON_DISKS = {"lossy_kill", "wipe", "lose_unsynced", "tear", "rot"}
SEQUENCES = 2**31


def plans(name: str, first_seed: int, **more: object) -> Iterator[Plan]:
    for seed in count(first_seed):
        plan = random_plan(seed, SECONDS)
        workload = Workload(
            name=name,
            processes=6,
            rate=parse_rate("100/s"),
            acks=plan.workload.acks,
            value_size=Sizes(8, 200),
            spread=("even", "hot")[seed % 2],
        )
        plan = msgspec.structs.replace(plan, workload=msgspec.structs.replace(workload, **more))
        schedule = schedule_of(plan)
        unclean = any(event.args.get("kind") == "unclean" for event in schedule)
        if not unclean and ON_DISKS.isdisjoint(event.fault for event in schedule):
            yield msgspec.structs.replace(plan, schedule=schedule)


def executed(plan: Plan) -> Recorded:
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan))
    assert ([str(each) for each in recorded.violations], recorded.crashed) == ([], ())
    return recorded


def final_logs(rows: Sequence[Row]) -> dict[TopicPartition, dict[int, int]]:
    """What the final read found: by offset, the values."""
    logs: dict[TopicPartition, dict[int, int]] = defaultdict(dict)
    for row in rows:
        if row.final and row.kind == "read" and row.values:
            assert row.topic is not None
            assert row.partition is not None
            first = row.base_offset if row.base_offset is not None else row.from_offset or 0
            logs[row.topic, row.partition].update(zip(row.offsets or count(first), row.values, strict=False))
    return logs


def appends_of(rows: Sequence[Row]) -> dict[int, Row]:
    return {row.value: row for row in rows if row.kind == "append" and row.value is not None}


# -- idempotent producers -----------------------------------------------------------------------------------------------


def check_producers(recorded: Recorded) -> None:
    """Every value is there at most once, none that failed; the records of one producer and epoch follow each other, and what was
    acknowledged by all is there."""
    appends = appends_of(recorded.rows)
    found: set[int] = set()
    for where, log in final_logs(recorded.rows).items():
        last: dict[tuple[int | None, int | None], int] = {}
        for _, value in sorted(log.items()):
            row = appends[value]
            assert value not in found
            assert ((row.topic, row.partition), row.type) in ((where, "ok"), (where, "info"))
            producer, sequence = (row.producer_id, row.producer_epoch), row.sequence or 0
            assert sequence == (last.get(producer, sequence - 1) + 1) % SEQUENCES
            last[producer] = sequence
            found.add(value)
    if recorded.read_to_the_end:
        assert {row.value for row in appends.values() if row.type == "ok" and row.acks == -1} <= found


def producers_did(rows: Sequence[Row]) -> Counter[str]:
    appends = sorted(appends_of(rows).values(), key=lambda row: row.op)
    did: Counter[str] = Counter(row.kind for row in rows)
    did["resent"] = sum((row.attempts or 0) > 1 for row in appends)
    did["resent and acknowledged"] = sum((row.attempts or 0) > 1 and row.type == "ok" for row in appends)
    did["of several records"] = sum(row.batch is not None for row in appends)
    did["epochs"] = len({(row.producer_id, row.producer_epoch) for row in appends if row.producer_epoch})
    did["ids"] = len({row.producer_id for row in appends})
    by_process, by_line = defaultdict(list), defaultdict(list)
    for row in appends:
        by_process[row.process].append(row)
        by_line[row.producer_id, row.producer_epoch, row.partition].append(row.sequence or 0)
    did["wraps"] = sum(later < earlier for line in by_line.values() for earlier, later in pairwise(line))
    for own in by_process.values():
        requests = [row for i, row in enumerate(own) if i == 0 or row.batch is None or row.batch != own[i - 1].batch]
        did["in flight together"] += sum(b.start_ns < a.start_ns + a.took_ns for a, b in pairwise(requests))
    return did


def test_idempotent_producers_neither_duplicate_nor_reorder() -> None:
    """Thirty runs with random faults; and everything that the workload is there for happens in them."""
    did: Counter[str] = Counter()
    for plan in islice(plans("idempotent", 1), RUNS):
        recorded = executed(plan)
        check_producers(recorded)
        did += producers_did(recorded.rows)
    for claim in ("resent", "resent and acknowledged", "epochs", "wraps", "in flight together", "of several records", "read"):
        assert did[claim] > RUNS, claim
    assert did["ids"] > 4 * RUNS  # more than there are producers


def test_idempotent_producers_with_mixed_acks_five_in_flight() -> None:
    """As many as a broker remembers; the leader's word alone is not enough, and may be lost without a copy or a gap."""
    more = {"acks": -1, "acks_of_processes": (-1, 1), "in_flight": 5, "batch": 2}
    for plan in islice(plans("idempotent", 500, **more), RUNS // 3):
        recorded = executed(plan)
        assert {row.acks for row in recorded.rows if row.kind == "append"} == {-1, 1}
        check_producers(recorded)


# -- consumers ----------------------------------------------------------------------------------------------------------


def check_consumers(recorded: Recorded) -> Counter[str]:
    """Inside a session the offsets of one partition ascend without a gap, from the assignment on where it began the session."""
    did: Counter[str] = Counter()
    at: dict[tuple[str, int | None], tuple[int | None, int | None]] = {}
    for row in sorted(recorded.rows, key=lambda row: row.op):
        if row.kind not in ("poll", "assign"):
            continue
        consumer = row.client, row.partition
        session, position = at.get(consumer, (None, None))
        if row.kind == "assign":
            did["assignments of a partition it has" if consumer in at else "new assignments"] += 1
            did["seeks back"] += position is not None and row.offset is not None and row.offset < position
            at[consumer] = row.session, row.offset
        elif row.type != "ok":
            did[f"polls with {row.error}"] += 1
        else:
            assert row.at_end is None
            first = row.from_offset if row.base_offset is None else row.base_offset
            if row.session == session:
                assert first == position
                did["polls that follow"] += 1
            at[consumer] = row.session, (first or 0) + len(row.values or ())
            did["polls of several records"] += len(row.values or ()) > 1
    return did


def test_consumers_see_every_log_in_order() -> None:
    """Thirty runs with random faults; with tailing, seeks, new assignments and positions out of range in them."""
    did: Counter[str] = Counter()
    for plan in islice(plans("consumer", 2_000), RUNS):
        did += check_consumers(executed(plan))
    for claim in ("new assignments", "assignments of a partition it has", "seeks back", "polls with OFFSET_OUT_OF_RANGE"):
        assert did[claim] > RUNS, claim
    assert did["polls that follow"] > 100 * RUNS
    assert did["polls of several records"] > RUNS


# -- sent twice ---------------------------------------------------------------------------------------------------------


def gates(*waits: tuple[str, str]) -> list[dict[str, object]]:
    """Produces on their way between clients and brokers, one second after the other."""
    return [
        {
            "at": f"{at}s",
            "fault": "gate",
            "target": ["clients", "brokers"],
            "for": "800ms",
            "args": {"message": "Produce", "action": action, "streams": streams},
        }
        for at, (action, streams) in enumerate(waits, 1)
    ]


STORM = [
    *gates(("repeat", "requests"), ("drop", "answers"), ("drop", "requests"), ("hold", "requests"), ("repeat", "requests")),
    {"at": "2500ms", "fault": "kill", "target": "leader", "for": "1s"},
    {"at": "4500ms", "fault": "kill", "target": "leader@t/1", "for": "1s"},
    {"at": "5500ms", "fault": "pause", "target": "leader", "for": "2s"},
    {"at": "9s", "fault": "elect", "target": "t/0"},
]


@pytest.mark.parametrize("in_flight", [1, 3, 5])
def test_copies_of_requests_are_not_copies_of_records(in_flight: int) -> None:
    """Produces come twice, never, late; their answers vanish; leaders move meanwhile."""
    resent = 0
    for seed in range(5):
        data = {
            "tidemark": 1,
            "seed": seed,
            "for": "10s",
            "topics": {"t": {"partitions": 2, "config": {"min.insync.replicas": 2}}},
            "workload": {"name": "idempotent", "rate": "200/s", "in_flight": in_flight},
            "schedule": STORM,
        }
        recorded = executed(from_data(data, "storm"))
        check_producers(recorded)
        resent += producers_did(recorded.rows)["resent and acknowledged"]
    assert resent > 100
