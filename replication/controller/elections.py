"""replication/controller/elections.py: elections on request, and those tried from time to time (8.9 to 8.14).

In     ElectLeaders; ticks
Out    changes, and for a request what became of each partition; for a tick whether there is more to do
Keeps  nothing: a pass that stops early starts again at the front, where what it did needs nothing any more
"""

from __future__ import annotations

from collections.abc import Callable

from replication.admin_messages import AdminResponse, AdminResult, ElectLeadersRequest
from replication.controller.draft import Draft
from replication.controller.partition_changes import Intent, PartitionChanges, Place, place_of, places
from replication.errors import Error


class Elections:
    """Preferred and unclean."""

    def __init__(self, changes: PartitionChanges) -> None:
        self.changes, self.rules = changes, changes.rules

    def on_elect_leaders(self, draft: Draft, asked: ElectLeadersRequest) -> AdminResponse:
        """8.14 Without a list all partitions are meant, and those that need nothing are not worth a word."""
        elect = self._unclean if asked.unclean else self._preferred
        if asked.partitions is None:
            named = [(place.topic, place.index) for place in places(draft.image)]
        else:
            named = list(asked.partitions)
        results = []
        for topic, index in named:
            place = place_of(draft.image, topic, index)
            error = Error.UNKNOWN_TOPIC_OR_PARTITION if place is None else elect(draft, place)
            if asked.partitions is not None or error is not Error.ELECTION_NOT_NEEDED:
                results.append(AdminResult(f"{topic}/{index}", error))
        return AdminResponse(Error.NONE, tuple(results))

    def _preferred(self, draft: Draft, place: Place) -> Error:
        """8.11"""
        intent = Intent(isr=place.state.isr, preferred=True)
        refusal = self.rules.refuse_preferred(place.state, self.changes.ballot(draft.image, place, intent))
        if refusal is None:
            self.changes.write(draft, place, intent)
        return refusal or Error.NONE

    def _unclean(self, draft: Draft, place: Place) -> Error:
        """8.14"""
        refusal = self.rules.refuse_unclean(place.state, self.changes.acceptable(draft.image, place.state))
        if refusal is None:
            self.changes.write(draft, place, Intent(isr=place.state.isr, unclean=True))
        return refusal or Error.NONE

    # -- from time to time ----------------------------------------------------------------------------------------------

    def balance(self, draft: Draft) -> bool:
        """8.11 Back to the preferred leaders. True: the pass was full, there may be more."""
        return self._pass(draft, lambda place: self._preferred(draft, place) is Error.NONE)

    def elect_leaderless(self, draft: Draft) -> bool:
        """8.9, 8.14 For topics that have been allowed unclean elections since they lost their leader."""

        def elected(place: Place) -> bool:
            if place.state.has_leader or not self.changes.terms(draft.image, place.topic).allows_unclean:
                return False
            return self.changes.write(draft, place, Intent(isr=place.state.isr))

        return self._pass(draft, elected)

    def _pass(self, draft: Draft, elect: Callable[[Place], bool]) -> bool:
        """3.12"""
        left = self.rules.elections_per_pass()
        for place in places(draft.image):
            if left == 0:
                return True
            left -= elect(place)
        return False
