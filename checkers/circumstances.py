"""checkers/circumstances.py: under which circumstances a run had to make progress: the conditions of V1 to V5 (CHECKERS 6.8).

In     everything that is known of a run, beside its history
Out    disturbances, the bounds R and G, the last heal; per partition: quiet windows, who was in sync, and whether it could be
       expected to come back at all
Keeps  what is not known excuses
Not    what the history says: checkers/liveness.py
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from checkers.columns import FOREVER
from checkers.disturbances import BEGINNING, Window, boundaries, disturbances, last_heal_ns, later, quiet_windows
from checkers.healthy_core import Core, cores, lost_to_voters
from checkers.run_evidence import RunEvidence
from model.cluster import TopicPartition
from model.config import recovery_bound_ns
from model.damage import BEGINNING as OF_THE_LEDGER
from model.damage import DamageLedger
from model.damage_inputs import METADATA_TOPIC, MIN_ISR, partition_setting
from model.damage_tables import ledger_of, voters

BEYOND_REPAIR: Final = frozenset({"Q1", "C1"})
"""Rows of 6.3 after which nobody can be expected to come back."""
UNFIT: Final = frozenset({"wipe", "rot", "deep_tear"})
"""What a voter's log may have suffered so that it is no voter any more, as far as anybody knows (P 2.37)."""


