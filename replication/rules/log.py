"""replication/rules/log.py: epochs, truncation, recovery, flushing (5.1 to 5.6, 5.24, 5.41 to 5.45, 5.49, 10.3)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from replication.messages import EpochEndOffset
from replication.settings import TopicSettings
from replication.state import Epochs


class FollowerAppend(Enum):
    """What a fetched batch means for the log it arrives at."""

    APPEND = "append"
    RESTART = "restart the log at the batch's base offset, then append"
    FAULT = "it does not fit"


class LogRules:
    """What a log does to itself."""

    # -- the epoch cache ------------------------------------------------------------------------------------------------

    def epochs_with(self, epochs: Epochs, epoch: int, start: int) -> Epochs:
        """5.2 The cache after `epoch` starts at `start`: later and contradicting entries go, so both columns stay strictly
        increasing.

        A restarted or re-elected leader may tell the same epoch again; the first offset of an epoch is the one that counts.
        """
        if epochs and epochs[-1][0] == epoch and start >= epochs[-1][1]:
            return epochs
        return (*(entry for entry in epochs if entry[0] < epoch and entry[1] < start), (epoch, start))

    def end_offset_for(self, epochs: Epochs, epoch: int, leo: int) -> EpochEndOffset | None:
        """5.3 Where `epoch` ends in this log, or where the nearest epoch below it does. None: this log knows too little to say.

        Naming the floor epoch too is what lets two logs that share no recent epoch find each other (B03).
        """
        if not epochs or epoch > epochs[-1][0]:
            return None
        if epoch == epochs[-1][0]:
            return EpochEndOffset(epoch, leo)
        higher = next(index for index, entry in enumerate(epochs) if entry[0] > epoch)
        floor = epochs[higher - 1][0] if higher else epoch
        return EpochEndOffset(floor, epochs[higher][1])

    def epochs_below(self, epochs: Epochs, cut: int, leo: int) -> Epochs:
        """5.4 What a truncation to `cut` leaves. An epoch without a record of its own goes too: nothing here speaks for it
        (B10a)."""
        end = min(cut, leo)
        return tuple(entry for entry in epochs if entry[1] < end)

    def epochs_from(self, epochs: Epochs, log_start: int) -> Epochs:
        """5.49 What remains when the log starts later: the epoch that covers the new start, moved there, and all after it."""
        covering = [entry for entry in epochs if entry[1] <= log_start]
        if not covering:
            return epochs
        return ((covering[-1][0], log_start), *epochs[len(covering) :])

    # -- truncation -----------------------------------------------------------------------------------------------------

    def truncation_point(self, leader_end: EpochEndOffset, own_end: EpochEndOffset | None, leo: int) -> int:
        """5.24 How far a follower cuts when its leader answered that they diverge.

        Where the two have different epochs to speak of, it cuts to the end of its own and asks again: each round strictly lowers
        the last epoch (5.25), so it ends.
        """
        if own_end is None:
            return min(leader_end.end_offset, leo)
        if own_end.epoch != leader_end.epoch:
            return min(own_end.end_offset, leo)
        return min(own_end.end_offset, leader_end.end_offset, leo)

    def hw_after_truncation(self, hw: int, leo: int) -> int:
        """5.4 A high watermark never stands above the log's end."""
        return min(hw, leo)

    def must_rebuild_producers(self, cut: int, leo: int) -> bool:
        """5.4, 6.11 Producer state is derived from the log: when records go, what was derived from them goes too (B10b)."""
        return cut < leo

    # -- loading --------------------------------------------------------------------------------------------------------

    def must_check(self, clean: bool, end_offset: int, recovery_point: int) -> bool:
        """5.5 After an unclean stop every batch that was not known to be durable is checked; a clean marker vouches for all."""
        return not clean and end_offset > recovery_point

    def assigns_at_load(self, epochs: Epochs, epoch: int) -> bool:
        """5.42 Every batch tells its epoch; the first of a newer one starts it."""
        return not epochs or epoch > epochs[-1][0]

    def hw_at_load(self, checkpoint: int | None, log_start: int, leo: int) -> int:
        """5.6 The checkpoint is written now and then: only a lower bound, and after a loss it may point beyond the end."""
        return log_start if checkpoint is None else max(log_start, min(checkpoint, leo))

    def may_create_log(self, assigned: bytes, online: Iterable[bytes], any_offline: bool) -> bool:
        """10.3 A missing log may lie in a directory that is merely offline; an empty one elsewhere would forget what it
        promised."""
        return assigned in online or not any_offline

    # -- writing --------------------------------------------------------------------------------------------------------

    def must_flush(self, unflushed_messages: int, since_flush_ms: int, settings: TopicSettings) -> bool:
        """5.41 When an interval is reached, the sync comes first and the append counts after it. By default it never is."""
        return unflushed_messages >= settings.flush_messages or since_flush_ms >= settings.flush_ms

    def must_roll(self, size: int, batch_size: int, age_ms: int, index_full: bool, settings: TopicSettings) -> bool:
        """5.49 A new segment before the append that would make this one too large, too old or impossible to index."""
        return size + batch_size > settings.segment_bytes or age_ms > settings.segment_ms or index_full

    def judge_follower_append(self, base: int, last: int, log_start: int, leo: int) -> FollowerAppend:
        """5.44 A follower's log has no gaps. Only an empty one may start again, where the leader's log begins inside a batch."""
        if base == leo:
            return FollowerAppend.APPEND
        if leo == log_start and base < leo <= last:
            return FollowerAppend.RESTART
        return FollowerAppend.FAULT

    def low_watermark(self, own_log_start: int, live_followers: Iterable[int]) -> int:
        """5.43 What every live replica has let go of. Unknown (-1) until a follower reported."""
        return min(own_log_start, min(live_followers, default=own_log_start))
