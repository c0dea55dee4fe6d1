"""model/promise_level.py: what is still promised of committed records, decided by the first row that matches (CHECKERS 6.3).

In     `Facts`: what happened to one partition in one window, in numbers
Out    the row, and its cell: forbidden, allowed, not judged
Keeps  it is a table: no history, no memory. One method per question, so that a wrong row is a subclass with one other answer
Not    how the facts are found (model/damage.py), the bounds of an allowed loss (the same), acks=1 (checkers/promises.py)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from model.verdict import Promised

Rule = Literal["Q1", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9"]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """One partition in one window. Everything here only ever grows worse as a window grows longer."""

    min_isr: int
    """m: the least that was ever asked for, or left by a reassignment."""
    elr: bool = True
    changes_complete: bool = True
    most_damaged: int = 0
    """D: the most replicas that were damaged at one moment."""
    lost: int = 0
    """l: how many of the damaged replicas lost records."""
    sole_lost: bool = False
    """A replica that lost records was the whole ISR at a moment between its crash and its repair."""
    rotten: bool = False
    """A replica in scope has changed bytes, or lacks synced ones: nothing that recovery looks at would tell."""
    unclean_elections: int = 0
    last_known_elections: int = 0
    unclean_permitted: bool = False
    """The topic's setting, or an operator."""
    min_isr_changed: bool = False
    voters: int = 0
    voters_wiped: int = 0
    voters_rotten: int = 0


class Promise(msgspec.Struct, frozen=True):
    """What the deciding row says."""

    rule: Rule
    cell: Promised

    @property
    def forbids(self) -> bool:
        return self.cell == "forbidden"


PROMISES: Mapping[Rule, Promise] = {
    "Q1": Promise("Q1", "not judged"),
    "C1": Promise("C1", "not judged"),
    "C2": Promise("C2", "allowed"),
    "C3": Promise("C3", "forbidden"),
    "C4": Promise("C4", "not judged"),
    "C5": Promise("C5", "forbidden"),
    "C6": Promise("C6", "forbidden"),
    "C7": Promise("C7", "allowed"),
    "C8": Promise("C8", "forbidden"),
    "C9": Promise("C9", "allowed"),
}


class PromiseTable:
    """6.3, row by row. Q2 is what Q1 leaves over: a minority of wiped voters, and voters killed in any number, change nothing."""

    def promise(self, facts: Facts) -> Promise:
        return PROMISES[self.rule(facts)]

    def rule(self, facts: Facts) -> Rule:
        if self.metadata_may_be_gone(facts):
            return "Q1"
        if facts.rotten:
            return "C1"
        if self.may_elect_anybody(facts):
            return "C2"
        if facts.lost == 0:
            return "C3"
        return self._with_elr(facts) if facts.elr else self._without_elr(facts)

    def _with_elr(self, facts: Facts) -> Rule:
        elected = self.may_have_elected_the_last_known(facts)
        if facts.min_isr_changed and elected:
            return "C4"
        if self.within_the_tolerance(facts):
            return "C5"
        return "C7" if elected else "C6"

    def _without_elr(self, facts: Facts) -> Rule:
        return "C8" if facts.changes_complete and not facts.sole_lost else "C9"

    # -- the questions --------------------------------------------------------------------------------------------------

    def metadata_may_be_gone(self, facts: Facts) -> bool:
        """Q1 Without a majority that remembers, ISR, ELR and epochs may be anything; a rotten voter may remember wrongly.

        A minority of wiped voters is Q2 and goes on: a voter without its directory is not the old voter (P 2.11, 2.37, B49).
        """
        return facts.voters_rotten > 0 or (facts.voters > 0 and facts.voters_wiped > facts.voters // 2)

    def may_elect_anybody(self, facts: Facts) -> bool:
        """C2 P 8.9 may elect any replica, where somebody permitted it. An unclean election that nobody permitted is a bug, and
        no bug excuses what it does (B36)."""
        return facts.unclean_permitted and (facts.unclean_elections > 0 or not facts.changes_complete)

    def may_have_elected_the_last_known(self, facts: Facts) -> bool:
        """C4, C6, C7 P 8.8 compares no logs, so only this election can give office to an incomplete replica by the rules."""
        return facts.last_known_elections > 0 or not facts.changes_complete

    def within_the_tolerance(self, facts: Facts) -> bool:
        """C5 P 8.7: of m copies at least one is whole and still a member. Not while m changes: that empties ELRs (P 8.12)."""
        return facts.most_damaged < facts.min_isr and not facts.min_isr_changed


RULES = PromiseTable()
