"""harness/shrink/trial.py: one trial: a plan, executed and judged, and nothing stored.

In     a plan with a written-out schedule; in a worker (harness/worker.py) the number of a file that has it
Out    an `Outcome`: signatures, what became of each event, the digest
Keeps  a plan that cannot be executed (its cluster does not come up) is an exception: whoever asked decides what that means
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.execute import verdict_of
from harness.run import Recorded, run
from harness.shrink.known import Fate, Outcome
from harness.worker import Work
from harness.worlds import schedule_of, world_of
from model import history
from model.plan import Plan, to_json
from model.plan_file import from_data
from model.schedule import Event, sides_of
from model.vocabulary import FAULTS
from nemesis.targets import partition_of


def tried(plan: Plan) -> Outcome:
    """The same for the same plan, whenever and wherever."""
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan))
    verdict = verdict_of("trial/0", plan, recorded, history.to_table(recorded.rows))
    fates = _fates(plan, recorded)
    return Outcome(valid=verdict.valid, signatures=verdict.signatures, fates=fates, digest=recorded.digest)


def _fates(plan: Plan, recorded: Recorded) -> tuple[Fate, ...]:
    return tuple(
        _fate(plan, event, row, recorded.changes) for event, row in zip(recorded.schedule, recorded.events, strict=False)
    )


def _fate(plan: Plan, event: Event, row: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]) -> Fate:
    if row["fired_ns"] is None:
        return Fate()
    args = json.loads(row["args"])
    nodes = [row["resolved"]] if FAULTS[event.fault].aim == "nodes" else []
    sides = tuple(tuple(side) for side in args.get("sides", nodes))
    at = _then(changes, _partition(plan, event), row["fired_ns"])
    return Fate(
        fired_ns=row["fired_ns"], effect=row["effect"], sides=sides, leader=at.get("leader"), isr=tuple(at.get("isr", ()))
    )


def _partition(plan: Plan, event: Event) -> tuple[str, int]:
    """That the event is aimed at; else the first."""
    names = [name for side in sides_of(event.target) for name in side] if event.target is not None else []
    written = next((name.partition("@")[2] for name in names if "@" in name), None)
    return partition_of(plan, written)


def _then(changes: Sequence[Mapping[str, Any]], of: tuple[str, int], at_ns: int) -> Mapping[str, Any]:
    """The last change of a partition until then."""
    own = [change for change in changes if (change["topic"], change["partition"]) == of]
    found = bisect_right([change["at_ns"] for change in own], at_ns)
    return own[found - 1] if found else {}


# -- in a worker --------------------------------------------------------------------------------------------------------------


class Trials(msgspec.Struct, frozen=True):
    """What a worker must know: where candidates lie."""

    directory: str


def hand_over(directory: Path, number: int, plan: Plan) -> None:
    (directory / f"{number}.json").write_bytes(to_json(plan))


def worker(setup: bytes) -> Work:
    """What runs in a worker process."""
    directory = Path(msgspec.json.decode(setup, type=Trials).directory)

    def work(number: int) -> bytes:
        data = msgspec.json.decode((directory / f"{number}.json").read_bytes())
        return msgspec.json.encode(tried(from_data(data, f"candidate {number}")))

    return work