class InSync:
    """The ISR of one partition over time, from `changes`."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = sorted(rows, key=lambda row: int(row["at_ns"]))
        self._times = [int(row["at_ns"]) for row in self._rows]

    def throughout(self, from_ns: int, to_ns: int) -> frozenset[int]:
        """Who was in sync all the time; nobody, where nothing is known."""
        members = [frozenset(row["isr"] or ()) for row in self._between(from_ns, to_ns)]
        return frozenset.intersection(*members) if members else frozenset()

    def leaders(self, from_ns: int, to_ns: int) -> frozenset[int]:
        """Who led at some time between these two."""
        return frozenset(row["leader"] for row in self._between(from_ns, to_ns) if row["leader"] is not None)

    def _between(self, from_ns: int, to_ns: int) -> Sequence[Mapping[str, Any]]:
        """With what was in force when it began."""
        first = bisect_right(self._times, from_ns) - 1
        return self._rows[max(first, 0) : bisect_right(self._times, to_ns)] if first >= 0 else ()

    def fewer_than(self, count: int) -> list[Window]:
        """When fewer replicas were in sync than that, or than there are."""
        times = [*self._times, FOREVER]
        few = [len(row["isr"] or ()) < min(count, len(row["replicas"] or ())) for row in self._rows]
        return [window for window, is_few in zip(pairwise(times), few, strict=True) if is_few]

    @property
    def last_change_ns(self) -> int:
        return self._times[-1] if self._times else BEGINNING


class Circumstances:
    """Of one run."""

    def __init__(self, run: RunEvidence, ledger: DamageLedger | None = None) -> None:
        """`ledger`: of the same run, if there is one already."""
        self._run, self._ledger = run, ledger
        self.plan = run.plan
        self.recovery_ns = run.plan.judge.recovery_ns or recovery_bound_ns(run.plan.config)
        self.gap_ns = run.plan.judge.gap_ns
        self.told = disturbances(run.plan, run.events)
        self.healed_ns = last_heal_ns(self.told)
        """None: nothing was ever disturbed. FOREVER: it still is."""

    @property
    def stopped(self) -> bool:
        """The run was ended the moment an invariant broke: what was still to come never came."""
        return bool(self._run.seen.violations) and self.plan.judge.on_violation == "stop"

    @property
    def told_already(self) -> bool:
        """That the cluster did not come back is said by those who could look into it (checkers/judge.py)."""
        seen = self._run.seen
        return not seen.converged and not seen.excuse and not seen.violations and not seen.crashed

    @property
    def read_to_the_end(self) -> bool:
        return self._run.seen.read_to_the_end

    # -- who can be expected to come back -------------------------------------------------------------------------------

    def excused(self, at: TopicPartition, to_ns: int = FOREVER) -> bool:
        """Whether, up to then, more was damaged than anybody comes back from."""
        if self._run.seen.excuse or at not in self._damage.partitions:
            return True
        facts = self._damage.facts(at, OF_THE_LEDGER, to_ns)
        majority = facts.voters - facts.voters_wiped > facts.voters // 2
        return not majority or self._damage.level(at, OF_THE_LEDGER, to_ns).rule in BEYOND_REPAIR

    @cached_property
    def _damage(self) -> DamageLedger:
        run = self._run
        told = run.events, run.changes, run.registrations
        return self._ledger or ledger_of(run.plan, *told, complete=run.changes_complete)

    # -- one partition --------------------------------------------------------------------------------------------------

    def isr_known(self, at: TopicPartition) -> bool:
        return self._run.changes_complete and at in self._in_sync

    def in_sync(self, at: TopicPartition) -> InSync:
        return self._in_sync.get(at) or InSync(())

    @cached_property
    def _in_sync(self) -> dict[TopicPartition, InSync]:
        rows: dict[TopicPartition, list[Mapping[str, Any]]] = {}
        for row in self._run.changes:
            rows.setdefault((row["topic"], row["partition"]), []).append(row)
        return {at: InSync(mine) for at, mine in rows.items()}

    def min_isr(self, at: TopicPartition) -> int:
        """m: the most that was asked for at any time."""
        asked = [one.args for one in self.told if one.fault == "change_config" and one.args.get("key") == MIN_ISR]
        values = [int(args["value"]) for args in asked if args.get("topic") in (None, at[0])]
        return max([partition_setting(self.plan, at[0]).min_isr, *values])

    def quiet(self, at: TopicPartition) -> list[Window]:
        """V2 No fault is active, more than R has passed since the last heal, and enough replicas are in sync."""
        busy = [(one.fired_ns, one.until_ns) for one in self.told]
        if self.isr_known(at):
            busy += self.in_sync(at).fewer_than(self.min_isr(at))
        return quiet_windows(busy, self.recovery_ns)

    # -- while something is broken --------------------------------------------------------------------------------------

    @cached_property
    def lasting(self) -> list[Window]:
        """V3 Times, longer than R, in which no fault came or went, and some fault was active."""
        return [
            (from_ns, to_ns)
            for from_ns, to_ns in pairwise([*boundaries(self.told), FOREVER])
            if to_ns > later(from_ns, self.recovery_ns) and any(one.fired_ns <= from_ns < one.until_ns for one in self.told)
        ]

    def core(self, at: TopicPartition, from_ns: int, to_ns: int) -> Core | None:
        """V3 m replicas that were in sync all the time, a majority of voters and a client group, touched by nothing from R before
        this time on: a replica that came back just before has still to catch up.

        The leader must be one of them, or lost to the controllers too: one that only clients or followers cannot reach stays in
        office by right.
        """
        if not self.isr_known(at):
            return None
        since_ns = from_ns - self.recovery_ns
        restarted = frozenset(node for at_ns, node in self._returns if since_ns <= at_ns <= to_ns)
        in_sync, quorum = self.in_sync(at), frozenset(voters(self.plan)) - self._unfit_voters
        replicas = in_sync.throughout(from_ns, to_ns) - restarted
        leaders = in_sync.leaders(later(from_ns, self.recovery_ns), to_ns)
        concerned = [one for one in self.told if one.fired_ns <= from_ns and one.until_ns >= since_ns]
        gone = lost_to_voters(self.plan, [one for one in concerned if one.until_ns > from_ns])
        for core in cores(self.plan, concerned):
            of_voters = 2 * len(core.voters(self.plan) & quorum) > len(voters(self.plan))
            enough = of_voters and len(core.brokers(self.plan) & replicas) >= self.min_isr(at)
            if enough and core.groups and leaders <= core.members | (gone - restarted):
                return core
        return None

    @cached_property
    def _returns(self) -> list[tuple[int, int]]:
        """When brokers registered once more. The first time is the beginning of the cluster."""
        told = sorted((int(row["at_ns"]), int(row["node"])) for row in self._run.registrations)
        first = {node: at_ns for at_ns, node in reversed(told)}
        return [(at_ns, node) for at_ns, node in told if at_ns > first[node]]

    @cached_property
    def _unfit_voters(self) -> frozenset[int]:
        damage = [one for row in self._run.events for one in row.get("damage") or ()]
        return frozenset(one["node"] for one in damage if one["topic"] == METADATA_TOPIC and one["how"] in UNFIT)


def longest_common(window: Window, windows: Sequence[Window]) -> Window:
    """The longest piece of a window that lies inside one of these; an empty one if there is none."""
    pieces = [(max(window[0], from_ns), min(window[1], to_ns)) for from_ns, to_ns in windows]
    return max([(window[0], window[0]), *pieces], key=lambda piece: piece[1] - piece[0])
