"""model/damage_tables.py: the stored tables of a run, told to a ledger of damage (CHECKERS 1.7, 1.8, 6.1).

In     rows of events, changes and registrations as plain mappings; the plan
Out    happenings in order of time, and a ledger that was told them
Keeps  at equal times: settings, ends, changes, registrations. So a change that was committed at the moment of an end finds the
       node down, and a commit that takes the old process out comes before the registration of the new one (P 3.6)
Room   the table of events says when a fault fired and when it healed, not when it took effect in between. A change of config may
       therefore be in force at any moment from its firing on, and again for SETTLES_NS after it was asked back; a restart loop
       ends its process every time its interval is over
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from model.cluster import Damage, TopicPartition
from model.damage import DamageLedger, ledger_told
from model.damage_inputs import (
    CommittedChange,
    ConfigChange,
    Happening,
    PartitionSetting,
    Registration,
    UncleanEnd,
    UncleanRequest,
    partition_setting,
)
from model.evidence import arguments_of
from model.plan import Plan
from model.quantity import parse_duration
from model.vocabulary import FAULTS

Row = Mapping[str, Any]
Rows = Iterable[Row]

SETTLES_NS = 20 * 10**9
"""After a change of config was asked back: it is asked again for so long while the answers are errors."""
_RANKS: Mapping[type, int] = {ConfigChange: 0, UncleanRequest: 0, UncleanEnd: 1, CommittedChange: 2, Registration: 3}


def ledger_of(plan: Plan, events: Rows, changes: Rows, registrations: Rows, *, complete: bool) -> DamageLedger:
    """Everything that is known of a run's damage. `complete`: the metadata of the table of changes says `record=complete`."""
    return ledger_told(told_in(plan, events, changes, registrations), partition_settings(plan, complete), voters(plan))


def partition_settings(plan: Plan, complete: bool) -> dict[TopicPartition, PartitionSetting]:
    """Of every partition that the plan names."""
    return {
        (name, index): partition_setting(plan, name, changes_complete=complete)
        for name, topic in plan.topics.items()
        for index in range(topic.partitions)
    }


def voters(plan: Plan) -> tuple[int, ...]:
    return plan.nodes.controller_ids


def told_in(plan: Plan, events: Rows, changes: Rows, registrations: Rows) -> list[Happening]:
    """In the order in which a ledger takes them."""
    told: list[Any] = [change_of(row) for row in changes]
    told += [Registration(row["at_ns"], row["node"], row["broker_epoch"]) for row in registrations]
    told += [end for row in registrations for end in unclean_return(row)]
    last_ns = max((one.at_ns for one in told), default=0)
    for row in events:
        if row["fired_ns"] is not None:
            told += _happened(plan, row, last_ns)
    return sorted(told, key=lambda one: (one.at_ns, _RANKS[type(one)]))


def unclean_return(row: Row) -> tuple[UncleanEnd, ...]:
    """Who comes back as an unclean one loses its place in ISR and ELR, also where nothing was lost and nothing killed it.

    One that stopped in good order before it had ever registered leaves no mark that anybody believes (P 4.5). It was so before it
    was told, and so before whatever the same commit repairs.
    """
    return (UncleanEnd(row["at_ns"] - 1, row["node"]),) if row["clean"] is False else ()


def change_of(row: Row) -> CommittedChange:
    """A row of `changes`. Of a sampled one less may be known."""
    return CommittedChange(
        at_ns=row["at_ns"],
        topic=row["topic"],
        partition=row["partition"],
        leader=row["leader"],
        leader_epoch=row["leader_epoch"],
        replicas=tuple(row["replicas"] or ()),
        isr=tuple(row["isr"] or ()),
        isr_epochs=tuple(row["isr_epochs"] or ()),
        elr=tuple(row["elr"] or ()),
        last_known=row["last_known"],
        election=row["election"] or "none",
        epoch_start=row["epoch_start"],
    )


# -- events -------------------------------------------------------------------------------------------------------------


def _happened(plan: Plan, row: Row, last_ns: int) -> Iterator[Happening]:
    args = arguments_of(row)
    if row["fault"] == "change_config":
        yield from _config_changes(row, args)
    elif row["fault"] == "elect" and args.get("kind") == "unclean":
        yield UncleanRequest(row["fired_ns"], *_partition_of(plan, row.get("target")))
    elif row["fault"] == "restart_loop":
        yield from _loop(row, args, last_ns)
    else:
        yield from _ends(row)


def _config_changes(row: Row, args: Mapping[str, Any]) -> Iterator[ConfigChange]:
    """Until it heals, nobody who reads this table knows since when it was in force."""
    fired_ns, healed_ns = row["fired_ns"], row.get("healed_ns")
    key, topic = str(args["key"]), args.get("topic")
    unsettled_ns = None if healed_ns is None else healed_ns - fired_ns
    yield ConfigChange(at_ns=fired_ns, key=key, value=_spelled(args["value"]), topic=topic, unsettled_ns=unsettled_ns)
    if healed_ns is not None:
        old = None if args.get("old") is None else _spelled(args["old"])
        yield ConfigChange(at_ns=healed_ns, key=key, value=old, topic=topic, unsettled_ns=SETTLES_NS)


def _ends(row: Row) -> Iterator[UncleanEnd]:
    """Nodes whose damage is told. Where the table has none at all, each node that was concerned: an exit keeps its page cache,
    of a process that a fault ended without telling what it cost nothing is known."""
    rows = row.get("damage")
    if rows is not None:
        for node, damage in _by_node(rows).items():
            yield UncleanEnd(row["fired_ns"], node, damage)
    elif row["fault"] == "exit" or _hurts_disks(row["fault"]):
        for node in row.get("resolved") or ():
            yield UncleanEnd(row["fired_ns"], node, () if row["fault"] in ("exit", "kill") else None)


def _loop(row: Row, args: Mapping[str, Any], last_ns: int) -> Iterator[UncleanEnd]:
    """Its table of damage names every round's replicas, but not the rounds."""
    written = args.get("every")
    every_ns = FAULTS["restart_loop"].args["every"].default if written is None else parse_duration(str(written))
    ended_ns = max(last_ns, row["fired_ns"]) + 1 if row.get("healed_ns") is None else row["healed_ns"]
    nodes = tuple(_by_node(row.get("damage") or ())) or tuple(row.get("resolved") or ())
    for at_ns in range(row["fired_ns"], max(ended_ns, row["fired_ns"] + 1), every_ns):
        for node in nodes:
            yield UncleanEnd(at_ns, node)


def _by_node(rows: Rows) -> dict[int, tuple[Damage, ...]]:
    found: dict[int, tuple[Damage, ...]] = {}
    for row in rows:
        found[row["node"]] = (*found.get(row["node"], ()), Damage(**row))
    return found


def _hurts_disks(fault: str) -> bool:
    """It ends its targets, and is known by its name alone: `kill`, `lossy_kill`, `wipe`, ..."""
    known = FAULTS.get(fault)
    return known is not None and any(need.value == "kill" for need in known.needs)


def _partition_of(plan: Plan, target: str | None) -> TopicPartition:
    """`t/0`; without it, the plan's first partition."""
    if not target:
        return next(iter(plan.topics)), 0
    topic, _, number = target.rpartition("/")
    return topic, int(number)


def _spelled(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
