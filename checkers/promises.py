"""checkers/promises.py: what was promised about everything that was found (CHECKERS 6).

In     `RunEvidence`, and what a checker found: facts, in columns
Out    for every instance the deciding rule and its cell: forbidden, allowed, not judged. Only a forbidden one is a failure
Keeps  each instance is judged by its own window (6.1), never by the run as a whole; `whole` is for what was not seen
Why    the ledger of damage decides the committed level here as it does for invariants; two opinions would be one too many
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import msgspec
import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.epochs import LeaderEpochs
from checkers.found import Flags, Found, Numbers
from checkers.meanwhile import repeats_of_appends
from checkers.run_evidence import RunEvidence
from checkers.windows import Windows
from model.cluster import TopicPartition
from model.damage import DamageLedger, ledger_told
from model.damage_inputs import CommittedChange, ConfigChange, Happening
from model.damage_partition import Bound
from model.damage_tables import partition_settings, told_in, voters
from model.verdict import Level, Promised

LOSSES: Final = frozenset({"lost_write", "vanished_read", "inconsistent_offset"})
"""What an allowed loss may show, within its bounds (6.4)."""
_NOT_A_SUFFIX: Final = ("prefix", "middle")


class Ruling(msgspec.Struct, frozen=True):
    """The rule that decided, and what it says."""

    rule: str
    cell: Promised


@dataclass(frozen=True)
class Rulings:
    """One ruling per instance: `which` of `of`."""

    of: tuple[Ruling, ...]
    which: Numbers

    def where(self, chosen: Flags, ruling: Ruling) -> Rulings:
        """This ruling for those, and for the others what they had."""
        return Rulings((*self.of, ruling), np.where(chosen, np.int64(len(self.of)), self.which))

    def replaced(self, by: Callable[[Ruling], Ruling]) -> Rulings:
        return Rulings(tuple(by(ruling) for ruling in self.of), self.which)

    def among(self, chosen: Flags, others: Rulings) -> Rulings:
        """These for the chosen, the others' for the others."""
        return Rulings((*self.of, *others.of), np.where(chosen, self.which, others.which + len(self.of)))

    def says(self, cell: Promised) -> Flags:
        flags: Flags = np.array([ruling.cell == cell for ruling in self.of], np.bool_)[self.which]
        return flags


def everywhere(ruling: Ruling, found: Found) -> Rulings:
    return Rulings((ruling,), np.zeros(len(found.proof_ns), np.int64))


class Judges(Protocol):
    """Whoever says what was promised."""

    def of(self, found: Found) -> Rulings: ...


class Everything:
    """Of a history from elsewhere: nothing is allowed but what its owner allows (10.1)."""

    def __init__(self, allowed: frozenset[str] = frozenset()) -> None:
        self._allowed = allowed

    def of(self, found: Found) -> Rulings:
        rulings = everywhere(Ruling("strict", "allowed" if found.name in self._allowed else "forbidden"), found)
        return rulings if found.comparable is None else rulings.where(~found.comparable, NOT_COMPARABLE)


FORBIDDEN, ALLOWED = Ruling("6.6", "forbidden"), Ruling("6.6", "allowed")
NOT_COMPARABLE, INCOMPLETE = Ruling("3.8", "not judged"), Ruling("1.6", "not judged")
REPEATED = Ruling("6.6", "not judged")
"""The network may have sent again what is told of, and nobody knows what became of the copy."""
NOBODYS = Ruling("6.1", "not judged")
"""Of a partition that the plan does not name."""


