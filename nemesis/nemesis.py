"""nemesis/nemesis.py: carries a schedule out on a cluster.

In     a cluster's handles, a plan, a schedule, and how many appends were acknowledged so far
Out    faults fired at their time or when their condition is met, and healed; whoever watches is told; rows of the table of events
Keeps  time is the cluster's own, so this runs in virtual and in real time alike. `heal_all` leaves no fault in force
Not    what a fault does (faults/), whom it hits (aim.py), how its steps are taken (course.py). A failure of the infrastructure
       passes through: it is nobody's verdict
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from model.cluster import Cluster, ClusterState
from model.plan import Plan
from model.quantity import write_duration
from model.schedule import Condition, Event, Schedule, written_target
from nemesis import names
from nemesis.aim import Aim, aim, written_args
from nemesis.conditions import Moment, holds
from nemesis.course import POLL_NS, Course
from nemesis.targets import Unresolved

Kind = Literal["fires", "heals", "refused"]
OnEvent = Callable[[Kind, int, Event, str], None]
RUN_ENDED = "the run ended first"


def _nobody(kind: Kind, number: int, event: Event, text: str) -> None:
    """For runs that nobody watches."""


class Nemesis:
    """One run's faults. `start` at the origin, `heal_all` at the end; everything else happens in the cluster's time."""

    def __init__(
        self, cluster: Cluster, plan: Plan, schedule: Schedule, acked: Callable[[], int], on_event: OnEvent = _nobody
    ) -> None:
        self._cluster = cluster
        self._plan = plan
        self._acked = acked
        self._tell = on_event
        self._courses = tuple(Course(number, event, cluster, self._ended) for number, event in enumerate(schedule))
        self._origin_ns = 0
        self._over = False

    def start(self) -> None:
        """Now is the origin: `at` and `within` count from here."""
        self._origin_ns = self._cluster.time.now_ns()
        for course in self._courses:
            if course.event.at_ns is not None:
                self._cluster.time.after(course.event.at_ns, self._fires_at_its_time(course))
        self._look()

    def heal_all(self) -> None:
        """The end: nothing fires any more, and nothing stays in force."""
        self._over = True
        for course in self._courses:
            if course.pending and course.event.when is not None:
                self._refuse(course, RUN_ENDED)
            course.heal()

    def met(self, condition: Condition) -> bool:
        """Whether a condition of the plan holds now; the workload's phases ask as well."""
        return holds(condition, self._plan, self._moment(self._cluster.observe()))

    # -- what became of it --------------------------------------------------------------------------------------------

    @property
    def fired(self) -> frozenset[int]:
        return frozenset(course.number for course in self._courses if course.fired_ns is not None)

    @property
    def refused(self) -> Mapping[int, str]:
        """Events that could not fire, and why."""
        return {course.number: course.refused for course in self._courses if course.refused is not None}

    @property
    def toothless(self) -> tuple[int, ...]:
        """Events that fired, are over, and changed nothing. One whose effect cannot be told is not among them."""
        return tuple(course.number for course in self._courses if course.healed_ns is not None and course.effect is False)

    def rows(self, origin_ns: int) -> list[dict[str, Any]]:
        """One row per event for the table of events (CHECKERS 1.7), times counted from the origin."""
        return [self._row(course, origin_ns) for course in self._courses]

    def _row(self, course: Course, origin_ns: int) -> dict[str, Any]:
        event, aimed = course.event, course.aim
        return {
            "event": course.number,
            "at_ns": event.at_ns,
            "fault": event.fault,
            "target": written_target(event.target) or None,
            "resolved": list(aimed.concerned) if aimed else None,
            "args": written_args(event, self._plan, aimed.sides if aimed else ()),
            "fired_ns": _since(origin_ns, course.fired_ns),
            "healed_ns": _since(origin_ns, course.healed_ns),
            "refused": course.refused,
            "effect": course.effect,
            "damage": [msgspec.structs.asdict(one) for one in course.result.damage],
        }

    # -- firing -------------------------------------------------------------------------------------------------------

    def _fires_at_its_time(self, course: Course) -> Callable[[], None]:
        def fire() -> None:
            if not self._over:
                self._fire(course, self._cluster.observe())

        return fire

    def _look(self) -> None:
        """Fire what has become due by its condition, refuse what is too late, and look again soon while anything waits."""
        waiting = [course for course in self._courses if course.pending and course.event.when is not None]
        if not waiting:
            return
        state, fired = self._cluster.observe(), len(self.fired)
        for course in waiting:
            if len(self.fired) > fired:  # what has just fired may have changed what the next one is aimed at
                state, fired = self._cluster.observe(), len(self.fired)
            self._fire_if_met(course, state)
        self._cluster.time.after(POLL_NS, self._look)

    def _fire_if_met(self, course: Course, state: ClusterState) -> None:
        event = course.event
        limit_ns = self._plan.for_ns if event.within_ns is None else event.within_ns
        if event.when is not None and holds(event.when, self._plan, self._moment(state)):
            self._fire(course, state)
        elif self._cluster.time.now_ns() - self._origin_ns >= limit_ns:
            self._refuse(course, f"condition not met within {write_duration(limit_ns)}")

    def _moment(self, state: ClusterState) -> Moment:
        return Moment(state, self._acked(), self.fired)

    def _fire(self, course: Course, state: ClusterState) -> None:
        try:
            aimed = aim(course.event, self._plan, state)
        except Unresolved as reason:
            return self._refuse(course, str(reason))
        self._tell("fires", course.number, course.event, _told_aim(aimed))
        course.fire(aimed)
        if course.event.for_ns is not None:
            self._cluster.time.after(course.event.for_ns, course.heal)
        return None

    def _refuse(self, course: Course, reason: str) -> None:
        course.refused = reason
        self._tell("refused", course.number, course.event, reason)

    def _ended(self, course: Course) -> None:
        effect = {True: "it bit", False: "it had no effect", None: "its effect cannot be told"}[course.effect]
        note = course.result.note
        self._tell("heals", course.number, course.event, f"{effect}: {note}" if note else effect)


def _since(origin_ns: int, at_ns: int | None) -> int | None:
    return None if at_ns is None else at_ns - origin_ns


def _told_aim(aimed: Aim) -> str:
    if aimed.sides:
        return " | ".join(" ".join(names.name(one) for one in side) for side in aimed.sides)
    return " ".join(names.name(one) for one in aimed.concerned)
