"""replication/rules/produce.py: what may be appended, and when it is acknowledged (section 6)."""

from __future__ import annotations

from enum import Enum

from replication.batch import Header, crc_is_right, is_well_formed
from replication.errors import Error
from replication.settings import TopicSettings
from replication.state import ProducedBatch, ProducerEntry

ACKS_NONE = 0
ACKS_LEADER = 1
ACKS_ALL = -1

_REMEMBERED_BATCHES = 5
_SEQUENCES = 2**31


class Verdict(Enum):
    """What a waiting produce is told."""

    WAIT = "wait"


WAIT = Verdict.WAIT


class ProduceRules:
    """From the request to the acknowledgement."""

    # -- before anything is written -------------------------------------------------------------------------------------

    def refuse_acks(self, acks: int) -> Error | None:
        """6.1 There are three ways to ask for an acknowledgement."""
        return None if acks in (ACKS_NONE, ACKS_LEADER, ACKS_ALL) else Error.INVALID_REQUIRED_ACKS

    def refuse_produce(self, acks: int, is_leader: bool, isr_size: int, min_isr: int) -> Error | None:
        """6.1, 6.3 Only a leader appends, and with acks=all only while enough copies can be made. Produce names no leader
        epoch."""
        if not is_leader:
            return Error.NOT_LEADER_OR_FOLLOWER
        return Error.NOT_ENOUGH_REPLICAS if acks == ACKS_ALL and isr_size < min_isr else None

    def refuse_batch(self, data: bytes, header: Header | None, settings: TopicSettings, now_ms: int) -> Error | None:
        """6.12 One whole batch of format v2, intact, not too large, of a believable time."""
        if header is None or header.size != len(data):
            return Error.INVALID_RECORD if header and header.size < len(data) else Error.CORRUPT_MESSAGE
        if not crc_is_right(data, header):
            return Error.CORRUPT_MESSAGE
        if not is_well_formed(header):
            return Error.INVALID_RECORD
        if header.size > settings.max_message_bytes:
            return Error.MESSAGE_TOO_LARGE
        if header.size > settings.segment_bytes:
            return Error.RECORD_LIST_TOO_LARGE
        return None if self.is_believable(header.max_timestamp, settings, now_ms) else Error.INVALID_TIMESTAMP

    def is_believable(self, timestamp_ms: int, settings: TopicSettings, now_ms: int) -> bool:
        """6.12 With CreateTime the producer's clock is trusted within a window; -1 means that it gave no time."""
        if settings.log_append_time or timestamp_ms < 0:
            return True
        ahead = timestamp_ms - now_ms
        return ahead <= settings.message_timestamp_after_max_ms and -ahead <= settings.message_timestamp_before_max_ms

    # -- idempotent producers -------------------------------------------------------------------------------------------

    def last_sequence(self, header: Header) -> int:
        """6.10 Sequences wrap from 2^31 - 1 to 0."""
        return (header.base_sequence + header.last_offset_delta) % _SEQUENCES

    def known_copy(self, entry: ProducerEntry | None, header: Header) -> ProducedBatch | None:
        """6.9 A batch that came before is not appended again: its first copy's offsets are the answer (B31a)."""
        if entry is None or entry.producer_epoch != header.producer_epoch:
            return None
        wanted = header.base_sequence, self.last_sequence(header)
        return next((batch for batch in entry.batches if (batch.first_sequence, batch.last_sequence) == wanted), None)

    def refuse_sequence(self, entry: ProducerEntry | None, header: Header) -> Error | None:
        """6.10 A known producer goes on where it stopped, or starts a higher epoch at 0; an unknown one may start anywhere."""
        if entry is None:
            return None
        if header.producer_epoch < entry.producer_epoch:
            return Error.INVALID_PRODUCER_EPOCH
        new_epoch = header.producer_epoch > entry.producer_epoch
        expected = 0 if new_epoch else (entry.batches[-1].last_sequence + 1) % _SEQUENCES
        return None if header.base_sequence == expected else Error.OUT_OF_ORDER_SEQUENCE_NUMBER

    def producer_after(self, entry: ProducerEntry | None, header: Header, base_offset: int) -> ProducerEntry:
        """6.8, 6.11 What a log remembers after one more batch, on leaders and followers alike, so that it survives a fail-over
        (B31c)."""
        last_offset = base_offset + header.last_offset_delta
        batch = ProducedBatch(header.base_sequence, self.last_sequence(header), base_offset, last_offset)
        if entry is None or entry.producer_epoch != header.producer_epoch:
            return ProducerEntry(header.producer_epoch, (batch,))
        return ProducerEntry(header.producer_epoch, (*entry.batches, batch)[-_REMEMBERED_BATCHES:])

    # -- after the append -----------------------------------------------------------------------------------------------

    def waits_for_hw(self, acks: int, known_copy: bool) -> bool:
        """6.2, 6.3 acks=all waits until every member that may be elected has the record (B28).

        A copy of a known batch waits as its first did (6.9): known is not committed (B31b).
        """
        del known_copy
        return acks == ACKS_ALL

    def follower_tracks_producers(self) -> bool:
        """6.11 Followers keep producer state too, from the batches they copy: whoever leads next recognises a retry (B31c)."""
        return True

    def judge_waiting(self, required: int, hw: int, maximal_isr_size: int, min_isr: int) -> Error | Verdict | None:
        """6.4 Acknowledged once the HW has passed it; None is success. With too few members left the promise was not kept as
        asked."""
        if hw < required:
            return WAIT
        return None if maximal_isr_size >= min_isr else Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND
