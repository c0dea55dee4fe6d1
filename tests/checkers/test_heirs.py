"""An election may give office to a log that went another way before: no start of an epoch bounds what it cuts (CHECKERS 6.4)."""

from __future__ import annotations

import numpy as np
import pytest

from checkers.final_read import FinalRead
from checkers.heirs import Heirs
from checkers.offices import Office, Offices
from checkers.placing import Places
from model.operation import Row
from tests.checkers.looking import part_of
from tests.checkers.notation import rows

# Each read of offset 0, as the leader epoch that answered, and the one in which what it returned was written. The last is final.
Shown = tuple[int | None, int | None]
LED = Offices((Office(0, 1, 0), Office(4, 2, 5), Office(50_000_000, 1, 8)), complete=True)


def history(*shown: Shown) -> list[Row]:
    values = {epoch: i for i, (_, epoch) in enumerate(shown, 1)}
    told = [f"A{value}? 0-" for value in values.values()]
    told += [f"R0={values[epoch]} {10 * i}-{10 * i + 1}" for i, (_, epoch) in enumerate(shown[:-1], 1)]
    told += [f"F0={values[shown[-1][1]]}. 90-91"]
    found = rows("; ".join(told))
    for row, (leader_epoch, epoch) in zip(found[len(values) :], shown, strict=True):
        row.leader_epoch, row.epochs = leader_epoch, None if epoch is None else [epoch]
    return found


def displaced(epoch: int, *shown: Shown, until_ns: int = 0, complete: bool = True) -> bool:
    part = part_of(history(*shown))
    final = FinalRead(part, Places(part))
    if not complete:
        final = FinalRead(part_of("A1@0 0-1; F0=1 2-3"), Places(part))
    found = Heirs(part, final, LED).displaced(np.array([0]), np.array([epoch]), np.array([until_ns]))
    return bool(found[0])


@pytest.mark.parametrize(
    ("epoch", "shown", "expected"),
    [
        (5, [(5, 5), (8, 4)], True),  # a leader of epoch 8 holds what is older than what epoch 5 wrote
        (5, [(5, 5), (8, 8)], False),  # what was written later lies behind the start of some epoch
        (5, [(5, 5), (5, 5)], False),
        (5, [(5, 5), (5, 4)], False),  # not even in office by then
        (5, [(5, 5), (8, 4), (9, 9)], True),  # whoever is shown in the end: it was gone when epoch 8 led
        (4, [(8, 4), (5, 5), (8, 4)], True),  # a deposed leader that shows what was cut off changes nothing
        (4, [(8, 4), (5, 5), (9, 9)], True),
        (5, [(5, 5), (None, 4)], True),  # nobody knows who answered
        (5, [(5, 5), (8, None)], False),
    ],
)
def test_what_is_older_and_was_shown_by_a_later_leader_displaced_it(epoch: int, shown: list[Shown], expected: bool) -> None:
    """Seeds of the swarm in which unclean elections, one after another, were taken for more than they may cost."""
    assert displaced(epoch, *shown) is expected


@pytest.mark.parametrize(("until_ns", "expected"), [(3, False), (4, True), (60_000_000, True)])
def test_what_was_only_acknowledged_may_be_of_any_epoch_up_to_then(until_ns: int, expected: bool) -> None:
    """Epoch 5 was committed at 4 ns; what the later leader showed is of epoch 4."""
    assert displaced(-1, (8, 4), (8, 4), until_ns=until_ns) is expected


def test_what_nobody_read_to_its_end_accuses_nobody() -> None:
    assert displaced(5, (5, 5), (5, 5), complete=False)


def test_nothing_was_displaced_where_nothing_was_read() -> None:
    """Nor at other offsets."""
    part = part_of("A1@0 0-1; F0=. 2-3")
    heirs = Heirs(part, FinalRead(part, Places(part)), LED)
    assert heirs.displaced(np.array([0, 7]), np.array([-1, 3]), np.array([9, 9])).tolist() == [False, False]
