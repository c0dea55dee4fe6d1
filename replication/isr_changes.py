"""replication/isr_changes.py: the queue of ISR changes on their way to the controller (5.34, 5.37, 5.47).

In     proposals of leaders
Out    AlterPartition requests, one in flight per broker; each partition's answer to the leader that proposed
Keeps  at most one item per partition, from the proposal until its partition is answered
"""

from __future__ import annotations

import msgspec

from replication.broker_state import BrokerState
from replication.controller_channel import RETRY_MS, ControllerChannel
from replication.env import NANOSECONDS
from replication.errors import Error
from replication.identity import Key
from replication.leader import LeaderRole
from replication.messages import AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from replication.state import PendingChange


class Proposal(msgspec.Struct, frozen=True):
    """A change, and who wants to hear about it."""

    leader: LeaderRole
    item: AlterPartitionItem
    pending: PendingChange

    @property
    def superseded(self) -> bool:
        """5.34 Metadata has ended this change: nobody waits for its answer."""
        return self.leader.state.pending is not self.pending


class IsrChanges:
    """ISR changes of one broker."""

    def __init__(self, broker: BrokerState, channel: ControllerChannel) -> None:
        self.broker, self.channel = broker, channel
        self._queue: dict[Key, Proposal] = {}
        self._in_flight = False
        self._armed = False

    def propose(self, leader: LeaderRole, item: AlterPartitionItem, pending: PendingChange) -> bool:
        """5.47 Take a proposal. False: an older one of that partition has not been answered, so this one never leaves the
        node."""
        key = item.topic_id, item.partition_index
        if key in self._queue:
            return False
        self._queue[key] = Proposal(leader, item, pending)
        # Sent from a timer of no length: the proposer notes the change as pending before anything can come back, and proposals of
        # one event travel together.
        self._send_after(0)
        return True

    def _send_after(self, delay_ns: int) -> None:
        if not self._armed and not self._in_flight:
            self._armed = True
            self.broker.env.after(delay_ns, self._send)

    def _send(self) -> None:
        self._armed = False
        self._queue = {key: proposal for key, proposal in self._queue.items() if not proposal.superseded}
        if self._in_flight or not self._queue:
            return
        self._in_flight = True
        sent = dict(self._queue)
        request = AlterPartitionRequest(
            self.broker.node_id, self.broker.broker_epoch, tuple(proposal.item for proposal in sent.values())
        )
        self.channel.send("alter", request, lambda answer: self._on_answer(sent, answer))

    def _on_answer(self, sent: dict[Key, Proposal], answer: AlterPartitionResponse) -> None:
        """5.37, 5.47 An answered item leaves the queue; a refused request is sent again as a whole."""
        self._in_flight = False
        if answer.error_code is Error.NONE:
            for altered in answer.partitions:
                key = altered.topic_id, altered.partition_index
                proposal = sent.get(key)
                if proposal is not None and proposal.leader.on_altered(proposal.pending, altered):
                    self._queue.pop(key, None)
        if self._queue:
            again = answer.error_code is not Error.NONE or any(key in sent for key in self._queue)
            self._send_after(RETRY_MS * NANOSECONDS if again else 0)
