"""tests/checkers/living.py: small runs about progress, in seconds: appends that come back or do not, faults, the ISR."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from checkers.run_evidence import RunEvidence
from model.history import to_table
from model.operation import Row
from model.plan import Judge, Plan, Workload
from model.seen import Seen

S = 10**9
R, G = 40, 5

EventRow = Mapping[str, Any]


def plan_of(**changes: Any) -> Plan:
    judge = Judge(recovery_ns=R * S, gap_ns=G * S)
    plan = Plan(tidemark=1, for_ns=10 * S, judge=judge, workload=Workload(processes=2), schedule="none")
    return msgspec.structs.replace(plan, **changes)


def row(op: int, kind: Any, start: float, end: float, error: str | None = None, **columns: Any) -> Row:
    """Of process `op`, unless it is said: whoever ended `info` never acts again."""
    outcome: Any = "ok" if error is None else "fail" if kind != "append" or error == "NOT_ENOUGH_REPLICAS" else "info"
    given = {"process": op, "client": "raw-0", "topic": "t", "partition": 0, **columns}
    return Row(op=op, kind=kind, type=outcome, error=error, start_ns=int(start * S), took_ns=int((end - start) * S), **given)


def append(op: int, start: float, end: float, error: str | None = None, **columns: Any) -> Row:
    given = {"value": op, "offset": op if error is None else None, "acks": -1, "attempts": 1, **columns}
    return row(op, "append", start, end, error, **given)


def appends(first: int, from_s: float, to_s: float, error: str | None = None, every: float = 1, **columns: Any) -> list[Row]:
    """One after the other, each open for half of its time; the last has ended by `to_s`."""
    count = int((to_s - from_s) / every)
    starts = [from_s + i * every for i in range(count)]
    return [append(first + i, start, start + every / 2, error, **columns) for i, start in enumerate(starts)]


def event(fault: str, fired: float, healed: float | None, nodes: Iterable[int] = (1,), **more: Any) -> EventRow:
    """`args` as a mapping; `damage` as the table has it."""
    args = json.dumps(more.pop("args", {}))
    fired_ns, healed_ns = int(fired * S), None if healed is None else int(healed * S)
    given = {"damage": [], "resolved": list(nodes), "target": None, "refused": None, "effect": True, **more}
    return {"event": 0, "at_ns": fired_ns, "fault": fault, "args": args, "fired_ns": fired_ns, "healed_ns": healed_ns, **given}


def cut(fired: float, healed: float | None, *sides: Iterable[int]) -> EventRow:
    """Between two sides; one side alone is isolated."""
    written = [list(side) for side in sides]
    return event("cut", fired, healed, sorted({node for side in written for node in side}), args={"sides": written})


def change(at: float, isr: Iterable[int], leader: int | None = 1, replicas: Iterable[int] = (1, 2, 3), **more: Any) -> EventRow:
    return {
        "at_ns": int(at * S),
        "topic": "t",
        "partition": 0,
        "leader": leader,
        "leader_epoch": 0,
        "partition_epoch": 0,
        "replicas": list(replicas),
        "isr": list(isr),
        "elr": [],
        "isr_epochs": [],
        "last_known": None,
        "election": "none",
        "epoch_start": None,
        **more,
    }


def registration(at: float, node: int) -> EventRow:
    return {"at_ns": int(at * S), "node": node, "broker_epoch": int(at * S), "clean": True}


def evidence(rows: Iterable[Row], *events: EventRow, plan: Plan | None = None, **more: Any) -> RunEvidence:
    """Whose ISR was always complete, unless `changes` says otherwise."""
    given = {"changes": [change(-5, (1, 2, 3))], "seen": Seen(), **more}
    return RunEvidence(run_id="r/1", plan=plan or plan_of(), table=to_table(list(rows)), events=events, **given)
