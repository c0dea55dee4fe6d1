"""A hundred thousand windows are judged as each would be alone; and the local level as CHECKERS 6.5 has it, combined (9.5)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.promises import Promises, Ruling
from checkers.windows import Windows
from tests.checkers.facts import fact, lost, run_of
from tests.model.damage_stories import AT, STEP_NS, A, B, C, Story
from tests.model.test_damage_scope import steps, told

CLASSES = ("suffix", "prefix", "all", "middle")
Case = tuple[int, int, int, int, int]
cases = st.lists(st.tuples(*(st.integers(0, 320),) * 2, st.integers(-1, 4), st.integers(-1, 50), st.integers(0, 3)), min_size=1)


def asked_directly(promises: Promises, case: Case) -> Ruling:
    """6.3 and 6.4, one instance at a time."""
    first, last, offset, acked_ns, loss_class = case
    window = min(first, last), max(first, last)
    promise, bound = promises.ledger.level(AT, *window), promises.ledger.bound(AT, *window)
    beyond = CLASSES[loss_class] in ("prefix", "middle")
    if bound is not None:
        beyond |= 0 <= offset < bound.least_offset
        beyond |= bound.acked_after_ns is not None and 0 <= acked_ns <= bound.acked_after_ns
    if promise.cell == "allowed" and beyond:
        return Ruling(f"{promise.rule}+bound", "forbidden")
    return Ruling(promise.rule, promise.cell)


@settings(max_examples=150, deadline=None)
@given(steps, st.booleans(), st.booleans(), cases)
def test_windows_that_nothing_tells_apart_are_judged_alike(words: list, elr: bool, complete: bool, several: list[Case]) -> None:  # type: ignore[type-arg]
    """Exactly as the ledger answers when it is asked for each of them."""
    promises = Promises(run_of(told(words, elr=elr, complete=complete)))
    first, last, offset, acked_ns, loss_class = np.array(several).T
    columns = {"from_ns": np.minimum(first, last), "to_ns": np.maximum(first, last), "offset": offset, "acked_ns": acked_ns}
    found = fact("lost_write", loss_class=np.array(CLASSES, object)[loss_class], proof_ns=np.maximum(first, last), **columns)
    rulings = promises.committed(found)
    assert [rulings.of[i] for i in rulings.which] == [asked_directly(promises, case) for case in several]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9)), st.lists(st.tuples(st.integers(-1, 10), st.integers(-1, 10)), min_size=1))
def test_a_window_stands_to_every_moment_as_the_one_that_is_asked_about(
    moments: list[int], windows: list[tuple[int, int]]
) -> None:
    """Before, at or after: the same at both ends."""
    from_ns, to_ns = np.array(windows).T
    distinct = Windows(moments).distinct(from_ns, to_ns)
    for mine, which in zip(windows, distinct.which, strict=True):
        alike = distinct.windows[which]
        for moment, end in product(moments, (0, 1)):
            assert np.sign(mine[end] - moment) == np.sign(alike[end] - moment)
    assert len(distinct.windows) <= min(len(windows), (2 * len(set(moments)) + 1) ** 2)


def test_a_hundred_thousand_instances_are_a_few_questions() -> None:
    """6.1 for each, and yet no more work than the changes make."""
    story = Story((A, B))
    for _ in range(100):
        story.hurt(A).restart(A).change(A, B, epoch_start=1)
    count = 100_000
    from_ns = np.sort(np.random.default_rng(1).integers(0, story.now, count))
    promises = Promises(run_of(story))
    began = time.perf_counter()
    rulings = promises.of(lost(count=count, from_ns=from_ns, to_ns=np.full(count, story.now), proof_ns=from_ns))
    assert len(rulings.which) == count
    assert len(rulings.of) <= 2 * 2 * (len(story.told) + 1)
    assert time.perf_counter() - began < 10  # asked one by one it would be minutes


# -- 9.5: everything combined -------------------------------------------------------------------------------------------

STRENGTH = {"not judged": 0, "allowed": 1, "forbidden": 2}
SETTINGS: tuple[dict[str, Any], ...] = tuple(
    {"min_isr": m, "replicas": rf, "unclean": unclean, "elr": elr, "changes_complete": complete, **flush}
    for m, rf, unclean, elr, complete, flush in product(
        (1, 2), (1, 3), (False, True), (False, True), (False, True), ({}, {"flush_each": True}, {"flush_interval_ns": STEP_NS})
    )
)
DAMAGE: tuple[tuple[tuple[int, str], ...], ...] = (
    (),
    ((A, "kill"),),
    ((A, "lossy"),),
    ((A, "lossy"), (B, "kill")),
    ((A, "lossy"), (B, "lossy"), (C, "wipe")),
    ((A, "lossy"), (B, "rot")),
)
ELECTIONS = ("none", "preferred", "clean", "last_known", "unclean")


def played(setting: dict[str, Any], damage: tuple[tuple[int, str], ...], election: str, start: int | None) -> Story:
    """The ISR is recorded alike, whatever the damage."""
    nodes = (A, B, C)[: setting["replicas"]]
    story = Story(nodes, **setting)
    story.state["replicas"] = nodes
    story.change(*nodes)
    for node, how in damage:
        if node in nodes:
            story.kill(node) if how == "kill" else story.hurt(node, how, 0)  # type: ignore[arg-type]
    story.now = 200
    if election != "none":
        story.change(nodes[-1], election=election, leader=nodes[-1], epoch_start=start)
    return story


def every_input() -> Iterator[tuple[dict[str, Any], str, int | None]]:
    for setting, election in product(SETTINGS, ELECTIONS):
        for start in (None, 0, 2) if election != "none" else (None,):
            yield setting, election, start


def rulings_of(story: Story) -> tuple[Ruling, Ruling]:
    promises = Promises(run_of(story))
    facts = {"offset": 1, "acked_ns": 2, "loss_class": "suffix", "write_epoch": 0}
    committed, local = (promises.of(fact("lost_write", level, **facts)) for level in ("committed", "local"))
    return committed.of[int(committed.which[0])], local.of[int(local.which[0])]


def local_row(story: Story, committed: Ruling, election: str, start: int | None) -> str:
    """6.5 in its own words: W0 to W3, the first that matches."""
    later, known = election != "none", story.setting.changes_complete
    rows = (
        ("W0", committed.cell != "forbidden"),
        ("W1", known and not later),
        ("W2", known and not (later and (start is None or start <= 1))),
        ("W3", True),
    )
    return next(name for name, matches in rows if matches)


def test_every_input_has_one_first_row_and_the_local_level_is_never_the_stricter_one() -> None:
    """9.5: m, replicas, unclean, ELR, flush, damage, elections and where they start, each with each."""
    seen: set[str] = set()
    for setting, election, start in every_input():
        weakest = [9, 9]
        for damage in DAMAGE:
            story = played(setting, damage, election, start)
            committed, local = rulings_of(story)
            assert local.rule == local_row(story, committed, election, start), (setting, damage, election, start)
            strengths = [STRENGTH[committed.cell], STRENGTH[local.cell]]
            assert strengths[1] <= strengths[0], (setting, damage, election, start)
            if damage in DAMAGE[2:5]:  # more and more of the same: never from allowed to forbidden
                assert all(now <= before for now, before in zip(strengths, weakest, strict=True))
                weakest = strengths
            seen |= {committed.rule, local.rule}
    assert seen >= {"C1", "C2", "C2+bound", "C3", "C5", "C6", "C7", "C8", "C9", "W0", "W1", "W2", "W3"}