class Promises:
    """Of one run of ours."""

    def __init__(self, run: RunEvidence) -> None:
        self._run = run
        self._epochs: dict[TopicPartition, LeaderEpochs] = {}
        self._windows: dict[TopicPartition, Windows] = {}

    @cached_property
    def _told(self) -> list[Happening]:
        return told_in(self._run.plan, self._run.events, self._run.changes, self._run.registrations)

    @cached_property
    def ledger(self) -> DamageLedger:
        plan = self._run.plan
        return ledger_told(self._told, partition_settings(plan, self._run.changes_complete), voters(plan))

    def epochs(self, at: TopicPartition) -> LeaderEpochs:
        if at not in self._epochs:
            rows = [row for row in self._run.changes if (row["topic"], row["partition"]) == at]
            self._epochs[at] = LeaderEpochs(rows, complete=self._run.changes_complete)
        return self._epochs[at]

    # -- everything that can be found (6.6) -----------------------------------------------------------------------------

    def of(self, found: Found) -> Rulings:
        """A name that nobody has promised anything about is an error of ours."""
        if found.rule is not None:
            return everywhere(Ruling(found.rule, "forbidden"), found)  # liveness: its rule says by itself when it is judged
        if found.at not in self.ledger.partitions:
            return everywhere(NOBODYS, found)
        return _DECIDES[found.name](self, found)

    def by_level(self, found: Found) -> Rulings:
        """6.3 with its bounds, or 6.5."""
        return self.committed(found) if found.level == "committed" else self.local(found)

    def always(self, found: Found) -> Rulings:
        return everywhere(FORBIDDEN, found)

    def whole_batch(self, found: Found) -> Rulings:
        """Of two copies of a batch one may have been cut off, and two answers may show two of them."""
        return self.unless_nothing_is_judged(found).where(self._repeated_before(found), REPEATED)

    def unless_nothing_is_judged(self, found: Found) -> Rulings:
        return self.committed(found).replaced(lambda ruling: ruling if ruling.cell == "not judged" else FORBIDDEN)

    def unless_the_log_may_be_cut(self, found: Found) -> Rulings:
        """Truncation moves positions."""
        return self.by_level(found).replaced(lambda ruling: FORBIDDEN if ruling.cell == "forbidden" else ruling)

    def if_comparable(self, found: Found) -> Rulings:
        if found.comparable is None:
            return self.by_level(found)
        return self.by_level(found).where(~found.comparable, NOT_COMPARABLE)

    def with_every_row(self, found: Found) -> Rulings:
        """1.6: what has no row may have been written all the same."""
        rulings = everywhere(FORBIDDEN if self._run.complete else INCOMPLETE, found)
        return rulings.where(self._repeated_before(found), REPEATED)

    def copies(self, found: Found) -> Rulings:
        """What was sent once may stand there once; a log that carries sequences takes each once (P 6.9 to 6.11)."""
        none = np.zeros(len(found.proof_ns), np.bool_)
        resent = ~none if found.resent is None else found.resent
        idempotent = none if found.idempotent is None else found.idempotent
        twice = self.by_level(found).where(~idempotent, ALLOWED)
        return twice.among(resent | self._repeated(found), self.unless_nothing_is_judged(found))

    def unless_repeated(self, found: Found) -> Rulings:
        """What was refused once may be taken the second time, when the network sends it again."""
        return everywhere(FORBIDDEN, found).where(self._repeated(found), ALLOWED)

    def _repeated(self, found: Found) -> Flags:
        """The network may have sent it twice, whatever the client knows of it."""
        repeated = np.zeros(len(found.proof_ns), np.bool_)
        for from_ns, to_ns in repeats_of_appends(self._run.events):
            repeated |= (found.from_ns <= to_ns) & (found.to_ns >= from_ns)
        return repeated

    def _repeated_before(self, found: Found) -> Flags:
        """A copy that the network made may fill any hole from then on (3.7)."""
        began = [from_ns for from_ns, _ in repeats_of_appends(self._run.events)]
        before: Flags = found.proof_ns >= min(began, default=FOREVER)
        return before

    # -- the committed level (6.3, 6.4) ---------------------------------------------------------------------------------

    def committed(self, found: Found) -> Rulings:
        """The ledger is asked once for all instances whose windows it cannot tell apart."""
        distinct = self._windows_of(found.at).distinct(found.from_ns, found.to_ns)
        promises = [self.ledger.level(found.at, *window) for window in distinct.windows]
        rulings = Rulings(tuple(Ruling(each.rule, each.cell) for each in promises), distinct.which)
        if found.name not in LOSSES or all(each.forbids for each in promises):
            return rulings
        bounds = [self.ledger.bound(found.at, *window) for window in distinct.windows]
        beyond = rulings.says("allowed") & _beyond(found, bounds, distinct.which)
        outside = rulings.replaced(lambda ruling: Ruling(f"{ruling.rule}+bound", "forbidden"))
        return outside.among(beyond, rulings)

    def _windows_of(self, at: TopicPartition) -> Windows:
        if at not in self._windows:
            self._windows[at] = Windows(moment for one in self._told for moment in _moments(one, at))
        return self._windows[at]

    # -- the local level (6.5) ------------------------------------------------------------------------------------------

    def local(self, found: Found) -> Rulings:
        """First row that matches. What 6.3 allows only within a bound it allows no further: beyond, the other rows decide."""
        committed = self.committed(found)
        epochs, unknown = self.epochs(found.at), np.full(len(found.proof_ns), NONE, np.int64)
        written = unknown if found.write_epoch is None else found.write_epoch
        offset = unknown if found.offset is None else found.offset
        cut = (epochs.may_have_cut(written, found.proof_ns, offset) | _displaced(found)) & ~_in_the_midst(found)
        return (
            everywhere(Ruling("W3", "allowed"), found)
            .where(~cut, Ruling("W2", "forbidden"))
            .where(epochs.none_later(written, found.proof_ns), Ruling("W1", "forbidden"))
            .where(committed.says("not judged"), Ruling("W0", "not judged"))
            .where(committed.says("allowed"), Ruling("W0", "allowed"))
        )

    # -- what was not seen (6.7) ----------------------------------------------------------------------------------------

    def whole(self, at: TopicPartition, level: Level) -> Ruling:
        """Of the whole run. Of a record acknowledged by its leader alone: as if it had been the first, in the first epoch."""
        promise = self.ledger.level(at)
        if level == "committed":
            return Ruling(promise.rule, promise.cell)
        if not promise.forbids:
            return Ruling("W0", promise.cell)
        return Ruling("W1", "forbidden") if self.epochs(at).only_one else Ruling("W3", "allowed")


