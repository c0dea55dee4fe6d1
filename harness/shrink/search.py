"""harness/shrink/search.py: the whole search: which pass comes when.

In     what is known of a plan that fails
Out    rounds of candidates; at the end the simplest plan that was found
Keeps  every plan that is accepted fails as the first one did, and asks less of its reader than the one before; at the end nothing
       that any pass proposes is accepted any more, and no single event can go. Two passes ask for more, once, before the others:
       nobody draws any more, and what was drawn is written down (DESIGN 11.5); one changes the order, once, behind them
Not    what a trial is (trial.py), which candidate of a round wins (rounds.py)
"""

from __future__ import annotations

from harness.shrink.deleting import fewer_events, fewer_events_elsewhere
from harness.shrink.events import simpler_events
from harness.shrink.happened import pinned
from harness.shrink.known import Known, Pass, is_sound, with_event
from harness.shrink.moments import earlier, in_order, shorter_run, told_in_order
from harness.shrink.settings import a_plain_seed, fewer_nodes, fewer_settings, plainly, smaller_workload

PASSES = (
    fewer_events,
    in_order,
    earlier,
    shorter_run,
    fewer_events_elsewhere,
    simpler_events,
    smaller_workload,
    fewer_settings,
    fewer_nodes,
    a_plain_seed,
)


def search(known: Known) -> Pass:
    known = yield from plainly(known)
    known = yield from fewer_events(known)
    known = yield from written_down(known)
    before = None
    while before != known.plan:
        before = known.plan
        for each in PASSES:
            known = yield from each(known)
    known = yield from told_in_order(known)
    return (yield from fewer_events(known))  # nothing may hang on the order; but then it is not the plan that was looked at


def written_down(known: Known) -> Pass:
    """Drawn targets as they were resolved, so that no other change of an event's words draws them anew."""
    for number, event in enumerate(known.schedule):
        plan = with_event(known, number, pinned(event, known.fates[number], known.plan))
        if plan != known.plan and is_sound(plan):
            known = (yield iter([plan])) or known
    return known
