"""replication/controller/configs.py: dynamic settings, and the partition epochs that step with one of them (3.14, 8.12).

In     IncrementalAlterConfigs
Out    config records; where min.insync.replicas changes, a change of every partition concerned, in the same batch
Keeps  the alterations of one resource are all or nothing
"""

from __future__ import annotations

from replication.admin_messages import AdminResponse, AdminResult, ConfigAlteration, IncrementalAlterConfigsRequest
from replication.controller.draft import Draft
from replication.controller.partition_changes import PartitionChanges, places
from replication.errors import Error
from replication.image import TOPIC, MetadataImage
from replication.records import ConfigRecord, PartitionChange

Resource = tuple[str, str]


class Configs:
    """Settings in the metadata log."""

    def __init__(self, changes: PartitionChanges) -> None:
        self.changes, self.rules = changes, changes.rules

    def on_alter_configs(self, draft: Draft, asked: IncrementalAlterConfigsRequest) -> AdminResponse:
        resources: dict[Resource, list[ConfigAlteration]] = {}
        for alteration in asked.alterations:
            resources.setdefault((alteration.resource_type, alteration.resource_name), []).append(alteration)
        before = draft.image
        outcome = {resource: self._alter(draft, resource, altered) for resource, altered in resources.items()}
        if self.rules.steps_epochs_on_min_isr(before.uses_elr):
            self._step_epochs(draft, before)
        return AdminResponse(
            Error.NONE,
            tuple(AdminResult(each.name, outcome[each.resource_type, each.resource_name]) for each in asked.alterations),
        )

    def _alter(self, draft: Draft, resource: Resource, altered: list[ConfigAlteration]) -> Error:
        if resource[0] == TOPIC and resource[1] not in draft.image.ids:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        for each in altered:
            refusal = self.rules.refuse_setting(resource, each.name, each.value, draft.image.uses_elr)
            if refusal is not None:
                return refusal
        for each in altered:
            draft.add(ConfigRecord(*resource, each.name, each.value))
        return Error.NONE

    def _step_epochs(self, draft: Draft, before: MetadataImage) -> None:
        """8.12 Every partition of a topic for which another min ISR holds now."""
        old = {topic.name: self.changes.terms(before, topic.name) for topic in before.topics.values()}
        for place in places(draft.image):
            now = self.changes.terms(draft.image, place.topic)
            if now.min_insync_replicas == old[place.topic].min_insync_replicas:
                continue
            forgets = () if self.rules.forgets_elr_on_min_isr(place.state) else None
            draft.add(PartitionChange(place.topic_id, place.index, isr=place.state.isr, elr=forgets, last_known_elr=forgets))
