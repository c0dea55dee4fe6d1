"""bench/made_up.py: a history that looks like a real one, made without a cluster: the same rows for the same seed, anywhere.

In   how many operations, a seed, the run's tag
Out  rows in the order in which they complete, as a recorder would hand them on
Like five clients with four slots each, most of them waiting for an answer, on three partitions whose leaders change. Half are
     appends, 40 % read ranges near the end of the log, 10 % ask for the end; 3 % end `info`, 3 % `fail`. About 2.9 values are
     read per operation. What takes effect does so between start and end, in another order than it was asked for.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Iterator
from itertools import count

import msgspec

from model.operation import Kind, Row, Type
from model.plan import Plan
from model.value import make_value

PLAN = Plan(tidemark=1, tag=1)

_CLIENTS, _SLOTS, _PARTITIONS, _NODES = 5, 20, 3, 3
_POLLER = 4  # the client that polls where the others read
_THINK_NS, _TOOK_NS, _PATIENCE_NS, _LEADS_NS = 1_000_000, 3_000_000, 100_000_000, 5_000_000_000
_BATCHED, _BATCH = 0.1, 3  # one append in ten brings a batch of three records
_KINDS: dict[Kind, float] = {"append": 50 / (1 + _BATCHED * (_BATCH - 1)), "read": 40, "end_offset": 10}
_BEHIND, _MAX_RECORDS = 21, 10  # how far before the end reads begin, and how much they ask for: together 2.9 values
_APPENDS_THAT_ARE_INFO, _FAILS = 0.06, 0.03  # half of all operations are appends, and only those can be info (CHECKERS 2.3)
_INFO_ERRORS = ("TIMED_OUT", "CONNECTION_LOST", "NOT_LEADER_OR_FOLLOWER")
_FAIL_ERRORS = ("NOT_SENT", "NOT_ENOUGH_REPLICAS")


class _Call(msgspec.Struct):
    """One request: its rows (more than one for a batch) and when it reaches the log."""

    rows: list[Row]
    effect_ns: int


class _Log(msgspec.Struct):
    """One partition: values and the leader epoch that each was written in."""

    values: list[int] = []
    epochs: list[int] = []


def made_up_rows(operations: int, seed: int = 1, tag: int = 1) -> list[Row]:
    """So many rows: first what is asked, in order of invocation, then the answers, in order of effect."""
    chance = random.Random(seed)
    calls: list[_Call] = []
    asked = 0
    for call in _requests(chance, tag):
        if asked >= operations:
            break
        calls.append(call)
        asked += len(call.rows)
    logs = [_Log() for _ in range(_PARTITIONS)]
    for call in sorted(calls, key=lambda call: call.effect_ns):
        for row in call.rows:
            _answer(row, call.effect_ns, logs[row.partition or 0], chance)
    rows = [row for call in calls for row in call.rows][:operations]
    for row in rows[-(operations // 100) :]:
        row.final = row.kind == "read"
    return sorted(rows, key=lambda row: row.start_ns + row.took_ns)


def _requests(chance: random.Random, tag: int) -> Iterator[_Call]:
    """What is asked, without end: each slot asks again once it was answered, after an `info` under a new process id."""
    waiting = [(int(chance.expovariate(1 / _THINK_NS)), slot) for slot in range(_SLOTS)]
    heapq.heapify(waiting)
    generations = [0] * _SLOTS
    written: Counter[int] = Counter()
    sequences: Counter[tuple[int, int | None]] = Counter()
    ops, batches = count(), count()
    while True:
        start_ns, slot = heapq.heappop(waiting)
        first = _request(chance, slot, generations[slot], start_ns)
        rows = [first]
        if first.kind == "append":
            if chance.random() < _BATCHED:
                first.batch = next(batches)
                rows += [msgspec.structs.replace(first) for _ in range(_BATCH - 1)]
            for row in rows:
                row.value = make_value(tag, row.process, written[row.process])
                written[row.process] += 1
                if row.idempotent:
                    row.sequence = sequences[row.process, row.partition]
                    sequences[row.process, row.partition] += 1
        for row in rows:
            row.op = next(ops)
        generations[slot] += first.type == "info"
        heapq.heappush(waiting, (start_ns + first.took_ns + int(chance.expovariate(1 / _THINK_NS)), slot))
        yield _Call(rows, start_ns + int(chance.random() * first.took_ns))


def _request(chance: random.Random, slot: int, generation: int, start_ns: int) -> Row:
    """One request and its fate; what was found is filled in when it takes effect."""
    client = slot % _CLIENTS
    kind = chance.choices(list(_KINDS), list(_KINDS.values()))[0]
    fate = _fate(chance, kind)
    row = Row(
        op=0,
        process=slot + _SLOTS * generation,
        client=f"raw-{client}",
        kind=kind,
        type=fate,
        topic="log",
        partition=chance.randrange(_PARTITIONS),
        start_ns=start_ns,
        took_ns=int(chance.expovariate(1 / _TOOK_NS)) + (_PATIENCE_NS if fate == "info" else 0),
    )
    if fate != "ok":
        row.error = chance.choice(_INFO_ERRORS if fate == "info" else _FAIL_ERRORS)
    if kind == "append":
        row.acks, row.attempts, row.idempotent = -1, 1 + (chance.random() < 0.05), client % 2 == 1
        if row.idempotent:
            row.producer_id, row.producer_epoch = 4_000 + row.process, 0
    elif kind == "read" and client == _POLLER:
        row.kind, row.session = "poll", 1 + generation
    return row


def _fate(chance: random.Random, kind: Kind) -> Type:
    drawn = chance.random()
    if drawn < _FAILS:
        return "fail"
    return "info" if kind == "append" and drawn < _FAILS + _APPENDS_THAT_ARE_INFO else "ok"


def _answer(row: Row, effect_ns: int, log: _Log, chance: random.Random) -> None:
    """What the partition's leader of that moment does and says. Half of the appends that end `info` did happen."""
    leader_epoch = effect_ns // _LEADS_NS
    if row.type == "ok":
        row.node = 1 + ((row.partition or 0) + leader_epoch) % _NODES
    if row.kind in ("read", "poll"):
        _read(row, leader_epoch, log, chance)
    elif row.kind == "end_offset" and row.type == "ok":
        row.offset, row.leader_epoch = len(log.values), leader_epoch
    elif row.value is not None and (row.type == "ok" or (row.type == "info" and chance.random() < 0.5)):
        row.offset = len(log.values) if row.type == "ok" else None
        log.values.append(row.value)
        log.epochs.append(leader_epoch)


def _read(row: Row, leader_epoch: int, log: _Log, chance: random.Random) -> None:
    """A range near the end. A poll says the offset of each value; a read only where it began."""
    end = len(log.values)
    row.from_offset = max(0, end - chance.randint(0, _BEHIND))
    row.max_records = _MAX_RECORDS if row.kind == "read" else None
    if row.type != "ok":
        return
    until = min(end, row.from_offset + _MAX_RECORDS)
    row.values = tuple(log.values[row.from_offset : until])
    row.epochs = tuple(log.epochs[row.from_offset : until])
    if row.kind == "poll":
        row.offsets = tuple(range(row.from_offset, until))
    else:
        row.at_end, row.leader_epoch = until == end, leader_epoch
