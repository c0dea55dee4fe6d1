"""Of several proofs the one since which least happened, and the window that follows (CHECKERS 3.4 step 5, 5.4, 6.1)."""

from __future__ import annotations

import pytest

from checkers.claims import check_claims
from checkers.final_read import FinalRead
from checkers.heirs import Heirs
from checkers.intervals import Intervals
from checkers.mode import Freshness, Mode
from checkers.offices import UNKNOWN, Office, Offices
from checkers.pairs import check_pairs
from checkers.placing import Places
from checkers.positions import check_positions
from tests.checkers.looking import part_of, ruled
from tests.checkers.notation import TICK_NS, rows

# Each with two proofs, the operations 1 and 2, and what contradicts them both, the operation 3.
TWO_PROOFS = {
    "stale_end_offset": "E3/1 0-1; E3/1 4-5; E2/1 8-9",
    "stale_read": "R0=1,2,3/1 0-1; R0=1,2,3/1 4-5; R0=1,2./1 8-9",
    "refused_position": "E3/1 0-1; E3/1 4-5; R2=oor/1 8-9",
    "append_below_end": "E3 0-1; E3 4-5; A1@1 8-9",
    "reordered": "A1@5 0-1; A2@6 4-5; A3@1 8-9",
    "nonmonotonic_send": "p:A1@5 0-1; p:A2@6 4-5; p:A3@1 8-9",
}
OF_A_LEADER_ALONE = {
    "append_below_end": "R3=7 0-1; R3=7 4-5; a3@1 8-9",
    "reordered": "a1@5 0-1; a2@6 4-5; a3@1 8-9",
    "nonmonotonic_send": "p:a1@5 0-1; p:a2@6 4-5; p:a3@1 8-9",
}


def witness(name: str, level: str, history: str, freshness: Freshness, *, one_epoch: bool = False) -> tuple[int, ...]:
    """Of the only finding of that name; its window begins with the proof that it tells."""
    part, mode = part_of(history), Mode(freshness=freshness)
    of = Intervals(part, Places(part), mode)
    claims = check_claims(of, Heirs(part, FinalRead(part, of.places), UNKNOWN))
    checked = (*check_pairs(of, one_epoch=one_epoch), *claims, *check_positions(part, of.places, mode, one_epoch=one_epoch).found)
    (found,) = (each for each in checked if (each.name, each.level) == (name, level))
    ops = found.tell(0).ops
    assert (found.from_ns[0], found.to_ns[0]) == (4_000_000 * (ops[0] - 1), 9_000_000)
    return ops


@pytest.mark.parametrize("name", TWO_PROOFS)
def test_where_promises_decide_the_last_proof_is_told_and_else_the_first(name: str) -> None:
    assert witness(name, "committed", TWO_PROOFS[name], "fenced") == (2, 3)
    assert witness(name, "committed", TWO_PROOFS[name], "strict") == (1, 3)


@pytest.mark.parametrize("name", OF_A_LEADER_ALONE)
def test_so_it_is_of_what_only_a_leader_acknowledged(name: str) -> None:
    assert witness(name, "local", OF_A_LEADER_ALONE[name], "fenced") == (2, 3)
    assert witness(name, "local", OF_A_LEADER_ALONE[name], "strict") == (1, 3)


@pytest.mark.parametrize("name", TWO_PROOFS)
def test_what_may_be_cut_before_the_last_proof_excuses_nothing(name: str) -> None:
    """6.1: the near miss is an election after it."""
    assert f"{name} C3: 2 3" in ruled(TWO_PROOFS[name], 2)
    assert f"{name} C2: 2 3" in ruled(TWO_PROOFS[name], 6)


def test_a_last_proof_that_proves_too_little_or_comes_too_late_is_none() -> None:
    assert witness("stale_end_offset", "committed", "E3/1 0-1; R0=1/1 4-5; E3/1 6-8; E2/1 8-9", "fenced") == (1, 4)


def test_a_partition_of_one_epoch_needs_no_epochs_to_tell_the_last_proof() -> None:
    """3.8: everything can be compared."""
    for name, history in (("stale_read", "E3 0-1; E3 4-5; R0=1,2. 8-9"), ("refused_position", "E3 0-1; E3 4-5; R2=oor 8-9")):
        assert witness(name, "committed", history, "fenced", one_epoch=True) == (2, 3)


@pytest.mark.parametrize(
    ("first", "second", "asked", "told"),
    [
        ("E3/2 3-4", "E3/1 5-6", "A1@1 8-9", 1),  # the second was deposed before the first was asked
        ("E3/1 0-1", "E3/1 5-6", "A1@1 8-9", 2),
        ("E3/2 3-4", "E3/2 5-6", "A1@1 8-9", 2),
        ("p:A1@5 3-4", "p:A2@6 5-6", "p:A3@1 8-9", 1),
        ("p:A1@5 0-1", "p:A2@6 5-6", "p:A3@1 8-9", 2),
    ],
)
def test_what_a_deposed_leader_proves_is_as_old_as_its_end(first: str, second: str, asked: str, told: int) -> None:
    """6.1: n1 led up to tick 2, then n2. Of two proofs the one whose window is smaller is told."""
    history = rows(f"{first}; {second}; {asked}")
    history[0].node = 2 if history[0].start_ns > 2 * TICK_NS else 1
    part = part_of(history)
    part.offices = Offices((Office(-1, 1, 1), Office(2 * TICK_NS, 2, 2)), complete=True)
    (found,) = check_pairs(Intervals(part, Places(part), Mode(freshness="fenced")))
    assert found.tell(0).ops == (told, 3)


# -- who knows where an append lies -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("history", "elected", "expected"),
    [
        # nobody told it its place: it may have come there any time before it was read
        ("A1@1 0-1; A2? 2-; R0=2 8-9", 5, "append_below_end C2: 1 2 3"),
        ("A1@1 0-1; A2? 2-; R0=2 8-9", 20, "append_below_end C3: 1 2 3"),
        # a leader alone did, whose log became the log later
        ("A1@1 0-1; a2@0 2-3; R0=2 8-9", 5, "reordered C2: 1 2 3"),
        ("A1@1 0-1; a2@0 2-3; R0=2 8-9", 20, "reordered C3: 1 2 3"),
        # all did
        ("A1@1 0-1; A2@0 2-3; R0=2 8-9", 5, "reordered C3: 1 2"),
    ],
)
def test_who_first_read_an_append_at_its_place_belongs_to_the_window(history: str, elected: int, expected: str) -> None:
    """6.1: unless all acknowledged it there."""
    assert ruled(history, elected) == [expected]


def test_a_further_copy_lies_there_since_it_was_read() -> None:
    """3.4 step 4: where it was acknowledged says nothing of the copy."""
    history = "A3@2 0-1; A1@3 4-5; R1=1,3 12-13"
    assert "reordered C2: 1 2 3" in ruled(history, 8, attempts=2)
    assert "reordered C3: 1 2 3" in ruled(history, 20, attempts=2)
