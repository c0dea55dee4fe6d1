"""replication/quorum/announcements.py: a leader says that its office begins, or that it ends (2.18, 2.20).

In     BeginQuorumEpoch and EndQuorumEpoch
Out    a follower of whoever leads; a fetch timeout that is over sooner
"""

from __future__ import annotations

from collections.abc import Callable

from replication.env import Request
from replication.errors import Error
from replication.quorum.election_state import Role
from replication.quorum.member import Member
from replication.quorum.transitions import Transitions
from replication.quorum_messages import (
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)


class Announcements:
    """What leaders say of themselves."""

    def __init__(self, member: Member, transitions: Transitions, wait_only: Callable[[int], None]) -> None:
        self.member, self.transitions = member, transitions
        self._wait_only = wait_only

    def on_begin(self, request: Request) -> None:
        """2.18"""
        member, told = self.member, request.message
        error = member.rules.refuse_epoch_news(told.cluster_id, member.cluster_id, told.leader_epoch, member.epoch)
        if error is None and not member.is_me(told.voter):
            error = Error.INVALID_VOTER_KEY

        def reply() -> None:
            member.env.reply(request, BeginQuorumEpochResponse(error or Error.NONE, member.leader_id, member.epoch))

        missed = member.role is Role.PROSPECTIVE and (told.leader_epoch, told.leader_id) == (member.epoch, member.leader_id)
        if error is None and missed:
            self.transitions.follow(told.leader_epoch, told.leader_id, reply)  # the leader that it thought lost speaks to it
        elif error is Error.INCONSISTENT_CLUSTER_ID or not self.transitions.hear(told.leader_epoch, told.leader_id, reply):
            reply()

    def on_end(self, request: Request) -> None:
        """2.20"""
        member, told = self.member, request.message
        error = member.rules.refuse_epoch_news(told.cluster_id, member.cluster_id, told.leader_epoch, member.epoch)
        if error is None:
            self._hear_end(request, told)
        else:
            member.env.reply(request, EndQuorumEpochResponse(error, member.leader_id, member.epoch))

    def _hear_end(self, request: Request, told: EndQuorumEpochRequest) -> None:
        member = self.member

        def reply() -> None:
            if member.role is Role.FOLLOWER and member.leader_id == told.leader_id:
                self._hurry(told)
            member.env.reply(request, EndQuorumEpochResponse(Error.NONE, member.leader_id, member.epoch))

        if not self.transitions.hear(told.leader_epoch, told.leader_id, reply):
            reply()

    def _hurry(self, told: EndQuorumEpochRequest) -> None:
        """2.20 The heirs need not wait until they notice by themselves."""
        member = self.member
        places = [place for place, voter in enumerate(told.preferred_successors) if member.is_me(voter)]
        if places and member.is_voter:
            rules, chance = member.rules, member.env.random.random()
            self._wait_only(rules.fetch_timeout_after_end_ns(places[0], chance, member.settings))
