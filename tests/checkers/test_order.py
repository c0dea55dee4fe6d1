"""Who proved more last, before this began? As asked one by one, and as fast as for the first."""

from __future__ import annotations

import time

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checkers.order import OfEachProcess, Proofs, last_above
from model.operation import Row
from tests.checkers.said import History, part_of

# What somebody proved, or is asked about: when it began, how long it took, by which process, and how far up.
Said = tuple[int, int, int, int]
said = st.tuples(st.integers(0, 12), st.integers(0, 4), st.integers(0, 3), st.integers(0, 9))
several = st.lists(said, min_size=1, max_size=30)


def history_of(operations: list[Said]) -> list[Row]:
    history = History()
    for value, (start, took, process, offset) in enumerate(operations):
        history.append(value, start, start + took, at=offset, process=process)
    return history.rows


@given(several, st.integers(0, 30))
def test_the_last_proof_of_more_is_the_one_that_asking_all_of_them_finds(operations: list[Said], proofs: int) -> None:
    """Of the same process, or of any; ended before, not at the same time."""
    part = part_of(history_of(operations))
    proven, asked = np.arange(min(proofs, part.count)), np.arange(part.count)

    def last(row: int, *, own: bool) -> int:
        more = [
            (int(part.end[by]), int(by))
            for by in proven
            if part.offset[by] > part.offset[row]
            and part.end[by] < part.start[row]
            and (not own or part.process[by] == part.process[row])
        ]
        return max(more, default=(0, -1))[1]

    of_any = Proofs(proven, part.offset[proven], part.end[proven]).last_beyond(part.offset, part.start)
    assert of_any.tolist() == [last(row, own=False) for row in asked.tolist()]
    of_each = OfEachProcess(part, proven).last_beyond(asked, part.offset)
    assert of_each.tolist() == [last(row, own=True) for row in asked.tolist()]


def test_as_many_questions_as_proofs_that_lie_far_back_take_no_time() -> None:
    """A log that was cut off early: every later append is contradicted by what was proven before."""
    count = 300_000
    numbers = np.concatenate([np.full(count, 9), np.zeros(count, np.int64)])
    began = time.perf_counter()
    found = last_above(numbers, np.arange(count, 2 * count), np.full(count, 5))
    assert found.tolist() == [count - 1] * count
    assert time.perf_counter() - began < 10  # from the end of each on it would be minutes
