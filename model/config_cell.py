"""model/config_cell.py: which runs stand in the same cell of a matrix, and what a cell is called.

In     a plan
Out    `cell_of`: a name that two plans share when they differ in nothing but seed, tag, mutants and what the swarm drew;
       `facts_of`: the few settings that people group by, as words and numbers
Why    runs of two nights are compared cell by cell; a mutant is no cell of its own, because what it breaks is new in the old one
"""

from __future__ import annotations

import hashlib
import json

import msgspec

from model.damage_inputs import partition_setting
from model.plan import Plan, to_data

DIGITS = 8
_NOT_OF_THE_CELL = ("seed", "tag", "mutants", "drawn")


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Of a plan's first topic, as everything that names no topic."""

    system: str
    version: str
    cluster: str
    brokers: int
    controllers: int
    replicas: int
    partitions: int
    min_isr: int
    acks: str
    unclean: bool
    elr: bool
    flush: str
    workload: str
    faults: str


def cell_of(plan: Plan) -> str:
    """Eight hex digits."""
    if plan.drawn:
        plan = msgspec.structs.replace(plan, schedule="swarm")
    data = {key: value for key, value in to_data(plan).items() if key not in _NOT_OF_THE_CELL}
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:DIGITS]


def facts_of(plan: Plan, version: str) -> Facts:
    """`version`: of Tidemark, which is that of its own system."""
    name, topic = next(iter(plan.topics.items()))
    setting = partition_setting(plan, name)
    workload = plan.workload
    acks = [_acks(each) for each in workload.acks_of_processes or (workload.acks,)]
    return Facts(
        system=plan.system,
        version=plan.version or version,
        cluster=plan.cluster,
        brokers=plan.nodes.brokers,
        controllers=plan.nodes.controllers,
        replicas=topic.replicas,
        partitions=topic.partitions,
        min_isr=setting.min_isr,
        acks=" ".join(dict.fromkeys(acks)),
        unclean=setting.unclean,
        elr=setting.elr,
        flush="each" if setting.flush_each else "never" if setting.flush_interval_ns is None else "interval",
        workload=workload.name,
        faults=_faults(plan),
    )


def _acks(acks: int) -> str:
    return "all" if acks == -1 else str(acks)


def _faults(plan: Plan) -> str:
    """What could go wrong: the families that the swarm draws from, or that somebody wrote a schedule."""
    if plan.drawn or plan.schedule == "swarm":
        return "all" if plan.faults == "all" else " ".join(plan.faults)
    return "written" if isinstance(plan.schedule, tuple) and plan.schedule else "none"


def words_of(facts: Facts) -> str:
    """`RF 3, min ISR 2, acks all, unclean off, ELR on, flush never, faults all`: what a cell is called."""
    switched = {True: "on", False: "off"}
    return (
        f"RF {facts.replicas}, min ISR {facts.min_isr}, acks {facts.acks}, unclean {switched[facts.unclean]}, "
        f"ELR {switched[facts.elr]}, flush {facts.flush}, faults {facts.faults}, {facts.workload}"
    )
