"""harness/shrink/rounds.py: which candidate is tried next, and which one wins.

In     a search (search.py), outcomes of trials in any order
Out    numbers of trials, as workers are free (harness/pool.py); the best plan so far
Keeps  of each round the first plan wins that fails with the wanted signature, once all before it are known not to: so the result
       is the same whoever is quick, with one worker or with many. What was tried once is not tried again. `trials` counts what
       had to be tried in this order, and not what was tried in vain because somebody was idle
Not    what a trial is (trial.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from harness.shrink.known import Known, Outcome, Pass, Round
from model.plan import Plan, digest

HandOver = Callable[[int, Plan], None]
"""Puts a plan where whoever gets its number finds it."""


class Rounds:
    """Feeds a search. As an iterator it gives numbers of trials; None while nothing can be tried before a result is known."""

    def __init__(
        self, search: Callable[[Known], Pass], start: Known, wanted: str, hand_over: HandOver, over: Callable[[], bool]
    ) -> None:
        self.best = start
        self.finished = False
        """The search came to its own end, and was not stopped."""
        self._wanted, self._hand_over, self._over = wanted, hand_over, over
        self._outcomes = {digest(start.plan): start.outcome}
        self._needed = set(self._outcomes)
        self._under_way: dict[int, str] = {}
        self._begun = 0
        self._search = search(start)
        self._round: Round = iter(())
        self._drawn_up: list[tuple[str, Plan]] = []
        """The candidates of this round, as far as anybody has asked for them."""
        self._go_on(None)
        self._settle()

    @property
    def trials(self) -> int:
        return len(self._needed) - 1  # nobody counts the plan that it began with

    @property
    def tried(self) -> int:
        return len(self._outcomes) - 1

    # -- as a source of tasks ---------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[int | None]:
        return self

    def __next__(self) -> int | None:
        if self.finished or self._over():
            raise StopIteration
        found = self._first_untried()
        if found is None:
            return None
        self._begun += 1
        self._under_way[self._begun], plan = found
        self._hand_over(self._begun, plan)
        return self._begun

    def report(self, number: int, outcome: Outcome) -> None:
        self._outcomes[self._under_way.pop(number)] = outcome
        self._settle()

    def _first_untried(self) -> tuple[str, Plan] | None:
        """None behind one that fails as it should: nothing there could still win."""
        for name, plan in self._candidates():
            if name not in self._outcomes and name not in self._under_way.values():
                return name, plan
            if self._fails(name):
                return None
        return None

    # -- rounds -----------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Every round whose winner is known, or that has none."""
        while not self.finished:
            tried: list[str] = []
            for name, plan in self._candidates():
                if name not in self._outcomes:
                    return
                tried.append(name)
                if self._fails(name):
                    self.best = Known(plan, self._outcomes[name])
                    break
            self._needed.update(tried)
            self._go_on(self.best if tried and self._fails(tried[-1]) else None)

    def _go_on(self, won: Known | None) -> None:
        try:
            self._round, self._drawn_up = self._search.send(won), []
        except StopIteration:
            self.finished = True

    def _candidates(self) -> Iterator[tuple[str, Plan]]:
        """Of this round, in order; each is drawn up once, when it is asked for."""
        yield from self._drawn_up
        for plan in self._round:
            self._drawn_up.append((digest(plan), plan))
            yield self._drawn_up[-1]

    def _fails(self, name: str) -> bool:
        return name in self._outcomes and self._wanted in self._outcomes[name].signatures
