"""replication/quorum/election_state.py: the roles of a member, and the few facts about elections that must survive (2.1 to 2.5).

In     the text of `quorum-state`
Out    the same facts as a value, and as text again
Keeps  nothing: who writes it, and when it counts, is transitions.py
"""

from __future__ import annotations

import json
from enum import Enum

import msgspec

from replication.identity import NO_LEADER, UNASSIGNED, id_of_text, id_text
from replication.quorum_messages import VoterKey

_VERSION = 1
_NOBODY = -1


class Role(Enum):
    """2.5 What a member is in its epoch. Observers are only ever unattached or followers."""

    UNATTACHED = "unattached"
    PROSPECTIVE = "prospective"
    CANDIDATE = "candidate"
    LEADER = "leader"
    FOLLOWER = "follower"
    RESIGNED = "resigned"


class ElectionState(msgspec.Struct, frozen=True):
    """2.1 The epoch, who leads it if that is known, and who got this member's vote in it."""

    leader_id: int = NO_LEADER
    epoch: int = 0
    voted: VoterKey | None = None


def election_state_text(state: ElectionState) -> bytes:
    voted = state.voted
    content = {
        "leaderId": state.leader_id,
        "leaderEpoch": state.epoch,
        "votedId": voted.voter_id if voted else _NOBODY,
        "votedDirectoryId": id_text(voted.directory_id if voted else UNASSIGNED),
        "data_version": _VERSION,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def read_election_state(data: bytes) -> ElectionState | None:
    """None where the file is damaged or of another version."""
    try:
        content = json.loads(data)
        if content["data_version"] != _VERSION:
            return None
        voted_id = int(content["votedId"])
        voted = None if voted_id == _NOBODY else VoterKey(voted_id, id_of_text(content["votedDirectoryId"]))
        return ElectionState(int(content["leaderId"]), int(content["leaderEpoch"]), voted)
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
