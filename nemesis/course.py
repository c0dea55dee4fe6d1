"""nemesis/course.py: one event of a schedule, from waiting to healed.

In     an event and a cluster; `fire` with what it was aimed at; `heal`
Out    the fault's generator, stepped in the cluster's own time; when it fired and ended, its effect and its damage
Keeps  a fault is healed at most once, and after its generator has returned: a wait that healing cuts short is answered False
Not    when it is due, and who is told (nemesis.py)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from model.cluster import Cluster, Fired, Sleep, Steps, Until
from model.schedule import Event
from nemesis.aim import Aim
from nemesis.catalogue import FAULTS_BY_NAME
from nemesis.effect import bitten
from nemesis.fault import Fault

POLL_NS = 10 * 10**6
LAST_WORDS = 10  # how many more waits a fault may ask for once it is being healed


class Course:
    """One event's way through a run. Times are the cluster's own."""

    def __init__(self, number: int, event: Event, cluster: Cluster, over: Callable[[Course], None]) -> None:
        self.number = number
        self.event = event
        self.fault: Fault[Any] = FAULTS_BY_NAME[event.fault]
        self.aim: Aim | None = None
        self.fired_ns: int | None = None
        self.healed_ns: int | None = None
        self.refused: str | None = None
        self.result = Fired(bit=None)
        self.effect: bool | None = None
        self._cluster = cluster
        self._over = over
        self._steps: Steps[Fired] | None = None
        self._wait: Sleep | Until | None = None  # the one that may still wake the generator: timers cannot be taken back

    @property
    def pending(self) -> bool:
        """It has neither fired nor been refused."""
        return self.fired_ns is None and self.refused is None

    @property
    def in_force(self) -> bool:
        return self.fired_ns is not None and self.healed_ns is None

    def fire(self, aim: Aim) -> None:
        self.aim = aim
        self.fired_ns = self._cluster.time.now_ns()
        self._steps = self.fault.inject(self._cluster, aim.targets, aim.args)
        self._go_on(None)

    def heal(self) -> None:
        """End the fault now, if it is in force."""
        if not self.in_force or self.aim is None:
            return
        self._come_to_an_end()
        effect = _first_known(bitten(grip.touched() for grip in self.result.grips), self.result.bit)
        for grip in self.result.grips:
            grip.release()
        known = self.fault.heal(self._cluster, self.aim.targets, self.aim.args, effect) if self.fault.heal else None
        self._end(_first_known(known, effect))

    # -- stepping -----------------------------------------------------------------------------------------------------

    def _go_on(self, answer: bool | None) -> None:
        """Run the generator to its next wait, or to its end. `None` starts it."""
        wait = self._step(answer)
        if wait is None:
            return
        self._wait = wait
        if isinstance(wait, Sleep):
            self._cluster.time.after(wait.duration_ns, lambda: self._wake(wait))
        else:
            self._poll(wait, self._cluster.time.now_ns() + wait.limit_ns)

    def _step(self, answer: bool | None) -> Sleep | Until | None:
        """The next wait; None when the generator has returned."""
        steps, self._steps, self._wait = self._steps, None, None  # what raises leaves nothing behind to go on with
        if steps is None:
            return None
        try:
            wait = next(steps) if answer is None else steps.send(answer)
        except StopIteration as returned:
            self.result = returned.value
            if not self.fault.lasts:
                self._end(self.result.bit)
            return None
        self._steps = steps
        return wait

    def _wake(self, wait: Sleep) -> None:
        if self._wait is wait:
            self._go_on(True)

    def _poll(self, wait: Until, deadline_ns: int) -> None:
        if self._wait is not wait:
            return
        left_ns = deadline_ns - self._cluster.time.now_ns()
        if wait.condition(self._cluster.observe()):
            self._go_on(True)
        elif left_ns <= 0:
            self._go_on(False)
        else:
            self._cluster.time.after(min(POLL_NS, left_ns), lambda: self._poll(wait, deadline_ns))

    def _come_to_an_end(self) -> None:
        for _ in range(LAST_WORDS):
            if self._step(False) is None:
                return
        if self._steps is not None:
            self._steps.close()

    def _end(self, effect: bool | None) -> None:
        if self.healed_ns is None:
            self.healed_ns = self._cluster.time.now_ns()
            self.effect = effect
            self._over(self)


def _first_known(one: bool | None, other: bool | None) -> bool | None:
    return other if one is None else one
