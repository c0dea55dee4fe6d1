"""tests/acceptance/by_history.py: random runs of every kind, judged by their histories alone: nobody looks into the nodes.

In     a number; a mutant, or none
Out    `Judged`: what was forbidden and seen, what was allowed and seen, and under which signature
Keeps  number i is the same world for every mutant: topology, config, workload and faults are drawn from a campaign's seed of i,
       and every combination of acks, min ISR, unclean elections and ELR comes once in 24 numbers
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from harness.execute import verdict_of
from harness.run import run
from harness.worlds import schedule_of, world_of, written_out
from model import history
from model.chance import pick, stream
from model.identity import run_seed
from model.plan import Judge, Plan
from model.verdict import Anomaly, Verdict
from tests.clusters.sim.random_plans import random_plan

CAMPAIGN_SEED = 8
CELLS = tuple(itertools.product((-1, 1, 0), (2, 1), (False, True), (1, 0)))
"""acks, min ISR, unclean elections, ELR."""
NOT_OF_THE_HISTORY = ("crash", "convergence", "invariant")


class Judged(msgspec.Struct, frozen=True):
    """One run."""

    number: int
    valid: str
    reasons: tuple[str, ...]
    forbidden: tuple[tuple[str, str, str], ...]
    """Name, signature and witness of what the history shows and no promise allows."""
    allowed: tuple[tuple[str, str], ...]
    """Rule and name."""
    inside: tuple[str, ...]
    """What only the run loop saw: a crash, a cluster that did not come back."""


def the_default_plan(number: int, mutant: str | None = None) -> Plan:
    """What `tidemark run` does by itself."""
    return _hidden(Plan(tidemark=1, seed=run_seed(CAMPAIGN_SEED, number), tag=number), mutant)


def _hidden(plan: Plan, mutant: str | None) -> Plan:
    """Nobody looks into the nodes."""
    mutants = () if mutant is None else (mutant,)
    return written_out(msgspec.structs.replace(plan, mutants=mutants, judge=Judge(on_violation="off")))


def any_plan(number: int, mutant: str | None = None) -> Plan:
    """Of one number, the same with every mutant."""
    seed = run_seed(CAMPAIGN_SEED, number)
    acks, min_isr, unclean, elr = CELLS[number % len(CELLS)]
    chance = stream(seed, "any plan")
    plan = random_plan(seed)
    (topic,) = plan.topics.values()
    config = {"min.insync.replicas": min_isr, "unclean.leader.election.enable": unclean}
    names = ("log", "log", "log", "idempotent", "consumer") if acks else ("log", "log", "consumer")
    whole = msgspec.structs.replace(
        plan,
        tag=number,
        topics={"t": msgspec.structs.replace(topic, config=config)},
        config={**plan.config, "eligible.leader.replicas.version": elr},
        workload=msgspec.structs.replace(plan.workload, name=pick(chance, names), acks=acks),
    )
    return _hidden(whole, mutant)


def judged(number: int, mutant: str | None = None) -> Judged:
    """Of plans of every kind."""
    return judged_of(number, any_plan(number, mutant))


def hunted(number: int, mutant: str | None = None) -> Judged:
    """Of the default plan and, for every second number, plans of every kind."""
    return judged_of(number, any_plan(number, mutant) if number % 2 else the_default_plan(number, mutant))


def judged_of(number: int, plan: Plan) -> Judged:
    recorded = run(plan, schedule_of(plan), world_of(plan).make(plan))
    verdict = verdict_of(f"any/{number}", plan, recorded, history.to_table(recorded.rows))
    return Judged(
        number,
        verdict.valid,
        verdict.reasons,
        tuple(_told(verdict)),
        tuple((each.rule or "", each.name) for each in _anomalies(verdict) if each.cell == "allowed"),
        tuple(each.name for each in _anomalies(verdict, of_the_history=False) if each.cell == "forbidden"),
    )


def _told(verdict: Verdict) -> Iterator[tuple[str, str, str]]:
    from checkers.signature import signature

    for each in _anomalies(verdict):
        if each.cell == "forbidden":
            yield each.name, signature(each), each.witnesses[0].text if each.witnesses else ""


def _anomalies(verdict: Verdict, *, of_the_history: bool = True) -> Iterator[Anomaly]:
    for result in verdict.checkers:
        if result.name.startswith(NOT_OF_THE_HISTORY) is not of_the_history:
            yield from result.anomalies
