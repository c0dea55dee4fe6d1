"""Facts as checkers would find them, and the evidence that a story of damage leaves behind."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from checkers.found import Checked, Found
from checkers.run_evidence import RunEvidence
from model import evidence, history
from model.cluster import Damage
from model.damage_inputs import CommittedChange, ConfigChange, Happening, Registration, UncleanEnd, UncleanRequest, VoterHurt
from model.operation import Row
from model.plan import Nodes, Plan, Topic
from model.verdict import Witness
from tests.model.damage_stories import AT, Story

BEGAN_NS, ACKED_NS = 1, 2
"""The write of every example, before anything happens."""


# -- what was found -----------------------------------------------------------------------------------------------------


def fact(name: str, level: Any = "committed", *, to_ns: int = 10**6, count: int = 1, **columns: Any) -> Found:
    """`count` instances alike. A column that is given once is that of all of them; operations are counted on."""
    shape, ops = columns.pop("shape", "A≠F"), columns.pop("ops", (1, 2))
    given: dict[str, Any] = {"from_ns": BEGAN_NS, "to_ns": to_ns, "proof_ns": to_ns, **columns}
    at, rule = given.pop("at", AT), given.pop("rule", None)
    arrays = {key: value if isinstance(value, np.ndarray) else _filled(value, count) for key, value in given.items()}

    def tell(i: int) -> Witness:
        text = f"{name} {i}."
        return Witness(
            text=text,
            ops=tuple(op + i for op in ops),
            from_ns=int(arrays["from_ns"][i]),
            to_ns=int(arrays["to_ns"][i]),
            shape=shape,
        )

    return Found(name=name, level=level, at=at, tell=tell, rule=rule, **arrays)


def _filled(value: Any, count: int) -> Any:
    dtype = object if isinstance(value, str) else bool if isinstance(value, bool) else np.int64
    return np.full(count, value, dtype=dtype)


def lost(level: Any = "committed", **columns: Any) -> Found:
    """D3: write 2, at offset 1, is not in the final read, and nothing above it is."""
    given = {"offset": 1, "acked_ns": ACKED_NS, "loss_class": "suffix", "evidence": "final", "write_epoch": -1, **columns}
    return fact("lost_write", level, **given)


def checked(*found: Found, name: str = "log", **more: Any) -> Checked:
    return Checked(name=name, at=more.pop("at", AT), found=found, **more)


def looks(*several: Checked) -> Any:
    """A look at a history that finds this."""
    return lambda *_: list(several)


def nothing_wrong(*_: Any) -> list[Checked]:
    return [Checked(name="liveness", at=None)]


# -- the run it was found in --------------------------------------------------------------------------------------------


def operation(op: int, **columns: Any) -> Row:
    given: dict[str, Any] = dict.fromkeys(Row.__struct_fields__)
    given |= {"op": op, "process": op, "client": "raw-0", "type": "ok", "topic": AT[0], "partition": AT[1], "start_ns": op}
    return Row(**(given | {"took_ns": 1, "final": False} | columns))


ORDINARY = (
    operation(1, kind="append", acks=-1, value=1, offset=0),
    operation(2, kind="append", acks=1, value=2, offset=1),
    operation(3, kind="read", from_offset=0, values=[1], at_end=True),
)


def table_of(rows: Sequence[Row] = ORDINARY) -> pa.Table:
    return history.to_table(rows)


def run_of(story: Story | None = None, **more: Any) -> RunEvidence:
    """The run in which it happened: its plan and its tables."""
    story = Story() if story is None else story
    rows: dict[str, list[dict[str, Any]]] = {"events": [], "changes": [], "registrations": []}
    for happening in story.told:
        table, row = row_of(happening, len(rows["events"]))
        rows[table].append(row)
    given = {"run_id": "r/1", "plan": plan_of(story), "table": table_of(), "changes_complete": story.setting.changes_complete}
    return RunEvidence(**{**given, **rows, **more})


def plan_of(story: Story) -> Plan:
    setting = story.setting
    config: dict[str, object] = {
        "eligible.leader.replicas.version": int(setting.elr),
        "min.insync.replicas": setting.min_isr,
        "unclean.leader.election.enable": setting.unclean,
    }
    if setting.flush_each:
        config["log.flush.interval.messages"] = 1
    if setting.flush_interval_ns is not None:
        config["log.flush.interval.ms"] = setting.flush_interval_ns // 10**6
    topics = {AT[0]: Topic(replicas=setting.replicas)}
    return Plan(tidemark=1, nodes=Nodes(brokers=10, controllers=3), topics=topics, config=config)


def row_of(happening: Happening, event: int) -> tuple[str, dict[str, Any]]:
    if isinstance(happening, CommittedChange):
        return "changes", {"partition_epoch": 0, **msgspec.structs.asdict(happening)}
    if isinstance(happening, Registration):
        return "registrations", {**msgspec.structs.asdict(happening), "clean": None}
    row: dict[str, Any] = {**dict.fromkeys(evidence.SCHEMAS["events"].names), "event": event, "fired_ns": happening.at_ns}
    return "events", row | _fault(happening)


def _fault(happening: Happening) -> Mapping[str, Any]:
    if isinstance(happening, UncleanEnd):
        kept = (Damage(happening.node, *AT, "restart", dropped=0),)
        damage = None if happening.damage is None else [msgspec.structs.asdict(each) for each in happening.damage or kept]
        return {"fault": "lossy_kill" if happening.damage else "kill", "resolved": [happening.node], "damage": damage}
    if isinstance(happening, VoterHurt):
        damage = [{"node": happening.node, "topic": "__cluster_metadata", "partition": 0, "how": happening.how}]
        return {"fault": "wipe", "resolved": [happening.node], "damage": damage}
    if isinstance(happening, ConfigChange):
        return {"fault": "change_config", "args": json.dumps({"key": happening.key, "value": happening.value})}
    assert isinstance(happening, UncleanRequest)
    return {"fault": "elect", "args": json.dumps({"kind": "unclean"}), "target": f"{AT[0]}/{AT[1]}"}
