"""What was promised of what was found: the worked examples of CHECKERS 8.4, and the table of 6.6."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from checkers.found import Found
from checkers.judge import judge
from checkers.promises import FORBIDDEN, INCOMPLETE, NOBODYS, NOT_COMPARABLE, REPEATED, Everything, Promises, Ruling
from model.verdict import Verdict
from tests.checkers.facts import ACKED_NS, checked, fact, looks, lost, nothing_wrong, run_of
from tests.model.damage_stories import A, B, C, D, Story
from tests.model.test_damage import EXAMPLES as OF_THE_LEDGER
from tests.model.test_damage import b_leads, last_known

Told = Callable[[], Story]


def ruling(found: Found, story: Story | None = None, **more: Any) -> Ruling:
    """Of the first instance."""
    rulings = Promises(run_of(story, **more)).of(found)
    return rulings.of[int(rulings.which[0])]


def verdict_on(found: Sequence[Found], story: Story | None = None) -> Verdict:
    return judge(run_of(story), look=looks(checked(*found)), live=nothing_wrong)


def d6(**facts: Any) -> Found:
    """Write 1, acknowledged by its leader alone at offset 0 in leader epoch 0, is gone."""
    return lost("local", **{"offset": 0, "write_epoch": 0, **facts})


LOSS = {name.split(" ")[0]: case for name, case in OF_THE_LEDGER.items()}
IDS = {name.split(" ")[0]: name for name in OF_THE_LEDGER}


@pytest.mark.parametrize("name", LOSS, ids=IDS.__getitem__)
def test_a_loss_is_judged_as_the_ledger_is_asked(name: str) -> None:
    """8.4, P1 to P30: the row, its cell, and the verdict that follows, from the stored tables."""
    build, rule, cell = LOSS[name]
    found = lost(offset=10**6)  # beyond every bound
    assert ruling(found, build()) == Ruling(rule, cell)  # type: ignore[arg-type]
    verdict = verdict_on([found], build())
    assert verdict.valid == ("invalid" if cell == "forbidden" else "valid")
    assert [(each.rule, each.promised) for each in verdict.cells if each.seen] == [(rule, cell)]


def p4(dropped_from: int) -> Story:
    return last_known(Story((A, B)).hurt(A, "lossy", dropped_from).kill(B), A, 1)


def p18(start: int | None) -> Story:
    return Story((A,), unclean=True).kill(A).elected(C, "unclean", start)


def elected_b(start: int | None = 0, **more: Any) -> Story:
    return Story(**more).kill(A).change(B, C, election="clean", leader=B, epoch_start=start)


def planned(start: int) -> Story:
    return Story().change(A, B, C, election="preferred", leader=B, epoch_start=start)


MORE: dict[str, tuple[Found, Told, str, str]] = {
    "P4 within what was dropped": (lost(), lambda: p4(1), "C7", "allowed"),
    "P5 below what was dropped": (lost(), lambda: p4(2), "C7+bound", "forbidden"),
    "P18 above the start of the unclean epoch": (lost(), lambda: p18(1), "C2", "allowed"),
    "P19 below it": (lost(), lambda: p18(2), "C2+bound", "forbidden"),
    "P20 no bound is known": (lost(), lambda: Story(unclean=True, changes_complete=False).kill(A), "C2", "allowed"),
    "b0: a prefix is never cut off": (lost(loss_class="prefix"), lambda: p18(1), "C2+bound", "forbidden"),
    "b0: nor is the midst": (lost(loss_class="middle"), lambda: p4(1), "C7+bound", "forbidden"),
    "b0: everything may be": (lost(loss_class="all"), lambda: p4(1), "C7", "allowed"),
    "b1: also of what was read": (fact("vanished_read", offset=1), lambda: p18(2), "C2+bound", "forbidden"),
    "b1: also of what was written anew": (fact("inconsistent_offset", offset=1), lambda: p18(1), "C2", "allowed"),
    "b1: an unknown offset is not beyond": (lost(offset=-1), lambda: p18(2), "C2", "allowed"),
    "bounds are for losses alone": (fact("reordered", offset=1), lambda: p18(2), "C2", "allowed"),
    "P31 no leader change": (d6(), Story, "W1", "forbidden"),
    "P32 a planned election cuts what only its leader had": (d6(), lambda: planned(0), "W3", "allowed"),
    "like P32, but the next epoch starts above it": (d6(), lambda: planned(1), "W2", "forbidden"),
    "like P32, its own epoch unknown": (d6(write_epoch=-1), lambda: planned(0), "W3", "allowed"),
    "like P32, where it starts unknown": (d6(), lambda: elected_b(None), "W3", "allowed"),
    "its own epoch unknown, and no second one": (d6(write_epoch=-1), Story, "W2", "forbidden"),
    "of the later epoch": (d6(write_epoch=1), lambda: planned(0), "W1", "forbidden"),
    "a leader epoch without a leader cuts nothing": (d6(), lambda: Story().leaderless(), "W2", "forbidden"),
    "the election came after the evidence": (d6(to_ns=35), lambda: elected_b(0), "W1", "forbidden"),
    "P33 the midst": (d6(offset=1, loss_class="middle"), elected_b, "W2", "forbidden"),
    "P34 the suffix": (d6(offset=1), elected_b, "W3", "allowed"),
    "P35 what was read was committed": (fact("vanished_read", offset=0), elected_b, "C3", "forbidden"),
    "P36 the write": (d6(), elected_b, "W3", "allowed"),
    "P36 the offset that was given again": (fact("inconsistent_offset", "local", offset=0), elected_b, "W3", "allowed"),
    "W0 as 6.3 allows": (d6(offset=1), lambda: p4(0), "W0", "allowed"),
    "W0 beyond the bound of 6.3 the other rows decide": (d6(), lambda: p18(2), "W2", "forbidden"),
    "beyond that bound, an ordinary election before": (
        d6(),
        lambda: elected_b(0, unclean=True).kill(B).elected(C, "unclean", 5),
        "W3",
        "allowed",
    ),
    "W0 as 6.3 does not judge": (d6(), lambda: Story().hurt(A, "rot"), "W0", "not judged"),
    "sampled changes may miss an election": (d6(), lambda: Story(changes_complete=False), "W3", "allowed"),
    "sampled changes do not excuse the midst": (
        d6(loss_class="middle"),
        lambda: Story(changes_complete=False),
        "W2",
        "forbidden",
    ),
    "P37 an idempotent write twice": (fact("duplicate", idempotent=True, resent=True), Story, "C3", "forbidden"),
    "like P37, of level local": (fact("duplicate", "local", idempotent=True, resent=True, offset=0), elected_b, "W3", "allowed"),
    "P38 a resent one twice": (fact("duplicate", idempotent=False, resent=True), Story, "6.6", "allowed"),
    "like P38, sent once": (fact("duplicate", idempotent=False, resent=False), Story, "6.6", "forbidden"),
    "like P38, sent once, bytes changed": (fact("duplicate", resent=False), lambda: Story().hurt(A, "rot"), "C1", "not judged"),
    "P39 a consumer went back": (fact("nonmonotonic_poll"), Story, "6.6", "forbidden"),
    "like P39, the log was cut": (fact("nonmonotonic_poll"), lambda: p18(1), "C2", "allowed"),
    "P26 rot does not excuse a phantom": (fact("phantom"), lambda: Story().hurt(A, "rot"), "6.6", "forbidden"),
}


@pytest.mark.parametrize("name", MORE)
def test_every_fact_gets_the_ruling_that_is_written(name: str) -> None:
    """6.4 to 6.6; 8.4, P4 to P39."""
    found, build, rule, cell = MORE[name]
    assert ruling(found, build()) == Ruling(rule, cell)  # type: ignore[arg-type]
    assert verdict_on([found], build()).valid == ("invalid" if cell == "forbidden" else "valid")


def test_a_flush_by_interval_bounds_what_may_be_lost() -> None:
    """6.4: what was acknowledged a second and an interval before the crash was synced by then."""
    second = 10**9
    story = Story((A,), elr=False, flush_interval_ns=5 * second)
    story.now = 10 * second
    story.hurt(A, "lossy", 0)
    end = 20 * second
    assert ruling(lost(acked_ns=3 * second, to_ns=end), story) == Ruling("C9+bound", "forbidden")
    assert ruling(lost(acked_ns=5 * second, to_ns=end), story) == Ruling("C9", "allowed")
    assert ruling(fact("vanished_read", offset=1, acked_ns=-1, to_ns=end), story) == Ruling("C9", "allowed")


def test_what_happens_after_the_window_excuses_nothing() -> None:
    """6.1: never per run as a whole."""
    story = p18(1)
    assert ruling(lost(to_ns=ACKED_NS + 1), story) == Ruling("C3", "forbidden")
    assert ruling(lost(), story) == Ruling("C2", "allowed")


@pytest.mark.parametrize("name", ["phantom", "future_read", "int_nonmonotonic_poll", "aborted_read"])
def test_some_things_are_forbidden_whatever_happened(name: str) -> None:
    """6.6"""
    for story in (Story(), p18(1), Story().hurt(A, "rot"), Story().voter(11, "wipe").voter(12, "wipe")):
        assert ruling(fact(name), story) == FORBIDDEN


@pytest.mark.parametrize("name", ["read_gap", "int_poll_skip", "poll_skip", "nonmonotonic_poll"])
def test_a_log_that_may_be_cut_may_move_its_readers(name: str) -> None:
    """6.6"""
    assert ruling(fact(name)) == FORBIDDEN
    assert ruling(fact(name), p18(9)) == Ruling("C2", "allowed")
    assert ruling(fact(name), Story().hurt(A, "rot")) == Ruling("C1", "not judged")


def test_a_batch_comes_apart_by_no_election() -> None:
    """6.6: only where nothing is judged."""
    assert ruling(fact("torn_batch"), p18(1)) == FORBIDDEN
    assert ruling(fact("torn_batch"), Story().hurt(A, "rot")) == Ruling("C1", "not judged")


@pytest.mark.parametrize("name", ["stale_read", "stale_end_offset", "refused_position"])
def test_what_cannot_be_compared_is_not_judged(name: str) -> None:
    """6.6, 3.8"""
    assert ruling(fact(name, comparable=True)) == Ruling("C3", "forbidden")
    assert ruling(fact(name)) == Ruling("C3", "forbidden")
    assert ruling(fact(name, comparable=False)) == NOT_COMPARABLE


@pytest.mark.parametrize("name", ["unfillable_hole", "lost_ack"])
def test_what_has_no_row_may_have_been_written(name: str) -> None:
    """6.6, 1.6"""
    assert ruling(fact(name)) == FORBIDDEN
    assert ruling(fact(name), complete=False) == INCOMPLETE


GATE = {"event": 0, "fault": "gate", "fired_ns": 100, "healed_ns": 200, "args": '{"message":"Produce","action":"repeat"}'}


@pytest.mark.parametrize(
    ("window", "gate", "repeated"),
    [
        ((150, 300), {}, True),
        ((50, 100), {}, True),
        ((201, 300), {}, False),
        ((50, 99), {}, False),
        ((150, 300), {"fired_ns": None}, False),
        ((150, 300), {"args": '{"message":"Produce","action":"hold"}'}, False),
        ((150, 300), {"args": '{"message":"Fetch","action":"repeat"}'}, False),
    ],
)
def test_what_the_network_sent_twice_was_sent_twice(window: tuple[int, int], gate: dict[str, Any], repeated: bool) -> None:
    """6.6: a client that sent it once knows nothing of it. An idempotent write stands there once all the same."""
    events = [GATE | gate]
    times = {"from_ns": window[0], "to_ns": window[1]}
    says = Ruling("6.6", "allowed" if repeated else "forbidden")
    assert ruling(fact("duplicate", resent=False, **times), events=events) == says
    assert ruling(fact("aborted_read", **times), events=events) == says
    assert ruling(fact("duplicate", resent=False, idempotent=True, **times), events=events).cell == "forbidden"


@pytest.mark.parametrize("name", ["torn_batch", "unfillable_hole", "lost_ack"])
@pytest.mark.parametrize(
    ("proof_ns", "gate", "expected"),
    [
        (100, {}, REPEATED),
        (10**6, {}, REPEATED),  # a copy stays, however long ago it was made
        (99, {}, FORBIDDEN),
        (10**6, {"fired_ns": None}, FORBIDDEN),
        (10**6, {"args": '{"message":"Produce","action":"hold"}'}, FORBIDDEN),
        (10**6, {"args": '{"message":"Fetch","action":"repeat"}'}, FORBIDDEN),
    ],
)
def test_a_copy_that_the_network_made_may_fill_a_hole(name: str, proof_ns: int, gate: dict[str, Any], expected: Ruling) -> None:
    """6.6, 3.7: and of two copies of a batch one may have been cut off in its midst."""
    assert ruling(fact(name, to_ns=proof_ns), events=[GATE | gate]) == expected


def test_liveness_brings_its_own_rule() -> None:
    """6.8: it says by itself when it is judged."""
    assert ruling(fact("unavailable", rule="V2"), p18(1)) == Ruling("V2", "forbidden")


def test_a_partition_that_the_plan_does_not_name_is_nobodys_promise() -> None:
    """6.1"""
    assert ruling(fact("phantom", at=("other", 0))) == NOBODYS


def test_a_name_that_nobody_knows_is_no_verdict() -> None:
    """7.1: an error of ours is a doubt; what stands beside it is judged all the same."""
    verdict = verdict_on([fact("nonsense")])
    assert (verdict.valid, verdict.reasons) == ("unknown", ("the checker log failed: KeyError: 'nonsense'",))
    assert verdict_on([fact("nonsense"), fact("phantom")]).valid == "invalid"


def test_of_a_history_from_elsewhere_only_its_owner_allows_anything() -> None:
    """10.1"""
    strict = Everything(frozenset({"duplicate"}))
    assert strict.of(fact("duplicate")).of == (Ruling("strict", "allowed"),)
    assert strict.of(fact("stale_read")).of == (Ruling("strict", "forbidden"),)
    assert not strict.of(fact("stale_read", comparable=False)).says("forbidden").any()  # in fenced mode only


def test_reassigned_and_then_hurt() -> None:
    """P27, P28: what the reassignment left is what the tolerance counts."""
    moved = Story().change(A, replicas=(A, D, B)).change(A, replicas=(A, D))
    assert ruling(lost(), moved) == Ruling("C3", "forbidden")
    assert ruling(lost(), last_known(moved.hurt(A), A)) == Ruling("C7", "allowed")
    assert ruling(lost(), b_leads(Story().hurt(A))) == Ruling("C5", "forbidden")
