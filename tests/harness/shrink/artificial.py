"""tests/harness/shrink/artificial.py: runs that nobody executes: whether a plan fails is a question about its words.

In     a predicate over plans; an order in which trials come to their ends
Out    outcomes as real trials have them: every event fires, at its time or a little later; searches carried out without a process
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from harness.shrink.known import Fate, Known, Outcome, Pass
from harness.shrink.rounds import Rounds
from model.plan import Plan
from model.schedule import Condition, Event, Schedule

WANTED = "s1:lost_write:committed:C3:suffix:final:A≠F,clean"
OTHER = "s1:duplicate:committed:C3:-:-:A≠R"
MS, S = 10**6, 10**9

Fails = Callable[[Plan], bool]


def a_plan(*events: Event, **more: object) -> Plan:
    return Plan(tidemark=1, schedule=events, **more)  # type: ignore[arg-type]


def marked(number: int, after: int | None = None) -> Event:
    """An event that can be told from all others, whatever its number becomes."""
    when = None if after is None else Condition(after=after)
    return Event(at_ns=number * S if when is None else None, when=when, fault="drift", target="n1", args={"ppm": number + 1})


def marks(plan: Plan) -> frozenset[int]:
    assert isinstance(plan.schedule, tuple)
    return frozenset(int(str(event.args["ppm"])) - 1 for event in plan.schedule)


def outcome(plan: Plan, fails: Fails) -> Outcome:
    """Whatever fails fails in two ways."""
    assert isinstance(plan.schedule, tuple)
    signatures = (OTHER, WANTED) if fails(plan) else (OTHER,)
    return Outcome(signatures=signatures, fates=fates(plan.schedule), digest="0")


def fates(schedule: Schedule) -> tuple[Fate, ...]:
    """Those that wait for an event fire half a second behind it."""
    fired: list[int] = []
    for event in schedule:
        after = event.when.after if event.when is not None else None
        fired.append(event.at_ns if event.at_ns is not None else 500 * MS + (0 if after is None else fired[after]))
    return tuple(Fate(fired_ns=at_ns, effect=True, sides=((1,),), leader=1, isr=(1, 2, 3)) for at_ns in fired)


def known(plan: Plan, fails: Fails) -> Known:
    assert fails(plan), "the search begins with a plan that fails"
    return Known(plan, outcome(plan, fails))


class Searched:
    """A search with so many trials under way at once, which end in any order; and what it did."""

    def __init__(
        self, search: Callable[[Known], Pass], plan: Plan, fails: Fails, *, jobs: int = 1, order: int = 0, most: int = 10**6
    ) -> None:
        self.tried: list[Plan] = []
        self.bests: list[Plan] = []
        self._plans: dict[int, Plan] = {}
        self._fails, self._most = fails, most
        self.rounds = Rounds(search, known(plan, fails), WANTED, self._hand_over, lambda: len(self.tried) >= most)
        self._carry_out(jobs, Random(order))

    @property
    def best(self) -> Plan:
        return self.rounds.best.plan

    def _hand_over(self, number: int, plan: Plan) -> None:
        assert number not in self._plans
        self._plans[number] = plan
        self.tried.append(plan)

    def _carry_out(self, jobs: int, chance: Random) -> None:
        """As a pool does it: whoever is free asks; None means to wait for somebody's result."""
        under_way: list[int] = []
        exhausted = False
        while under_way or not exhausted:
            while len(under_way) < jobs and not exhausted:
                number = next(self.rounds, -1)
                if number is None:
                    assert under_way, "it waits for nobody"
                    break
                exhausted = number == -1
                under_way += [] if exhausted else [number]
            if under_way:
                ended = under_way.pop(chance.randrange(len(under_way)))
                self.rounds.report(ended, outcome(self._plans[ended], self._fails))
                if not self.bests or self.bests[-1] != self.best:
                    self.bests.append(self.best)
