"""Real members of a quorum, in storms of every kind: the right rules violate nothing, wrong ones are found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clusters.sim.invariants import Invariants
from clusters.sim.invariants.world import Parts
from clusters.sim.kernel import Kernel
from replication.quorum.election_state import ElectionState
from replication.quorum_messages import SnapshotId, VoterKey
from replication.rules import Rules
from tests.replication.quorum.storm import Storm
from tests.replication.quorum.world import GuardedEnv, Member, QuorumWorld

STORMS = 12


class Looking:
    """Invariants over a quorum in one process: every call into a member is an event."""

    def __init__(self, world: QuorumWorld, patch: pytest.MonkeyPatch) -> None:
        self.world, self.kernel = world, Kernel()
        self.invariants = Invariants(self.kernel, self._parts, {}, world.voters, on_violation="note")
        self.deep = 0
        guard, emit, reply = GuardedEnv.guard, GuardedEnv.emit, GuardedEnv.reply

        def watched_guard(env: GuardedEnv, call: Callable[[], object]) -> None:
            self._begin(env)
            self.deep += 1
            guard(env, call)
            self.deep -= 1
            if self.deep == 0:
                self.kernel.event += 1
                self.kernel.touched += list(self.invariants.world.lives.values())
                self.invariants.look(self.kernel.touched)

        def watched_emit(env: GuardedEnv, event: Any) -> None:
            self.invariants.on_told(env.node_id, event)
            emit(env, event)

        def watched_reply(env: GuardedEnv, request: Any, answer: Any) -> None:
            self.invariants.world.lives[env.node_id].on_reply(request, answer)
            reply(env, request, answer)

        patch.setattr(GuardedEnv, "guard", watched_guard)
        patch.setattr(GuardedEnv, "emit", watched_emit)
        patch.setattr(GuardedEnv, "reply", watched_reply)

    def _begin(self, env: Any) -> None:
        life = self.invariants.world.lives.get(env.node_id)
        if env.alive and (life is None or life.env is not env):  # dead processes still hear their timers
            self.invariants.on_start(env, env.member.starts)

    def _parts(self, node: int) -> Parts:
        member: Member = self.world.members[node]
        return Parts(None, member.quorum)


def violations(seed: int, patch: pytest.MonkeyPatch, rules: Rules | None = None) -> list[str]:
    with patch.context() as context:
        storm = Storm(seed, rules=rules, wipes=seed % 3 == 0)
        looking = Looking(storm.world, context)
        storm.blow()
        looking.invariants.at_the_end()
    return [f"{each.number} {each.text}" for each in looking.invariants.violations]


@pytest.mark.parametrize("seed", range(STORMS))
def test_storms_over_a_right_quorum_violate_nothing(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """18 to 25: crashes, power cuts, cuts, stalled disks, wiped disks, snapshots."""
    assert violations(seed, monkeypatch) == []


class SaysBeforeItWrites(Rules):
    """B40"""

    def state_is_written_first(self) -> bool:
        return False


class ForgetsItsVote(Rules):
    """B41"""

    def vote_after(self, state: ElectionState, epoch: int) -> VoterKey | None:
        return None


class VotesForAnybody(Rules):
    """B42"""

    def candidate_is_up_to_date(self, *_: int) -> bool:
        return True


class CommitsOldEpochs(Rules):
    """B43"""

    def may_advance_quorum_hw(self, candidate: int, epoch_start: int, hw: int) -> bool:
        return candidate > hw


class AcksBeforeTheSync(Rules):
    """B44"""

    def flushes_before_fetch(self, is_voter: bool) -> bool:
        return False


class CountsUnsynced(Rules):
    """B56"""

    def own_end_for_hw(self, leo: int, durable_end: int) -> int:
        return leo


class NamesSnapshotsWrongly(Rules):
    """B50"""

    def snapshot_id(self, applied_end: int, applied_epoch: int) -> SnapshotId:
        return SnapshotId(applied_end - 1, applied_epoch)


class DropsTheBeginning(Rules):
    """B50"""

    def log_start_for(self, oldest: SnapshotId | None, log_start: int, hw: int) -> int:
        return hw


@pytest.mark.parametrize(
    ("rules", "number"),
    [
        (SaysBeforeItWrites, 19),
        (ForgetsItsVote, 20),
        (VotesForAnybody, 23),
        (CommitsOldEpochs, 21),
        (AcksBeforeTheSync, 22),
        (CountsUnsynced, 22),
        (NamesSnapshotsWrongly, 24),
        (DropsTheBeginning, 25),
    ],
)
def test_storms_over_a_wrong_quorum_are_found_by_the_invariant_that_is_about_them(
    rules: type[Rules], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one of sixty storms at least."""
    assert any(said.startswith(f"{number} ") for seed in range(60) for said in violations(seed, monkeypatch, rules()))
