"""replication/mutants.py: the rules of BUGS got wrong on purpose, each a mixin that answers one question differently (DESIGN 2).

In     names, as a plan writes them: B11, or B28b where a bug can be got wrong in several ways; without its letter, all of them
Out    `Rules` with these answers; the names in a node's properties, from `tidemark.mutants`
Keeps  nothing else is wrong: every other question is answered by the right rules. Nothing in replication/ asks which is on
Not    which faults bring a mutant to light, and what is then seen (BUGS "Signs and switches"; tests/replication/test_mutants.py)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replication.errors import Error
from replication.image import BrokerRegistration
from replication.messages import EpochEndOffset, FetchedPartition
from replication.rules import Rules
from replication.rules.elections import ElectionRules
from replication.rules.fetch import FetchRules
from replication.rules.isr import IsrRules
from replication.rules.leadership import LeadershipRules
from replication.rules.produce import ProduceRules
from replication.rules.read import ReadRules
from replication.state import Epochs, Follower, Leadership, PendingChange

PROPERTY = "tidemark.mutants"

# -- truncation and log divergence --------------------------------------------------------------------------------------------


class CutsToItsOwnHw(LeadershipRules):
    """B01 A follower cuts to the high watermark it remembers before it has asked its leader (KIP-101, KAFKA-1211).

    Its HW lags by a fetch, so the cut takes records that are committed; lost once it is elected before it has fetched them again.
    """

    def truncation_before_fetching(self, epochs: Epochs, hw: int, leo: int) -> int | None:
        return hw if hw < leo else None


class CountsBeforeItJudges(FetchRules):
    """B09 A fetch moves what the leader knows of its follower before it is judged (KAFKA-13141, KAFKA-8400).

    A follower whose tail diverges counts as holding the leader's records at those offsets: what it is about to cut is promised.
    """

    def counts(self, told: FetchedPartition | None) -> bool:
        return told is None or told.diverging_epoch is not None or told.error_code is Error.OFFSET_OUT_OF_RANGE


# -- ISR and high watermark ---------------------------------------------------------------------------------------------------


class JoinsAtTheHw(IsrRules):
    """B11 A follower joins the ISR at the leader's high watermark, wherever the leader's epoch starts (KAFKA-7128).

    A new leader's HW is behind what its predecessor acknowledged; a follower that lags as much is elected and has lost it.
    """

    def may_join_isr(self, leader: Leadership, follower: Follower, hw: int, registration: BrokerRegistration | None) -> bool:
        return (
            leader.pending is None
            and follower.broker_id not in leader.isr
            and follower.leo >= hw
            and self.is_eligible(follower, registration)
        )


class ShrinksAtOnce(IsrRules):
    """B13 A member that the leader wants out is not waited for any more, although the controllers have not agreed (KIP-497).

    They may elect it: what the leader acknowledged meanwhile is lost.
    """

    def maximal_isr(self, isr: Sequence[int], pending: PendingChange | None) -> frozenset[int]:
        return frozenset(isr if pending is None else pending.new_isr)


class NeverEmptiesTheElr(ElectionRules):
    """B23 The ELR only grows: who is in it stays when min ISR members are in sync again (KIP-966, KAFKA-16540).

    The HW has moved on without them; one of them is elected "cleanly" when the ISR is gone, and has nothing of it.
    """

    def empties_elr(self, isr_size: int, min_isr: int) -> bool:
        return False


# -- produce, consume, sessions -----------------------------------------------------------------------------------------------


class AcksAtAppend(ProduceRules):
    """B28a acks=all is answered once the leader has appended, as acks=1 is.

    What the leader alone has is lost with it.
    """

    def waits_for_hw(self, acks: int, known_copy: bool) -> bool:
        return False


class MinIsrCopiesAreEnough(IsrRules):
    """B28b The high watermark passes what min ISR replicas have, whoever they are, instead of what the whole ISR has.

    The controllers may elect the member that was not waited for.
    """

    def hw_candidate(self, own_end: int, counting: Sequence[int], min_isr: int) -> int:
        ends = sorted((own_end, *counting), reverse=True)
        return ends[min(min_isr, len(ends)) - 1]


class AcksTooEarly(MinIsrCopiesAreEnough, AcksAtAppend):
    """B28 acks=all is answered at append, and the high watermark needs no more than min ISR copies.

    Acknowledged and readable records are lost with the few that have them.
    """


class ReadsAboveTheHw(ReadRules):
    """B32 Clients read to the end of the leader's log.

    What is above the high watermark was promised to nobody: after the next election it is gone, or another record is there.
    """

    def readable_end(self, from_replica: bool, hw: int, leo: int) -> int:
        return leo


class TellsAnyHw(ReadRules):
    """B33 A new leader tells its high watermark as the end of the log before it has passed the start of its epoch (KIP-207,
    KAFKA-2334).

    Its predecessor had told a later end: clients see the log's end go backwards.
    """

    def latest_offset(self, from_replica: bool, hw: int, leo: int, leso: int) -> int | Error:
        return leo if from_replica else hw


class AcceptsAnyEpoch(FetchRules):
    """B35 Whoever fetches is served, whatever epochs it names: its own, or that of the last record it has (KIP-320, KAFKA-6880).

    A leader or follower of the past is never told so. What it wrote meanwhile stays in its log, under what the others have.
    """

    def check_leader_epoch(self, asked: int, own: int) -> Error | None:
        return None

    def judge_divergence(
        self, epochs: Epochs, leo: int, last_fetched_epoch: int, fetch_offset: int
    ) -> EpochEndOffset | Error | None:
        return None


class ElectsAnybody(ElectionRules):
    """B36 Who is outside ISR and ELR is elected although the topic does not allow it (KIP-106).

    Everything that was committed without it is lost.
    """

    def may_elect_uncleanly(self, allowed: bool) -> bool:
        return True


MUTANTS: Mapping[str, type] = {
    "B01": CutsToItsOwnHw,
    "B09": CountsBeforeItJudges,
    "B11": JoinsAtTheHw,
    "B13": ShrinksAtOnce,
    "B23": NeverEmptiesTheElr,
    "B28": AcksTooEarly,
    "B28a": AcksAtAppend,
    "B28b": MinIsrCopiesAreEnough,
    "B32": ReadsAboveTheHw,
    "B33": TellsAnyHw,
    "B35": AcceptsAnyEpoch,
    "B36": ElectsAnybody,
}
"""By the names of model/vocabulary.py."""


def questions_of(mutant: type) -> frozenset[str]:
    """What a mutant answers itself: the names of rules."""
    rules = [name for name in dir(Rules) if not name.startswith("__")]
    return frozenset(name for name in rules if getattr(mutant, name, None) not in (None, getattr(Rules, name)))


def rules_with(names: Sequence[str]) -> Rules:
    """The right rules but for these mutants. Raises ValueError for an unknown one, and for two that answer one question."""
    answers: dict[str, Any] = {}
    given_by: dict[str, str] = {}
    for name in names:
        if name not in MUTANTS:
            raise ValueError(f"no such mutant: {name!r}")
        for question in sorted(questions_of(MUTANTS[name])):
            if question in answers:
                raise ValueError(f"{given_by[question]} and {name} answer the same question, {question}")
            answers[question], given_by[question] = getattr(MUTANTS[name], question), name
    mutated: type[Rules] = type("Mutated", (Rules,), answers) if names else Rules
    return mutated()


def names_in(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Which are switched on in a node's properties."""
    return tuple(name.strip() for name in properties.get(PROPERTY, "").split(",") if name.strip())
