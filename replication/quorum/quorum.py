"""replication/quorum/quorum.py: one member of the controller quorum: its parts, wired together (PROTOCOL section 2).

In     `open`, `on_request`, `append`, `close`; timers, answers and durable writes through `Env`
Out    everything through `Env`, and calls of the state machine above (machine.py)
Keeps  its parts: member (what all share), transitions, elections, leading, serving, following, download, applying, snapshotting
Not    a decision of its own: each part asks `member.rules`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from replication.admin_messages import DescribeQuorumResponse, QuorumReplica
from replication.directory import LogDirectory, OnDone
from replication.env import Env, Request
from replication.errors import Error
from replication.identity import NO_LEADER
from replication.log import Log
from replication.quorum.alarm import Alarm
from replication.quorum.announcements import Announcements
from replication.quorum.applying import Applying
from replication.quorum.download import Download
from replication.quorum.election_state import ElectionState, Role
from replication.quorum.elections import Elections
from replication.quorum.flushing import Flushing
from replication.quorum.following import Following
from replication.quorum.leading import Leading
from replication.quorum.machine import Machine
from replication.quorum.member import Member
from replication.quorum.opening import open_member
from replication.quorum.serving import Serving
from replication.quorum.settings import QuorumSettings
from replication.quorum.snapshotting import Snapshotting
from replication.quorum.transitions import Transitions
from replication.quorum_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    QuorumFetchRequest,
    SnapshotId,
    VoteRequest,
    VoterKey,
)
from replication.records import MetadataRecord
from replication.rules import Rules


class Quorum:
    """A voter, or an observer: whoever is not among the voters by id and directory."""

    def __init__(  # noqa: PLR0913, PLR0917  what a member is made of
        self,
        node_id: int,
        cluster_id: str,
        voters: tuple[VoterKey, ...],
        env: Env,
        rules: Rules,
        settings: QuorumSettings,
        machine: Machine,
    ) -> None:
        self.machine = machine
        self.member = member = Member(node_id, cluster_id, voters, env, rules, settings)
        self.transitions = Transitions(member, self._entered)
        self.elections = Elections(member, self.transitions)
        self.leading = Leading(member, self.transitions, self._on_appended, self._on_advanced)
        self.serving = Serving(member, self.leading)
        self.applying = Applying(member, machine)
        self.snapshotting = Snapshotting(member, self.applying)
        self.flushing = Flushing(member.log, member.turnstile, self._on_durable)
        self.download = Download(member, self.transitions, self.applying.load)
        self.following = Following(member, self.transitions, self.flushing, self.download)
        self.announcements = Announcements(member, self.transitions, self._hurry)
        self.following.on_heard = self.download.on_heard = self._on_heard
        self.following.on_advanced = self._apply
        self.download.on_failed, self.download.on_loaded = self.following.rest, self._on_loaded
        self._alarm = Alarm(member.env, member.now_ns, self.elections.on_timeout)
        self._on_close: OnDone | None = None
        self._is_open = False
        self._handlers: dict[type, Callable[[Request], None]] = {
            VoteRequest: self.elections.on_vote,
            BeginQuorumEpochRequest: self.announcements.on_begin,
            EndQuorumEpochRequest: self.announcements.on_end,
            QuorumFetchRequest: self.serving.on_fetch,
            FetchSnapshotRequest: self.serving.on_fetch_snapshot,
        }

    # -- what it is -----------------------------------------------------------------------------------------------------

    @property
    def directory(self) -> LogDirectory:
        return self.member.directory

    @property
    def log(self) -> Log:
        return self.member.log

    @property
    def end_offset(self) -> int:
        """The offset that the next record will get."""
        return self.member.log.leo

    @property
    def leader_id(self) -> int | None:
        leader_id = self.member.leader_id
        return None if leader_id == NO_LEADER else leader_id

    @property
    def epoch(self) -> int:
        return self.member.epoch

    @property
    def hw(self) -> int:
        return self.member.hw

    @property
    def role(self) -> Role:
        return self.member.role

    @property
    def is_voter(self) -> bool:
        return self.member.is_voter

    @property
    def voted(self) -> VoterKey | None:
        return self.member.state.voted

    @property
    def snapshots(self) -> tuple[SnapshotId, ...]:
        """Oldest first."""
        return tuple(self.member.snapshots.sizes)

    # -- life -----------------------------------------------------------------------------------------------------------

    def open(self, then: OnDone) -> None:
        """2.4, 2.40, 2.42 Find everything again; act on it once it is durable."""
        member = self.member
        member.take_identity()
        member.turnstile.close()

        def durable(found: ElectionState) -> None:
            self._is_open = True
            member.turnstile.open(lambda: self.transitions.start(found, then))

        open_member(member, self.transitions, durable)

    def close(self, then: OnDone) -> None:
        """2.20 The orderly end: a leader lays down its office and stays until it has an heir, or nobody comes forward in time."""
        member = self.member
        member.closing = True
        self._on_close = then
        if self._is_open:
            member.turnstile.enter(self._leave)
        else:
            self._finish()

    def _leave(self) -> None:
        member = self.member
        if member.leads and member.others:
            self.leading.resign()
            member.env.after(member.settings.request_timeout_ns, self._finish)
        else:
            self._finish()

    def _finish(self) -> None:
        then, self._on_close = self._on_close, None
        if then is None:
            return
        if not self._is_open:
            self._ended(then)
            return
        end = partial(self._ended, then)
        self.log.close(lambda: self.log.settling.then(end))

    def _ended(self, then: OnDone) -> None:
        self.member.turnstile.shut = True
        then()

    # -- what happens ---------------------------------------------------------------------------------------------------

    def on_request(self, request: Request) -> None:
        """2.39 In order of arrival, and not while a promise is being written down."""
        self.member.turnstile.enter(partial(self._handlers[type(request.message)], request))

    def append(self, epoch: int, records: Sequence[MetadataRecord]) -> int | None:
        """2.21 One decision of the active controller: the offset of its last record, or None if it has lost the office."""
        member = self.member
        if not member.leads or member.epoch != epoch or member.turnstile.closed or member.closing:
            return None
        return self.leading.append(records)

    def _on_appended(self) -> None:
        self.flushing.start()
        self.serving.wake()

    def _on_durable(self) -> None:
        if self.member.leads:
            self.leading.advance_hw()
        else:
            self.following.kick()

    def _on_advanced(self) -> None:
        """2.31, 2.35"""
        self.serving.wake()
        self._apply()

    def _apply(self) -> None:
        """2.35, 2.36, 2.43"""
        self.applying.catch_up()
        self.leading.become_active(self.machine.on_active)
        self.snapshotting.consider()

    def _on_heard(self) -> None:
        """2.6 The leader answers: the fetch timeout starts again."""
        if self.member.is_voter:
            self._alarm.set(self.member.settings.fetch_timeout_ns)

    def _on_loaded(self) -> None:
        self._apply()
        self.following.kick()

    def _hurry(self, delay_ns: int) -> None:
        self._alarm.set(delay_ns)

    # -- roles ----------------------------------------------------------------------------------------------------------

    def _entered(self, was: Role, knew: ElectionState) -> None:
        """Another role, epoch, leader or vote counts from now on."""
        member = self.member
        member.has_fetched = False
        believed = self.leading.end() if was is Role.LEADER else False
        self.serving.fail_all()
        self._set_alarm()
        self._tell_machine(knew, was, believed)
        if member.leads:
            self.leading.begin()
        self.following.restart()
        self.elections.on_entered()
        self.leading.become_active(self.machine.on_active)
        if self._on_close is not None and member.state.leader_id not in (NO_LEADER, member.node_id):
            self._finish()

    def _set_alarm(self) -> None:
        """2.6 How long this member stays what it now is, if nothing happens."""
        member = self.member
        if not member.is_voter or member.leads:
            self._alarm.cancel()
        elif member.role is Role.FOLLOWER:
            self._alarm.set(member.settings.fetch_timeout_ns)
        else:
            self._alarm.set(member.election_timeout_ns())

    def _tell_machine(self, knew: ElectionState, was: Role, believed: bool) -> None:
        member = self.member
        if believed:
            self.machine.on_inactive()
        told = NO_LEADER if was is Role.RESIGNED else knew.leader_id
        if (told, knew.epoch) != (member.leader_id, member.epoch):
            self.machine.on_leader(self.leader_id, member.epoch)

    # -- for operators --------------------------------------------------------------------------------------------------

    def describe(self) -> DescribeQuorumResponse:
        """1.14 Who is how far, as far as the leader knows."""
        member, office = self.member, self.leading.office
        if office is None:
            return DescribeQuorumResponse(Error.NOT_LEADER_OR_FOLLOWER, member.leader_id, member.epoch, member.hw)
        voters = [QuorumReplica(member.node_id, member.log.leo)]
        voters += [QuorumReplica(progress.key.voter_id, progress.leo) for progress in office.voters.values()]
        observers = [QuorumReplica(progress.key.voter_id, progress.leo) for progress in office.observers.values()]
        return DescribeQuorumResponse(Error.NONE, member.leader_id, member.epoch, office.hw, tuple(voters), tuple(observers))
