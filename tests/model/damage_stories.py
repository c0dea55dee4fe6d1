"""Stories of one partition, told to a ledger of damage step by step: three replicas on n1, n2, n3; n1 leads; all are in sync."""

from __future__ import annotations

from typing import Any

from model.cluster import Damage, How
from model.damage import DamageLedger
from model.damage_inputs import (
    METADATA_TOPIC,
    MIN_ISR,
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

AT = "t", 0
A, B, C, D = 1, 2, 3, 4
STEP_NS = 10


class Story:
    """Each word is one happening, ten nanoseconds after the one before it, unless it is told to be at the same time."""

    def __init__(self, isr: tuple[int, ...] = (A, B, C), voters: tuple[int, ...] = (11, 12, 13), **setting: Any) -> None:
        given = {"replicas": 3, "min_isr": 2, **setting}
        self.setting = PartitionSetting(**given)
        self.voters = voters
        self.ledger = DamageLedger({AT: self.setting}, voters)
        self.told: list[Happening] = []
        self.now = 0
        self.broker_epochs: dict[int, int] = {}
        self._given = 0
        for node in (A, B, C):
            self.restart(node)
        self.state: dict[str, Any] = {
            "leader": A,
            "leader_epoch": 0,
            "replicas": (A, B, C),
            "isr": isr,
            "elr": (),
            "last_known": None,
        }
        self.change()

    # -- words ----------------------------------------------------------------------------------------------------------

    def tell(self, happening: Happening) -> Story:
        self.told.append(happening)
        self.ledger.on(happening)
        return self

    def later(self) -> int:
        self.now += STEP_NS
        return self.now

    def kill(self, node: int) -> Story:
        """The page cache is kept."""
        return self.tell(UncleanEnd(self.later(), node))

    def hurt(self, node: int, how: How = "lossy", dropped_from: int | None = 1, dropped: int | None = 1) -> Story:
        return self.tell(UncleanEnd(self.later(), node, (Damage(node, *AT, how, dropped_from, dropped),)))

    def restart(self, node: int) -> Story:
        self._given += 1
        self.broker_epochs[node] = self._given
        return self.tell(Registration(self.later(), node, self._given))

    def change(self, *isr: int, election: Any = "none", epochs: tuple[int, ...] | None = None, **state: Any) -> Story:
        """A committed change. A leader that is given begins a leader epoch; the ISR stays when none is given."""
        start = state.pop("epoch_start", None)
        self.state["leader_epoch"] += "leader" in state
        self.state |= state
        if isr or election != "none" or "empty" in state:
            self.state["isr"] = isr
        self.state.pop("empty", None)
        known = tuple(self.broker_epochs.get(member) for member in self.state["isr"]) if epochs is None else epochs
        given = {"at_ns": self.later(), "topic": AT[0], "partition": AT[1], "isr_epochs": known, "epoch_start": start}
        return self.tell(CommittedChange(**given, **self.state, election=election))

    def leaderless(self, elr: tuple[int, ...] = (), last_known: int | None = None) -> Story:
        return self.change(leader=None, elr=elr, last_known=last_known, empty=True)

    def elected(self, node: int, kind: Any, start: int | None = None) -> Story:
        """By an election that leaves the winner alone in the ISR."""
        return self.change(node, election=kind, leader=node, elr=(), last_known=None, epoch_start=start)

    def min_isr_becomes(self, value: int, **more: Any) -> Story:
        return self.tell(ConfigChange(at_ns=self.later(), key=MIN_ISR, value=str(value), **more))

    def configured(self, key: str, value: str | None, **more: Any) -> Story:
        return self.tell(ConfigChange(at_ns=self.later(), key=key, value=value, **more))

    def asked_for_an_unclean_election(self) -> Story:
        return self.tell(UncleanRequest(self.later(), *AT))

    def voter(self, node: int, how: How) -> Story:
        return self.tell(VoterHurt(self.later(), node, how))

    def metadata_of(self, node: int, how: How) -> Story:
        """As the table of damage has it: under the topic of the metadata log."""
        return self.tell(UncleanEnd(self.later(), node, (Damage(node, METADATA_TOPIC, 0, how, 0, 9),)))

    def epoch_starts(self, leader_epoch: int, offset: int) -> Story:
        return self.tell(EpochStart(self.later(), *AT, leader_epoch, offset))

    # -- answers --------------------------------------------------------------------------------------------------------

    @property
    def rule(self) -> str:
        return self.ledger.level(AT).rule

    @property
    def cell(self) -> str:
        return self.ledger.level(AT).cell

    @property
    def bound(self) -> tuple[str, int] | None:
        found = self.ledger.bound(AT)
        return None if found is None else (found.name, found.least_offset)

    @property
    def damaged(self) -> int:
        return self.ledger.facts(AT).most_damaged

    @property
    def lost(self) -> int:
        return self.ledger.facts(AT).lost