def _beyond(found: Found, bounds: list[Bound | None], which: Numbers) -> Flags:
    """6.4 b0, b1, b2: what even an allowed loss may not take. An offset or a time that is not known is not beyond."""
    beyond = _in_the_midst(found)
    if found.offset is not None:
        least = np.array([0 if bound is None else bound.least_offset for bound in bounds], np.int64)[which]
        beyond = beyond | ((found.offset != NONE) & (found.offset < least) & ~_displaced(found))
    if found.acked_ns is not None:
        after = [bound.acked_after_ns if bound else None for bound in bounds]
        safe_ns = np.array([-(2**63) if ns is None else ns for ns in after], np.int64)[which]
        beyond = beyond | ((found.acked_ns != NONE) & (found.acked_ns <= safe_ns))
    return beyond


def _displaced(found: Found) -> Flags:
    """A leader whose log went another way before cuts off more than what lies behind the start of its epoch."""
    return np.zeros(len(found.proof_ns), np.bool_) if found.displaced is None else found.displaced


def _in_the_midst(found: Found) -> Flags:
    """b0: truncation only cuts suffixes (P 5.4), so what has survivors above it was not cut off."""
    if found.loss_class is None:
        return np.zeros(len(found.proof_ns), np.bool_)
    return np.isin(found.loss_class.astype(str), _NOT_A_SUFFIX)


def _moments(one: Happening, at: TopicPartition) -> tuple[int, ...]:
    """When an answer about this partition can change because of it."""
    if isinstance(one, CommittedChange) and (one.topic, one.partition) != at:
        return ()
    if isinstance(one, ConfigChange) and one.unsettled_ns:
        return one.at_ns, one.at_ns + one.unsettled_ns
    return (one.at_ns,)


_DECIDES: Final[Mapping[str, Callable[[Promises, Found], Rulings]]] = {
    "lost_write": Promises.by_level,
    "vanished_read": Promises.by_level,
    "inconsistent_offset": Promises.by_level,
    "reordered": Promises.by_level,
    "nonmonotonic_send": Promises.by_level,
    "append_below_end": Promises.by_level,
    "sequence_reorder": Promises.by_level,
    "sequence_gap": Promises.by_level,
    "duplicate": Promises.copies,
    "phantom": Promises.always,
    "future_read": Promises.always,
    "int_nonmonotonic_poll": Promises.always,
    "aborted_read": Promises.unless_repeated,
    "torn_batch": Promises.whole_batch,
    "read_gap": Promises.unless_the_log_may_be_cut,
    "int_poll_skip": Promises.unless_the_log_may_be_cut,
    "poll_skip": Promises.unless_the_log_may_be_cut,
    "nonmonotonic_poll": Promises.unless_the_log_may_be_cut,
    "stale_read": Promises.if_comparable,
    "stale_end_offset": Promises.if_comparable,
    "refused_position": Promises.if_comparable,
    "unfillable_hole": Promises.with_every_row,
    "lost_ack": Promises.with_every_row,
}
