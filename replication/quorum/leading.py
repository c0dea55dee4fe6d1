"""replication/quorum/leading.py: one member while it leads (2.17 to 2.21, 2.25, 2.27, 2.36).

In     the election won and the office lost; fetches of others; durable ends of the own log; records of the controller
Out    a high watermark that moves; BeginQuorumEpoch and EndQuorumEpoch; resignation when no majority fetches any more
Keeps  `Office`, for one epoch
Not    what fetchers are answered: serving.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replication.batch import header_at, stamped
from replication.directory import OnDone
from replication.env import Failure
from replication.events import QuorumHighWatermark
from replication.quorum.alarm import Alarm
from replication.quorum.election_state import Role
from replication.quorum.member import CHANNEL, Member
from replication.quorum.office import Office, Progress
from replication.quorum.transitions import Transitions
from replication.quorum_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoterKey,
)
from replication.records import LeaderChange, MetadataRecord, batch_of


class Leading:
    """The office, and what its holder does unasked."""

    def __init__(self, member: Member, transitions: Transitions, appended: OnDone, advanced: OnDone) -> None:
        self.member, self.transitions = member, transitions
        self.office: Office | None = None
        self._appended, self._advanced = appended, advanced
        self._begin_alarm = Alarm(member.env, member.now_ns, self._tell_silent)
        self._quorum_alarm = Alarm(member.env, member.now_ns, self._check_quorum)

    # -- coming and going -----------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """2.17 Write the first record of the epoch at once: nothing older is committed without it."""
        member = self.member
        self.office = Office(
            epoch=member.epoch,
            epoch_start=member.log.leo,
            since_ns=member.now_ns(),
            voters={voter: Progress(voter) for voter in member.others},
            observers={},
        )
        voters = tuple(voter.voter_id for voter in member.voters)
        self.append((LeaderChange(member.node_id, voters),), by_quorum=True)
        self._tell_silent()
        if member.others:
            self._quorum_alarm.set(self._patience_ns)

    def end(self) -> bool:
        """2.21 The office is lost. True if the state machine believed in it."""
        office, self.office = self.office, None
        self._begin_alarm.cancel()
        self._quorum_alarm.cancel()
        return office is not None and office.is_active

    def resign(self) -> None:
        """2.19, 2.20 Lay down the office, and tell the others so that they need not wait for a timeout."""
        member, office = self.member, self.office
        if office is None:
            return
        ends = [(progress.leo, progress.key) for progress in office.voters.values()]
        request = EndQuorumEpochRequest(member.cluster_id, member.node_id, member.epoch, member.rules.successors(ends))
        self.transitions.change(Role.RESIGNED, member.epoch, member.node_id)
        for voter in member.others:
            self._tell(voter, request)

    # -- records --------------------------------------------------------------------------------------------------------

    def append(self, records: Sequence[MetadataRecord], *, by_quorum: bool = False) -> int | None:
        """2.21 One batch at the end of the log. None: the disk failed."""
        member, log = self.member, self.member.log
        epoch, base = member.epoch, log.leo
        data = stamped(batch_of(records, member.env.wall_ms(), by_quorum=by_quorum), base, epoch)
        header = header_at(data)
        if header is None or not log.append(data, header, base, epoch):
            return None
        self._appended()
        return log.leo - 1

    # -- the others -----------------------------------------------------------------------------------------------------

    def heard(self, key: VoterKey) -> Progress | None:
        """2.19 A member fetches in this epoch; None if there is no office."""
        member, office = self.member, self.office
        if office is None:
            return None
        voter = member.voter_of(key)
        if voter is not None and voter in office.voters:
            progress = office.voters[voter]
        else:
            progress = office.observers.setdefault(key, Progress(key))
        progress.last_fetch_ns = member.now_ns()
        return progress

    def moved(self, progress: Progress, fetch_offset: int) -> None:
        """2.25 A valid fetch tells how far somebody is."""
        if progress.leo != fetch_offset:
            progress.leo = fetch_offset
            self.advance_hw()

    def _tell_silent(self) -> None:
        """2.18"""
        member, office = self.member, self.office
        if office is None or not office.voters:
            return
        now, timeout = member.now_ns(), member.settings.fetch_timeout_ns
        for progress in office.voters.values():
            if member.rules.must_tell_begin(progress.last_fetch_ns, now, timeout):
                voter = progress.key
                self._tell(voter, BeginQuorumEpochRequest(member.cluster_id, voter, member.node_id, office.epoch))
        self._begin_alarm.set(timeout // 2)

    def _tell(self, voter: VoterKey, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> None:
        member = self.member

        def on_answer(answer: BeginQuorumEpochResponse | EndQuorumEpochResponse | Failure) -> None:
            if not isinstance(answer, Failure):
                self.transitions.hear(answer.leader_epoch, answer.leader_id)

        member.env.request(voter.voter_id, CHANNEL, request, member.settings.request_timeout_ns, on_answer)

    @property
    def _patience_ns(self) -> int:
        return self.member.rules.check_quorum_timeout_ns(self.member.settings.fetch_timeout_ns)

    def _check_quorum(self) -> None:
        """2.19"""
        member, office = self.member, self.office
        if office is None:
            return
        now, patience, voters = member.now_ns(), self._patience_ns, len(member.voters)
        times = [progress.last_fetch_ns for progress in office.voters.values()]
        heard = sorted((office.since_ns if time is None else time for time in times), reverse=True)
        recently = sum(now - time < patience for time in heard)
        if not member.rules.keeps_office(recently, voters):
            self.resign()
            return
        deciding = heard[member.rules.majority_of(voters) - 2]
        left = deciding + patience - now
        self._quorum_alarm.set(left if left > 0 else patience)

    # -- the high watermark ---------------------------------------------------------------------------------------------

    def advance_hw(self) -> None:
        """2.27 As far as a majority has come."""
        member, office = self.member, self.office
        if office is None:
            return
        rules, log = member.rules, member.log
        own = rules.own_end_for_hw(log.leo, log.durable_end)
        candidate = rules.quorum_hw_candidate([own, *(progress.leo for progress in office.voters.values())])
        if rules.may_advance_quorum_hw(candidate, office.epoch_start, member.hw):
            office.hw = candidate
            member.raise_hw(candidate)
            member.env.emit(QuorumHighWatermark(quorum_epoch=office.epoch, hw=candidate, epoch_start=office.epoch_start))
            self._advanced()

    def become_active(self, tell: Callable[[int], None]) -> None:
        """2.36"""
        office = self.office
        if office is None or office.is_active:
            return
        if self.member.rules.may_be_active(self.member.applied_end, office.epoch_start):
            office.is_active = True
            tell(office.epoch)
