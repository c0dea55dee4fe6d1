"""replication/partition.py: one replica: its role, from metadata; its log; the requests that wait for it (3.8, 5.7 to 5.12,
section 6).

In     partition states, produced batches, fetches to judge
Out    appends; answers for fetches; wake-ups for whatever waits here
Keeps  `standing` (the newest epochs) and one role: leader, follower, or neither; waiting requests end when the role does
Not    ISR and high watermark: leader.py; the follower's side: follower.py; requests of several partitions: produces.py,
       fetches.py
"""

from __future__ import annotations

import msgspec

from replication.batch import Header, header_at, stamped, with_append_time
from replication.broker_state import BrokerState
from replication.errors import Error
from replication.events import LeaderChanged
from replication.follower import FollowerRole
from replication.identity import Key
from replication.image import PartitionState
from replication.leader import LeaderRole, Propose
from replication.log import Log
from replication.messages import CONSUMER, EpochEndOffset, FetchedPartition, FetchPartition
from replication.rules.isr import HwTrigger
from replication.rules.leadership import MetadataVerdict
from replication.rules.produce import Verdict
from replication.settings import TopicSettings
from replication.state import Following, Standing
from replication.waiting import FetchWaiters, OffsetWaiters


class Appended(msgspec.Struct, frozen=True, gc=False):
    """Where a produced batch is: just appended, or since its first copy came."""

    base_offset: int
    end_offset: int
    log_append_time_ms: int = -1
    known_copy: bool = False


