"""replication/quorum/elections.py: asking for votes, and giving them (2.6 to 2.16).

In     the election and fetch timeouts; requests for votes, and the answers to this member's own
Out    pre-votes, votes; a member that is elected
Keeps  who granted and who refused in the present round; nothing of it outlives the role that asked
"""

from __future__ import annotations

from functools import partial

import msgspec

from replication.env import Failure, Request
from replication.errors import Error
from replication.identity import NO_LEADER
from replication.quorum.election_state import Role
from replication.quorum.member import CHANNEL, Member
from replication.quorum.transitions import Transitions
from replication.quorum_messages import VoteRequest, VoteResponse, VoterKey


class Round(msgspec.Struct):
    """One election or pre-election, from where this member sees it."""

    role: Role
    epoch: int
    granted: dict[int, None]
    refused: dict[int, None]


class Elections:
    """The way to an office."""

    def __init__(self, member: Member, transitions: Transitions) -> None:
        self.member, self.transitions = member, transitions
        self.round: Round | None = None
        self._pre_granted: tuple[int, ...] = ()

    # -- standing -------------------------------------------------------------------------------------------------------

    def on_timeout(self) -> None:
        """2.6 The election or fetch timeout of this role has passed."""
        member = self.member
        if member.closing:
            return
        if member.role is Role.RESIGNED:
            self.transitions.unattached(member.epoch + 1)
        elif member.role is Role.PROSPECTIVE:
            self.transitions.give_up()
        else:
            self.stand()

    def stand(self) -> None:
        """2.6, 2.9 Ask first whether an election would be won."""
        member = self.member
        epoch = member.rules.epoch_of_pre_vote(member.epoch)
        leader_id = member.state.leader_id if epoch == member.epoch else NO_LEADER
        self._pre_granted = ()
        self.transitions.change(Role.PROSPECTIVE, epoch, leader_id)

    def on_entered(self) -> None:
        """Ask everyone, if the new role is one that asks."""
        member = self.member
        self.round = None
        if member.role is Role.PROSPECTIVE:
            self._begin((member.node_id,))
        elif member.role is Role.CANDIDATE:
            self._begin(member.rules.grants_at_candidacy(member.key, self._pre_granted))

    def _begin(self, granted: tuple[int, ...]) -> None:
        member = self.member
        self.round = this = Round(member.role, member.epoch, dict.fromkeys(granted), {})
        self._judge(this)
        for voter in member.others:
            if self.round is this:
                self._ask(this, voter, 0)

    def _ask(self, this: Round, voter: VoterKey, failures: int) -> None:
        member = self.member
        end = member.rules.claimed_end(member.log.leo, member.log.durable_end)
        request = VoteRequest(
            cluster_id=member.cluster_id,
            voter=voter,
            replica_id=member.node_id,
            replica_directory_id=member.key.directory_id,
            replica_epoch=this.epoch,
            last_offset_epoch=member.epoch_below(end),
            last_offset=end,
            pre_vote=this.role is Role.PROSPECTIVE,
        )
        timeout = member.settings.request_timeout_ns
        member.env.request(voter.voter_id, CHANNEL, request, timeout, partial(self._on_answer, this, voter, failures))

    def _on_answer(self, this: Round, voter: VoterKey, failures: int, answer: VoteResponse | Failure) -> None:
        """2.15, 2.16"""
        member = self.member
        if isinstance(answer, Failure):
            if self.round is this:
                delay = member.rules.retry_backoff_ns(failures, member.settings)
                member.env.after(delay, partial(self._ask_again, this, voter, failures + 1))
            return
        if self.transitions.hear(answer.leader_epoch, answer.leader_id):
            return
        if self.round is not this or answer.leader_epoch != this.epoch:
            return
        side = this.granted if answer.vote_granted and answer.error_code is Error.NONE else this.refused
        side[voter.voter_id] = None
        self._judge(this)

    def _ask_again(self, this: Round, voter: VoterKey, failures: int) -> None:
        if self.round is this:
            self._ask(this, voter, failures)

    def _judge(self, this: Round) -> None:
        """2.6, 2.15"""
        member, voters = self.member, len(self.member.voters)
        rules = member.rules
        if rules.is_elected(len(this.granted), voters):
            self._win(this)
        elif this.role is Role.PROSPECTIVE:
            outstanding = voters - len(this.granted) - len(this.refused)
            if rules.is_rejected(len(this.granted), outstanding, voters):
                self.round = None
                self.transitions.give_up()

    def _win(self, this: Round) -> None:
        """2.5, 2.9, 2.17"""
        member = self.member
        self.round = None
        if this.role is Role.PROSPECTIVE:
            self._pre_granted = tuple(this.granted)
            self.transitions.change(Role.CANDIDATE, this.epoch + 1, vote_for=member.key)
        else:
            self.transitions.change(Role.LEADER, this.epoch, member.node_id)

    # -- voting ---------------------------------------------------------------------------------------------------------

    def on_vote(self, request: Request) -> None:
        """2.10, 2.11"""
        member, vote = self.member, request.message
        error = member.rules.refuse_vote_request(vote, member.cluster_id, member.epoch)
        if error is not None:
            self._reply(request, error=error)
        elif vote.replica_epoch > member.epoch:
            self.transitions.unattached(vote.replica_epoch, lambda: self._decide(request))
        else:
            self._decide(request)

    def _decide(self, request: Request) -> None:
        """2.12 to 2.14"""
        member, vote = self.member, request.message
        if not member.is_me(vote.voter):
            self._reply(request, error=Error.INVALID_VOTER_KEY)
            return
        rules, candidate = member.rules, VoterKey(vote.replica_id, vote.replica_directory_id)
        up_to_date = rules.candidate_is_up_to_date(vote.last_offset_epoch, vote.last_offset, member.last_epoch, member.log.leo)
        if vote.pre_vote:
            self._reply(request, granted=rules.grants_pre_vote(member.role, member.has_fetched, up_to_date))
        elif rules.grants_vote(member.role, member.state, candidate, up_to_date):
            granted = partial(self._reply, request, granted=True)
            self.transitions.change(member.role, member.epoch, member.state.leader_id, vote_for=candidate, then=granted)
        else:
            self._reply(request)

    def _reply(self, request: Request, *, granted: bool = False, error: Error = Error.NONE) -> None:
        member = self.member
        member.env.reply(request, VoteResponse(error, member.leader_id, member.epoch, granted))
