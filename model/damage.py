"""model/damage.py: the ledger of damage: what is still promised of each partition, asked at any moment, of any window.

In     happenings (model/damage_inputs.py), in order of time: one by one from the simulator, or all at once from stored tables
Out    `level`: the row of CHECKERS 6.3 that decides and its cell; `bound`: how far an allowed loss may go; `facts`: the reasons
Keeps  memory for the changes and no more. Without a window the question is of everything until now, and what was answered
       last time is the answer until something happens that matters: invariants may ask it after every event
Why    promises and invariants must not differ over what was still promised, so they ask the same ledger
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from model.cluster import NodeId, TopicPartition
from model.damage_inputs import (
    METADATA_TOPIC,
    CommittedChange,
    ConfigChange,
    EpochStart,
    Happening,
    PartitionSetting,
    Registration,
    UncleanEnd,
    UncleanRequest,
    VoterHurt,
)
from model.damage_partition import Bound, PartitionDamage, Voters, wider
from model.damage_scope import CHANGED_BYTES, End, end_of
from model.promise_level import RULES, Facts, Promise, PromiseTable

BEGINNING = -(2**63)
NOW = 2**63 - 1


class DamageLedger:
    """Of one run. Partitions that the plan does not name are nobody's promise."""

    def __init__(
        self,
        settings: Mapping[TopicPartition, PartitionSetting],
        voters: Sequence[NodeId] = (),
        table: PromiseTable = RULES,
    ) -> None:
        self.partitions = {at: PartitionDamage(at, setting) for at, setting in settings.items()}
        self._voters, self._table = tuple(voters), table
        self._wiped: dict[NodeId, int] = {}  # since when
        self._rotten: dict[NodeId, int] = {}
        self._down: dict[NodeId, list[End]] = {}
        self._levels: dict[TopicPartition, tuple[int, int, Promise]] = {}

    # -- what happens ---------------------------------------------------------------------------------------------------

    def on(self, happening: Happening) -> None:
        _TAKES[type(happening)](self, happening)

    def on_end(self, told: UncleanEnd) -> None:
        """From now on the node is down: until it registers again its replicas may still come into scope."""
        end = end_of(told)
        ends = self._down.setdefault(told.node, [])
        ends.append(end)
        for partition in self.partitions.values():
            partition.on_end(ends)
        for damage in told.damage or ():
            if damage.topic == METADATA_TOPIC:
                self.on_voter_hurt(VoterHurt(told.at_ns, told.node, damage.how))

    def on_registration(self, told: Registration) -> None:
        self._down.pop(told.node, None)
        for partition in self.partitions.values():
            partition.on_registration(told.node, told.broker_epoch)

    def on_change(self, told: CommittedChange) -> None:
        partition = self.partitions.get((told.topic, told.partition))
        if partition is not None:
            partition.on_change(told, self._down)

    def on_epoch_start(self, told: EpochStart) -> None:
        partition = self.partitions.get((told.topic, told.partition))
        if partition is not None:
            partition.on_epoch_start(told.leader_epoch, told.offset)

    def on_config(self, told: ConfigChange) -> None:
        for (topic, _), partition in self.partitions.items():
            if told.topic in (None, topic):
                partition.on_config(told)

    def on_unclean_request(self, told: UncleanRequest) -> None:
        partition = self.partitions.get((told.topic, told.partition))
        if partition is not None:
            partition.on_permitted(told.at_ns)

    def on_voter_hurt(self, told: VoterHurt) -> None:
        """A wiped voter never is itself again (P 2.37). A broker's copy of the metadata log is no vote."""
        if told.node not in self._voters:
            return
        if told.how == "wipe":
            self._wiped.setdefault(told.node, told.at_ns)
        elif told.how in CHANGED_BYTES:
            self._rotten.setdefault(told.node, told.at_ns)

    # -- what follows ---------------------------------------------------------------------------------------------------

    def level(self, at: TopicPartition, from_ns: int = BEGINNING, to_ns: int = NOW) -> Promise:
        """What the committed level promises of this partition in this window."""
        if (from_ns, to_ns) != (BEGINNING, NOW):
            return self._table.promise(self.facts(at, from_ns, to_ns))
        version, hurt_voters = self.partitions[at].version, len(self._wiped) + len(self._rotten)
        known = self._levels.get(at)
        if known is None or known[0] != version or known[1] != hurt_voters:
            known = version, hurt_voters, self._table.promise(self.facts(at))
            self._levels[at] = known
        return known[2]

    def forbids_loss(self, topic: str, partition: int) -> bool:
        """Whether a loss, until now, would be a failure. Invariants that need it stand down where it is not."""
        at = topic, partition
        return at in self.partitions and self.level(at).forbids

    def bound(self, at: TopicPartition, from_ns: int = BEGINNING, to_ns: int = NOW) -> Bound | None:
        """Only where a loss is allowed. What would have allowed it without an unclean election may have taken it all the same."""
        rule, partition = self.level(at, from_ns, to_ns).rule, self.partitions[at]
        bound = partition.bound(rule, from_ns, to_ns)
        if rule != "C2":
            return bound
        beside = self._table.promise(msgspec.structs.replace(self.facts(at, from_ns, to_ns), unclean_permitted=False))
        return bound if beside.forbids else wider(bound, partition.bound(beside.rule, from_ns, to_ns))

    def facts(self, at: TopicPartition, from_ns: int = BEGINNING, to_ns: int = NOW) -> Facts:
        wiped = sum(at_ns <= to_ns for at_ns in self._wiped.values())
        rotten = sum(at_ns <= to_ns for at_ns in self._rotten.values())
        return self.partitions[at].facts(from_ns, to_ns, Voters(len(self._voters), wiped, rotten))


def ledger_told(
    happenings: Iterable[Happening], settings: Mapping[TopicPartition, PartitionSetting], voters: Sequence[NodeId] = ()
) -> DamageLedger:
    """A ledger that has been told all of it."""
    ledger = DamageLedger(settings, voters)
    for happening in happenings:
        ledger.on(happening)
    return ledger


_TAKES: Mapping[type, Callable[[DamageLedger, Any], None]] = {
    UncleanEnd: DamageLedger.on_end,
    Registration: DamageLedger.on_registration,
    CommittedChange: DamageLedger.on_change,
    EpochStart: DamageLedger.on_epoch_start,
    ConfigChange: DamageLedger.on_config,
    UncleanRequest: DamageLedger.on_unclean_request,
    VoterHurt: DamageLedger.on_voter_hurt,
}
