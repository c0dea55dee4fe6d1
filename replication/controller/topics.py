"""replication/controller/topics.py: topics come and go (3.9, 3.15, 3.16).

In     CreateTopics, DeleteTopics, by name
Out    a topic's records in one batch: its id, its settings, its partitions; or the reason why not
Keeps  each topic is all or nothing. Under the same name a topic is another one: it gets another id
"""

from __future__ import annotations

from replication.admin_messages import AdminResponse, AdminResult, CreateTopicsRequest, DeleteTopicsRequest, NewTopic
from replication.controller.draft import Draft
from replication.controller.partition_changes import PartitionChanges
from replication.env import Chance
from replication.errors import Error
from replication.identity import random_id
from replication.image import TOPIC
from replication.records import ConfigRecord, PartitionRecord, RemoveTopic, TopicRecord
from replication.rules.topics import Assignment


class Topics:
    """Creation and removal."""

    def __init__(self, changes: PartitionChanges, chance: Chance) -> None:
        self.changes, self.rules, self.settings, self.chance = changes, changes.rules, changes.settings, chance

    def on_create_topics(self, draft: Draft, asked: CreateTopicsRequest) -> AdminResponse:
        return AdminResponse(Error.NONE, tuple(AdminResult(new.name, self._create(draft, new)) for new in asked.topics))

    def on_delete_topics(self, draft: Draft, asked: DeleteTopicsRequest) -> AdminResponse:
        """3.16"""
        return AdminResponse(Error.NONE, tuple(AdminResult(name, _delete(draft, name)) for name in asked.topics))

    def _create(self, draft: Draft, new: NewTopic) -> Error:
        placed = self._placed(draft, new)
        refusal = self._refuse(draft, new) or (placed if isinstance(placed, Error) else None)
        if refusal is None and not isinstance(placed, Error):
            self._write(draft, new, placed)
        return refusal or Error.NONE

    def _refuse(self, draft: Draft, new: NewTopic) -> Error | None:
        refusal = self.rules.refuse_topic_name(new.name, draft.image.ids)
        for name, value in new.configs:
            refusal = refusal or self.rules.refuse_setting((TOPIC, new.name), name, value, draft.image.uses_elr)
        return refusal

    def _placed(self, draft: Draft, new: NewTopic) -> tuple[Assignment, ...] | Error:
        """3.15 By hand, or by the rule."""
        brokers = draft.image.brokers
        if new.assignments:
            return self.rules.refuse_assignment(new.assignments, brokers) or new.assignments
        partitions = self.settings.num_partitions if new.num_partitions == -1 else new.num_partitions
        factor = self.settings.default_replication_factor if new.replication_factor == -1 else new.replication_factor
        refusal = self.rules.refuse_placement(partitions, factor, brokers.values())
        return refusal or self.rules.placement(brokers.values(), partitions, factor, self.chance.getrandbits(32))

    def _write(self, draft: Draft, new: NewTopic, placed: tuple[Assignment, ...]) -> None:
        topic_id = random_id(self.chance)
        draft.add(TopicRecord(new.name, topic_id))
        for name, value in new.configs:
            draft.add(ConfigRecord(TOPIC, new.name, name, value))
        active = [known.broker_id for known in draft.image.brokers.values() if known.active]
        for index, replicas in enumerate(placed):
            directories = tuple(self.changes.directory(draft.image, replica) for replica in replicas)
            state = self.rules.first_state(replicas, active, directories)
            draft.add(PartitionRecord(topic_id, index, state.replicas, state.isr, state.leader, directories=state.directories))


def _delete(draft: Draft, name: str) -> Error:
    topic_id = draft.image.ids.get(name)
    if topic_id is None:
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    draft.add(RemoveTopic(topic_id))
    return Error.NONE
