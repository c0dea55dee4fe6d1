"""replication/controller/reassignments.py: partitions on the move (section 9).

In     AlterPartitionReassignments, ListPartitionReassignments
Out    one record per partition: start, another target, a mere reorder, or the way back; who is coming and going
Not    the end of a move: every change asks for it (partition_changes.py, 9.2)
"""

from __future__ import annotations

from replication.admin_messages import (
    AdminResponse,
    AdminResult,
    AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    Reassignment,
)
from replication.controller.draft import Draft
from replication.controller.partition_changes import Intent, PartitionChanges, Place, place_of, places
from replication.errors import Error
from replication.rules.reassignments import layout_of


class Reassignments:
    """Where replicas are to be."""

    def __init__(self, changes: PartitionChanges) -> None:
        self.changes, self.rules = changes, changes.rules

    def on_reassign(self, draft: Draft, asked: AlterPartitionReassignmentsRequest) -> AdminResponse:
        may_change_factor = asked.allow_replication_factor_change
        return AdminResponse(
            Error.NONE,
            tuple(
                AdminResult(f"{each.topic}/{each.partition_index}", self._reassign(draft, each, may_change_factor))
                for each in asked.reassignments
            ),
        )

    def _reassign(self, draft: Draft, asked: Reassignment, may_change_factor: bool) -> Error:
        place = place_of(draft.image, asked.topic, asked.partition_index)
        if place is None:
            return Error.UNKNOWN_TOPIC_OR_PARTITION
        if asked.replicas is None:
            return self._cancel(draft, place)
        now = layout_of(place.state)
        refusal = self.rules.refuse_target(asked.replicas, now, draft.image.brokers, may_change_factor)
        if refusal is None:
            towards = self.rules.layout_towards(asked.replicas, now)
            self.changes.write(draft, place, Intent(isr=place.state.isr, layout=towards))
        return refusal or Error.NONE

    def _cancel(self, draft: Draft, place: Place) -> Error:
        """9.4"""
        now, terms = layout_of(place.state), self.changes.terms(draft.image, place.topic)
        refusal = self.rules.refuse_cancel(now, place.state.isr, terms.allows_unclean)
        if refusal is None:
            back = self.rules.layout_before(now)
            isr = tuple(member for member in place.state.isr if member in back.replicas)
            self.changes.write(draft, place, Intent(isr=isr, layout=back, unclean=not isr))
        return refusal or Error.NONE

    def on_list(self, draft: Draft, asked: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        ongoing = tuple(
            OngoingReassignment(
                place.topic,
                place.index,
                place.state.replicas,
                place.state.adding_replicas,
                place.state.removing_replicas,
            )
            for place in places(draft.image)
            if layout_of(place.state).is_moving and (asked.partitions is None or (place.topic, place.index) in asked.partitions)
        )
        return ListPartitionReassignmentsResponse(Error.NONE, ongoing)
