"""replication/controller/isr_requests.py: AlterPartition at the active controller (5.35, 5.36, 5.37).

In     a leader's proposals, any of them perhaps a late copy
Out    the change, or a refusal that may step the partition epoch; each partition's answer from the state it was left in
Keeps  every item is judged after the items before it
"""

from __future__ import annotations

from typing import Any

from replication.controller.draft import Draft
from replication.controller.partition_changes import Intent, PartitionChanges, Place
from replication.errors import Error
from replication.events import AlterPartitionRefusedByController
from replication.image import PartitionState, RecoveryState
from replication.messages import AlteredPartition, AlterPartitionItem, AlterPartitionRequest, AlterPartitionResponse
from replication.records import PartitionChange


class IsrRequests:
    """Compare and set."""

    def __init__(self, changes: PartitionChanges) -> None:
        self.changes, self.rules = changes, changes.rules

    def on_alter_partition(self, draft: Draft, asked: AlterPartitionRequest) -> AlterPartitionResponse:
        if not self.rules.is_registered_process(draft.image.brokers.get(asked.broker_id), asked.broker_epoch):
            return AlterPartitionResponse(Error.STALE_BROKER_EPOCH)
        return AlterPartitionResponse(Error.NONE, tuple(self._alter(draft, asked.broker_id, item) for item in asked.partitions))

    def _alter(self, draft: Draft, sender: int, asked: AlterPartitionItem) -> AlteredPartition:
        topic = draft.image.topics.get(asked.topic_id)
        if topic is None:
            return AlteredPartition(asked.topic_id, asked.partition_index, Error.UNKNOWN_TOPIC_ID)
        state = topic.partitions.get(asked.partition_index)
        if state is None:
            return AlteredPartition(asked.topic_id, asked.partition_index, Error.UNKNOWN_TOPIC_OR_PARTITION)
        place = Place(topic.name, asked.topic_id, asked.partition_index, state)
        refusal = self.rules.refuse_alter(sender, asked, state, draft.image.brokers)
        if refusal is not None:
            return self._refuse(draft, place, sender, asked, refusal)
        return self._accept(draft, place, sender, asked)

    def _accept(self, draft: Draft, place: Place, sender: int, asked: AlterPartitionItem) -> AlteredPartition:
        """5.36 What it completes may also end the office of whoever asked."""
        isr = tuple(member.broker_id for member in asked.new_isr_with_epochs)
        self.changes.write(draft, place, Intent(isr=isr, recovery_state=RecoveryState(asked.leader_recovery_state)))
        after = _state(draft, place)
        error = Error.NONE if after.leader == sender else Error.NEW_LEADER_ELECTED
        return AlteredPartition(
            asked.topic_id,
            asked.partition_index,
            error,
            after.leader,
            after.leader_epoch,
            after.isr,
            int(after.leader_recovery_state),
            after.partition_epoch,
        )

    def _refuse(self, draft: Draft, place: Place, sender: int, asked: AlterPartitionItem, refusal: Error) -> AlteredPartition:
        """5.37"""
        if self.rules.steps_epoch_on_refusal(refusal):
            draft.add(PartitionChange(place.topic_id, place.index, isr=place.state.isr))
        after = _state(draft, place)
        told: dict[str, Any] = {"topic": place.topic, "partition": place.index, "sender": sender, "error": refusal.name}
        draft.tell(
            AlterPartitionRefusedByController(
                **told,
                leader_epoch=after.leader_epoch,
                partition_epoch=after.partition_epoch,
                asked_leader_epoch=asked.leader_epoch,
                asked_partition_epoch=asked.partition_epoch,
                proposed=tuple(member.broker_id for member in asked.new_isr_with_epochs),
            )
        )
        return AlteredPartition(asked.topic_id, asked.partition_index, refusal)


def _state(draft: Draft, place: Place) -> PartitionState:
    return draft.image.topics[place.topic_id].partitions[place.index]
