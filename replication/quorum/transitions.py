"""replication/quorum/transitions.py: from one role and epoch to the next, written down before it counts (2.2, 2.3, 2.16, 2.39).

In     decisions of the other parts; epochs and leaders that other members name
Out    the member's role and state; `entered` once the new state counts; an event
Keeps  while a state is on its way to the disk nothing else is handled: the turnstile is closed
"""

from __future__ import annotations

from collections.abc import Callable

from replication.directory import OnDone, nobody
from replication.events import QuorumStateChanged
from replication.identity import NO_LEADER
from replication.quorum.election_state import ElectionState, Role, election_state_text, read_election_state
from replication.quorum.fatal import TwoLeaders
from replication.quorum.member import Member
from replication.quorum.snapshots import PATH
from replication.quorum_messages import VoterKey

STATE_FILE = "quorum-state"
STATE_PATH = f"{PATH}/{STATE_FILE}"

Entered = Callable[[Role, ElectionState], None]
"""What a member was and knew before."""


class Transitions:
    """The only way in which role, epoch, leader and vote of a member change."""

    def __init__(self, member: Member, entered: Entered) -> None:
        self.member = member
        self._entered = entered

    # -- start ----------------------------------------------------------------------------------------------------------

    def read(self) -> ElectionState:
        """What the file says. A damaged one would be a forgotten vote, so it ends the process."""
        data = self.member.directory.read(STATE_PATH)
        state = read_election_state(data) if data is not None else None
        if state is None:
            self.member.env.halt("quorum-state is damaged")
        return state or ElectionState()

    def start(self, found: ElectionState, then: OnDone) -> None:
        """2.4 Go on from what was found, or from what the log knows better; `then` follows once that counts."""
        member = self.member
        state = member.rules.state_at_start(found, member.log.latest_epoch)
        role = member.rules.role_at_start(state, member.key, member.is_voter)
        self._write_then(found, state, lambda: self._take_up(role, state, then))

    # -- going on -------------------------------------------------------------------------------------------------------

    def change(
        self, role: Role, epoch: int, leader_id: int = NO_LEADER, vote_for: VoterKey | None = None, then: OnDone = nobody
    ) -> None:
        """2.2 Become `role` in `epoch`; `then` follows once that counts."""
        member = self.member
        voted = vote_for or member.rules.vote_after(member.state, epoch)
        becomes = ElectionState(leader_id, epoch, voted)
        self._write_then(member.state, becomes, lambda: self._take_up(role, becomes, then))

    def _write_then(self, was: ElectionState, becomes: ElectionState, take_up: OnDone) -> None:
        """2.2, 2.39"""
        rules, directory, turnstile = self.member.rules, self.member.directory, self.member.turnstile
        if not rules.must_write_state(was, becomes):
            take_up()
        elif rules.state_is_written_first():
            turnstile.close()
            directory.replace(STATE_PATH, election_state_text(becomes), lambda: turnstile.open(take_up))
        else:
            directory.replace(STATE_PATH, election_state_text(becomes))
            take_up()

    def _take_up(self, role: Role, state: ElectionState, then: OnDone) -> None:
        member = self.member
        was, knew = member.role, member.state
        member.role, member.state = role, state
        voted = state.voted.voter_id if state.voted else NO_LEADER
        member.env.emit(
            QuorumStateChanged(quorum_epoch=state.epoch, was=was.value, now=role.value, leader=member.leader_id, voted=voted)
        )
        self._entered(was, knew)
        then()

    def unattached(self, epoch: int, then: OnDone = nobody) -> None:
        self.change(Role.UNATTACHED, epoch, then=then)

    def follow(self, epoch: int, leader_id: int, then: OnDone = nobody) -> None:
        self.change(Role.FOLLOWER, epoch, leader_id, then=then)

    def give_up(self) -> None:
        """2.6 A prospective that lost, or waited too long, is again what it was."""
        member = self.member
        role = Role.UNATTACHED if member.state.leader_id == NO_LEADER else Role.FOLLOWER
        self.change(role, member.epoch, member.state.leader_id)

    # -- what others say ------------------------------------------------------------------------------------------------

    def hear(self, epoch: int, leader_id: int, then: OnDone = nobody) -> bool:
        """2.11, 2.16 Somebody named an epoch, and maybe its leader. True: it changed what this member is; `then` follows."""
        member = self.member
        known, leader_id = member.state, self._credible(leader_id)
        if epoch < known.epoch:
            return False
        if epoch > known.epoch:
            if leader_id == NO_LEADER:
                self.unattached(epoch, then)
            else:
                self.follow(epoch, leader_id, then)
            return True
        if member.rules.contradicts(known.leader_id, leader_id):
            raise TwoLeaders(epoch, known.leader_id, leader_id)
        if leader_id == NO_LEADER or known.leader_id != NO_LEADER:
            return False
        self.follow(epoch, leader_id, then)
        return True

    def _credible(self, leader_id: int) -> int:
        """Nobody is told by others that it leads: its disk was wiped since, or the office is laid down."""
        member = self.member
        return NO_LEADER if leader_id == member.node_id and member.state.leader_id != leader_id else leader_id
