"""The table of CHECKERS 6.3 as a table: every combination matches one row first, and damage never makes a promise stronger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import msgspec
import pytest

from model.promise_level import PROMISES, RULES, Facts

# The rows in the words of CHECKERS, each with everything it says, in their order.
ROWS: tuple[tuple[str, Callable[[Facts], bool]], ...] = (
    ("Q1", lambda f: 2 * f.voters_wiped > f.voters > 0 or f.voters_rotten >= 1),
    ("C1", lambda f: f.rotten),
    ("C2", lambda f: (f.unclean_elections >= 1 or not f.changes_complete) and f.unclean_permitted),
    ("C3", lambda f: f.lost == 0),
    ("C4", lambda f: f.elr and f.lost >= 1 and f.min_isr_changed and (f.last_known_elections >= 1 or not f.changes_complete)),
    ("C5", lambda f: f.elr and f.lost >= 1 and f.most_damaged < f.min_isr and not f.min_isr_changed),
    ("C6", lambda f: f.elr and f.lost >= 1 and f.changes_complete and f.last_known_elections == 0),
    ("C7", lambda f: f.elr and f.lost >= 1 and f.most_damaged >= f.min_isr),
    ("C8", lambda f: not f.elr and f.lost >= 1 and f.changes_complete and not f.sole_lost),
    ("C9", lambda f: not f.elr and f.lost >= 1),
)
CELLS = {
    "forbidden": ("C3", "C5", "C6", "C8"),
    "allowed": ("C2", "C7", "C9"),
    "not judged": ("Q1", "C1", "C4"),
}


def every_fact() -> Iterator[Facts]:
    flags = (False, True)
    for elr, complete, permitted, changed, rotten, sole in product(flags, repeat=6):
        for min_isr, damaged, unclean, last_known, wiped in product((1, 2, 3), (0, 1, 2, 3), (0, 1), (0, 1), (0, 1, 2)):
            for lost in range(damaged + 1):
                yield Facts(
                    min_isr=min_isr,
                    elr=elr,
                    changes_complete=complete,
                    most_damaged=damaged,
                    lost=lost,
                    sole_lost=sole and lost > 0,
                    rotten=rotten,
                    unclean_elections=unclean,
                    last_known_elections=last_known,
                    unclean_permitted=permitted,
                    min_isr_changed=changed,
                    voters=3,
                    voters_wiped=wiped,
                )


def test_the_first_row_that_matches_decides_and_there_always_is_one() -> None:
    """6.3, compared with the rows written out, over every combination."""
    for facts in every_fact():
        matching = [rule for rule, matches in ROWS if matches(facts)]
        assert matching, facts
        assert RULES.rule(facts) == matching[0], facts


def test_every_row_decides_something() -> None:
    """None is hidden by those before it."""
    assert {RULES.rule(facts) for facts in every_fact()} == {rule for rule, _ in ROWS} == set(PROMISES)


def test_each_row_has_its_cell() -> None:
    """6.3, in bold."""
    assert {cell: tuple(rule for rule, promise in PROMISES.items() if promise.cell == cell) for cell in CELLS} == {
        cell: tuple(rule for rule in PROMISES if rule in rules) for cell, rules in CELLS.items()
    }
    assert [PROMISES[rule].forbids for rule in ("C3", "C7", "C1")] == [True, False, False]


WORSE: tuple[Callable[[Facts], Facts], ...] = (
    lambda f: msgspec.structs.replace(f, most_damaged=f.most_damaged + 1),
    lambda f: msgspec.structs.replace(f, most_damaged=f.most_damaged + 1, lost=f.lost + 1),
    lambda f: msgspec.structs.replace(f, sole_lost=f.lost > 0),
    lambda f: msgspec.structs.replace(f, rotten=True),
    lambda f: msgspec.structs.replace(f, voters_wiped=f.voters_wiped + 1),
    lambda f: msgspec.structs.replace(f, voters_rotten=1),
    lambda f: msgspec.structs.replace(f, min_isr=max(1, f.min_isr - 1)),
    lambda f: msgspec.structs.replace(f, changes_complete=False),
)


@pytest.mark.parametrize("worse", WORSE)
def test_more_damage_never_turns_allowed_into_forbidden(worse: Callable[[Facts], Facts]) -> None:
    """9.5, with elections and settings as they are."""
    for facts in every_fact():
        if not RULES.promise(facts).forbids:
            assert not RULES.promise(worse(facts)).forbids, facts