class Partition:
    """A partition's replica on this broker."""

    def __init__(self, key: Key, broker: BrokerState, log: Log, propose: Propose) -> None:
        self.key, self.broker, self.log = key, broker, log
        self.standing = Standing(key[0], log.name[0], key[1])
        self.leader: LeaderRole | None = None
        self.follower: FollowerRole | None = None
        self.waiting_for_hw = OffsetWaiters()
        self.waiting_for_flush = OffsetWaiters()
        self.replica_fetches = FetchWaiters()
        self.consumer_fetches = FetchWaiters()
        self._propose = propose
        self._told: tuple[int, int] | None = None  # the leader and epoch last told of
        log.on_counted = self._on_counted

    @property
    def offline(self) -> bool:
        return self.log.directory.failed is not None

    @property
    def taking_office(self) -> bool:
        return self.key in self.broker.taking_office

    # -- metadata -------------------------------------------------------------------------------------------------------

    def apply(self, state: PartitionState) -> MetadataVerdict:
        """3.7, 3.8 Take up what the metadata says, whatever happened between the last state and this one."""
        standing = self.standing
        verdict = self.broker.rules.judge_metadata(standing.partition_epoch, state.partition_epoch)
        if verdict is MetadataVerdict.REFRESH:
            standing.replicas = state.replicas
            if self.leader is not None:
                self.leader.know_replicas(forget=False)
                self.look_at_hw(HwTrigger.OFFICE)
        elif verdict is MetadataVerdict.APPLY:
            new_tenure = self.broker.rules.starts_tenure(standing.leader_epoch, state.leader_epoch)
            standing.leader_epoch = max(standing.leader_epoch, state.leader_epoch)
            standing.partition_epoch, standing.replicas = state.partition_epoch, state.replicas
            if state.leader == self.broker.node_id:
                self._lead(state, new_tenure)
            else:
                self._stop_leading(self.broker.rules.waiting_produces_after(still_leads=False))
                self._follow(state)
            self.broker.release()
        return verdict

    def _lead(self, state: PartitionState, new_tenure: bool) -> None:
        """5.7 to 5.9 The office begins when its epoch is durable (5.41); until then requests are held."""
        self.follower = None
        self.log.tracks_producers = True
        if self.leader is None:
            self.leader = LeaderRole(self.standing, self.broker, self.log, self._propose, self._on_hw_advanced)
        self.leader.take_up(state, new_tenure)
        if not new_tenure:
            self._in_office()
            return
        self._tell_leader(state.leader, self.log.leo)
        if entry := self.broker.rules.epoch_recorded_on_election(state.leader_epoch, self.log.leo):
            self.log.assign_epoch(*entry)
        self.broker.taking_office.add(self.key)
        self.log.settling.then(lambda: self._take_office(state.leader_epoch))

    def _take_office(self, leader_epoch: int) -> None:
        if self.leader is not None and self.standing.leader_epoch == leader_epoch:  # else other metadata was faster
            self.broker.taking_office.discard(self.key)
            self._in_office()
            self.broker.release()

    def _in_office(self) -> None:
        if not self.taking_office:
            self.wake_all()
            self._on_counted()
            self.look_at_hw(HwTrigger.OFFICE)

    def look_at_hw(self, trigger: HwTrigger) -> None:
        """5.27 Nothing is acknowledged before the office is taken."""
        leader, offices = self.leader, self.broker.taking_office
        if leader is not None and not (offices and self.key in offices):
            leader.advance_hw(trigger)

    def _follow(self, state: PartitionState) -> None:
        """5.11, 5.12 A new leader epoch makes a new follower; without a leader there is nobody to follow."""
        following = self.follower.following if self.follower else None
        if not state.has_leader:
            self.follower = None
        elif self.broker.rules.must_restart_fetching(following, state.leader, state.leader_epoch):
            following = Following(state.leader, state.leader_epoch)
            self.follower = FollowerRole(self.standing, self.broker, self.log, following)
            self.follower.prepare()
        else:
            return
        self._tell_leader(state.leader, None)
        self.wake_all()

    def _stop_leading(self, waiting: Error | None) -> None:
        """5.11 Everything a leader knew is forgotten, and whoever waited for it is told."""
        if self.leader is not None:
            self.leader.resign()
        self.leader = None
        self.broker.taking_office.discard(self.key)
        if waiting is not None:
            self.waiting_for_hw.fail(waiting)
            self.waiting_for_flush.fail(waiting)

    def stop(self, error: Error) -> None:
        """3.16, 5.12, 10.1 This broker has the replica no more, or cannot use it: whoever waits is told why."""
        self._stop_leading(error)
        self.follower = None
        self.wake_all()
        self.broker.release()

    def read_settings(self, settings: TopicSettings) -> None:
        """3.14 Before the partition states of the same image."""
        self.log.settings = settings
        if self.leader is not None:
            self.leader.read_settings()

    def _tell_leader(self, leader: int, epoch_start: int | None) -> None:
        if (leader, self.standing.leader_epoch) == self._told:
            return
        self._told = leader, self.standing.leader_epoch
        self.broker.env.emit(LeaderChanged(**self.standing.where(), leader=leader, epoch_start=epoch_start))

    # -- produce --------------------------------------------------------------------------------------------------------

    def append(self, data: bytes, acks: int) -> Appended | Error:
        """6.1, 6.3, 6.9, 6.12 Append one produced batch, or say why not."""
        leader, rules, log = self.leader, self.broker.rules, self.log
        if self.offline:
            return Error.KAFKA_STORAGE_ERROR
        isr_size, min_isr = (len(leader.state.isr), leader.min_isr) if leader else (0, 0)
        if refusal := rules.refuse_produce(acks, leader is not None, isr_size, min_isr):
            return refusal
        header = header_at(data)
        now_ms = self.broker.env.wall_ms()
        if refusal := rules.refuse_batch(data, header, log.settings, now_ms):
            return refusal
        assert header is not None  # refuse_batch refuses what has none
        if header.producer_id >= 0 and (known := self._judge_producer(header)) is not None:
            return known
        return self._append(data, header, now_ms)

    def _judge_producer(self, header: Header) -> Appended | Error | None:
        """6.9, 6.10"""
        entry = self.log.producers.get(header.producer_id)
        if copy := self.broker.rules.known_copy(entry, header):
            return Appended(copy.first_offset, copy.last_offset + 1, known_copy=True)
        return self.broker.rules.refuse_sequence(entry, header)

    def _append(self, data: bytes, header: Header, now_ms: int) -> Appended | Error:
        log, base = self.log, self.log.leo
        append_time = -1
        if log.settings.log_append_time:
            data, append_time = with_append_time(data, header, now_ms), now_ms
            header = msgspec.structs.replace(header, max_timestamp=now_ms)
        epoch = self.standing.leader_epoch
        if not log.append(stamped(data, base, epoch), header, base, epoch):
            return Error.KAFKA_STORAGE_ERROR
        self.replica_fetches.wake()
        self.look_at_hw(HwTrigger.APPEND)
        return Appended(base, base + header.records_count, append_time)

    def judge_waiting(self, required: int) -> Error | Verdict | None:
        """6.4"""
        leader = self.leader
        if leader is None:
            return Error.NOT_LEADER_OR_FOLLOWER
        return self.broker.rules.judge_waiting(required, self.log.hw, len(leader.state.maximal_isr), leader.min_isr)

    # -- fetch ----------------------------------------------------------------------------------------------------------

    def refuse_fetch(self, replica_id: int, replica_epoch: int, asked: FetchPartition) -> FetchedPartition | None:
        """5.14 to 5.16, 5.18, 7.2, 7.3 What a fetch must be told instead of records: an error, or that it diverges. None: it may
        read."""
        if self.offline:
            return self._refused(Error.KAFKA_STORAGE_ERROR)
        rules, log, standing = self.broker.rules, self.log, self.standing
        if replica_id != CONSUMER:
            followers = self.leader.state.followers if self.leader else ()
            error = rules.refuse_replica_fetch(
                asked.current_leader_epoch, standing.leader_epoch, self.leader is not None, replica_id, followers
            )
        else:
            error = self.refuse_client(asked.current_leader_epoch)
        if error is not None:
            return self._refused(error)
        verdict = rules.judge_divergence(log.epochs, log.leo, asked.last_fetched_epoch, asked.fetch_offset)
        in_range = rules.is_in_range(asked.fetch_offset, log.log_start, log.hw, log.leo, replica_id != CONSUMER)
        if not in_range and not isinstance(verdict, EpochEndOffset):
            verdict = Error.OFFSET_OUT_OF_RANGE
        if verdict is None and replica_id != CONSUMER:
            verdict = rules.refuse_broker_epoch(replica_epoch, self.broker.image.brokers.get(replica_id))
        if verdict is None:
            return None
        return self._refused(verdict) if isinstance(verdict, Error) else self._diverging(verdict, asked.fetch_offset)

    def refuse_client(self, current_leader_epoch: int) -> Error | None:
        """7.3 The epoch first, then the office."""
        error = self.broker.rules.check_leader_epoch(current_leader_epoch, self.standing.leader_epoch)
        return error or (None if self.leader is not None else Error.NOT_LEADER_OR_FOLLOWER)

    def _diverging(self, end: EpochEndOffset, fetch_offset: int) -> FetchedPartition:
        """5.16; below the log's start there is nothing to compare with (section 15)."""
        log = self.log
        if fetch_offset < log.log_start:
            return self._refused(Error.OFFSET_OUT_OF_RANGE)
        return FetchedPartition(
            *self.key, high_watermark=log.hw, last_stable_offset=log.hw, log_start_offset=log.log_start, diverging_epoch=end
        )

    def _refused(self, error: Error) -> FetchedPartition:
        return FetchedPartition(*self.key, error_code=error, current_leader=self.broker.current_leader(self.key))

    # -- waking ---------------------------------------------------------------------------------------------------------

    def _on_hw_advanced(self) -> None:
        """6.6, 5.40 Answers go out because the HW moved. Replica fetches are not woken: followers learn with their next
        answer."""
        if len(self.waiting_for_hw):
            self.waiting_for_hw.passed(self.log.hw, self._ack)
        self.consumer_fetches.wake()

    def _on_counted(self) -> None:
        """5.41 A sync that had to come first is done."""
        if self.taking_office:
            return
        self.waiting_for_flush.passed(self.log.counted_end, lambda: None)
        self.look_at_hw(HwTrigger.APPEND)

    def _ack(self) -> Error | None:
        verdict = self.judge_waiting(self.log.hw)
        return verdict if isinstance(verdict, Error) else None

    def wake_all(self) -> None:
        """5.40 Role, epoch or log start changed: every parked fetch looks again."""
        self.replica_fetches.wake()
        self.consumer_fetches.wake()
