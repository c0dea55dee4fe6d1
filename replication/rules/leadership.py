"""replication/rules/leadership.py: taking up and leaving office (3.8, 5.7 to 5.12)."""

from __future__ import annotations

from enum import Enum

from replication.errors import Error
from replication.state import Epochs, Follower, Following


class MetadataVerdict(Enum):
    """What a partition state from the metadata means for a replica that already has one."""

    IGNORE = "older than what this replica has"
    REFRESH = "the same change again: the list of replicas may be refreshed, nothing else"
    APPLY = "newer"


class LeadershipRules:
    """What metadata does to a replica."""

    def judge_metadata(self, own_partition_epoch: int, partition_epoch: int) -> MetadataVerdict:
        """3.8, 5.7, 5.11 A replica never goes back, and the same change told twice must not end a pending ISR change (B53).

        The answer to AlterPartition and the metadata log tell the same change, in either order; the higher partition epoch wins
        (5.38).
        """
        if partition_epoch < own_partition_epoch:
            return MetadataVerdict.IGNORE
        return MetadataVerdict.REFRESH if partition_epoch == own_partition_epoch else MetadataVerdict.APPLY

    def starts_tenure(self, own_leader_epoch: int, leader_epoch: int) -> bool:
        """5.8, 5.9 A higher leader epoch is a new tenure even for a replica that believes it never stopped leading."""
        return leader_epoch > own_leader_epoch

    def epoch_recorded_on_election(self, leader_epoch: int, leo: int) -> tuple[int, int] | None:
        """5.8 The new epoch is recorded at once, even if nothing is ever written in it.

        A follower may ask where an older epoch ended, and only the start of the next one tells (B04).
        """
        return leader_epoch, leo

    def follower_at_start(self, broker_id: int, in_isr: bool, now: int, remembered: Follower | None) -> Follower:
        """5.8 What a leader assumes of a follower when its tenure starts: nothing, and a grace period for members of the ISR.

        What it remembered is from another tenure, in which the follower may since have truncated (B16).
        """
        del remembered
        return Follower(broker_id, last_caught_up=now if in_isr else None)

    def waiting_produces_after(self, still_leads: bool) -> Error | None:
        """5.11, 6.4 A produce that waits ends with the office: after another tenure its offset may hold another record (B30)."""
        return None if still_leads else Error.NOT_LEADER_OR_FOLLOWER

    def settings_come_first(self) -> bool:
        """3.14 Inside one image settings are applied before partition states, so that no state is judged by a setting that is
        gone
        (B55)."""
        return True

    def must_restart_fetching(self, following: Following | None, leader: int, leader_epoch: int) -> bool:
        """5.11, 5.12 A new leader epoch starts fetching afresh, also from the same leader: its log may have changed meanwhile
        (B05)."""
        return following != Following(leader, leader_epoch)

    def truncation_before_fetching(self, epochs: Epochs, hw: int, leo: int) -> int | None:
        """5.11 A log with epochs is compared by the leader, never cut on suspicion (B01); one without has only its HW to go
        by."""
        return hw if not epochs and hw < leo else None
