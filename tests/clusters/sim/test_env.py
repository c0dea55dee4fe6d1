"""One life of a process: what happens to it, in order, and how it ends alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.sim.env import STEP_NS
from clusters.sim.latency import MS
from model.cluster import Link
from replication.env import Failure
from tests.clusters.sim.bare import Bare, NoteRequest, S, notes

TO_2 = Link(1, 2)


def pause(bare: Bare, node: int, *, paused: bool = True, share: float | None = None) -> None:
    bare.pace(node, paused=paused, share=share)


def test_nothing_happens_to_a_paused_process_and_then_everything_does_in_order() -> None:
    """Requests, timers and answers wait; its peers are told nothing, and time goes on."""
    bare = Bare()
    events = list[str]()
    bare[2].env.on_request = lambda call: events.append(f"request {call.message.number}")
    pause(bare, 2)
    bare.ask_all(TO_2, 2)
    bare[2].env.after(1 * S, lambda: events.append("timer"))
    bare.run(2 * S)
    late = bare.ask(TO_2, NoteRequest(2))
    bare.run(1 * S)
    assert (events, late.result) == ([], None)
    assert bare[2].env.waited == 4
    pause(bare, 2, paused=False)
    assert events == []  # not in the middle of whatever let it go on
    bare.run(0)
    assert events == ["request 0", "request 1", "timer", "request 2"]


def test_a_process_that_went_on_takes_what_comes_at_once() -> None:
    """Nothing of the pause is left."""
    bare = Bare()
    pause(bare, 2)
    bare.run(1 * S)
    pause(bare, 2, paused=False)
    asked = bare.ask(TO_2, NoteRequest(1))
    bare.until(lambda: asked.answered)
    assert bare[2].env.waited == 0


@given(st.lists(st.sampled_from(["ask", "pause", "resume", "slow", "run"]), min_size=1, max_size=25))
def test_however_its_pace_changes_nothing_is_lost_and_order_stays(steps: list[str]) -> None:
    """What waits is done as soon as it can be, behind what came before it."""
    bare, asked = Bare(), 0
    pace: dict[str, tuple[bool, float | None]] = {"pause": (True, None), "resume": (False, None), "slow": (False, 0.01)}
    for step in steps:
        if step == "ask":
            bare.ask(TO_2, NoteRequest(asked))
            asked += 1
        elif step == "run":
            bare.run(1 * MS)
        else:
            paused, share = pace[step]
            pause(bare, 2, paused=paused, share=share)
    pause(bare, 2, paused=False)
    bare.run(5 * S)
    assert bare[2].messages == notes(*range(asked))


@pytest.mark.parametrize("share", [0.5, 0.01, 0.001])
def test_a_slowed_process_needs_so_much_longer_for_everything(share: float) -> None:
    """One thing after the other, each at the price of a step by its share of a CPU."""
    bare = Bare()
    bare.connect(TO_2)
    pause(bare, 2, paused=False, share=share)
    bare.links.hold(TO_2)
    bare.ask_all(TO_2, 3)
    bare.run(1 * S)
    began = bare.kernel.now
    bare.links.heal(TO_2)  # so that all three are there at once
    bare.run(1 * S)
    cost = int(STEP_NS / share)
    assert [at - began for at in bare[2].times] == [cost, 2 * cost, 3 * cost]
    assert bare[2].env.waited == 3


def test_a_process_that_raises_ends_alone_and_nobody_allowed_it() -> None:
    """Its peers notice that it is gone, and go on."""
    bare = Bare()

    def stumble(call: object) -> None:
        raise ValueError("the third leg")

    bare[2].env.on_request = stumble
    asked, other = bare.ask(TO_2, NoteRequest(1)), bare.ask(Link(1, 3), NoteRequest(1))
    bare.run(1 * S)
    assert bare.exits == [(2, "ValueError: the third leg", False)]
    assert not bare[2].env.alive
    assert asked.result is Failure.LOST
    assert other.answered


def test_a_process_that_raises_while_it_catches_up_ends_as_well() -> None:
    """What waited behind it is never done."""
    bare, done = Bare(), list[int]()

    def stumble() -> None:
        done.append(1)
        raise ValueError("late")

    pause(bare, 1)
    bare[1].env.after(1 * MS, stumble)
    bare[1].env.after(2 * MS, stumble)
    bare.run(1 * S)
    pause(bare, 1, paused=False)
    bare.run(1 * S)
    assert (done, bare.exits) == ([1], [(1, "ValueError: late", False)])


def test_a_process_that_halts_was_allowed_to_and_halts_once() -> None:
    """10.1, 10.4: the protocol's own way to end."""
    bare = Bare()
    bare[2].env.halt("no disk is left")
    bare[2].env.halt("again")
    assert bare.exits == [(2, "no disk is left", True)]
    assert not bare[2].env.alive


def test_a_dead_process_gets_no_more_calls() -> None:
    """Not its timers, not what waited in a pause, not answers to what it asked."""
    bare, calls = Bare(), list[str]()
    bare[2].env.after(1 * S, lambda: calls.append("timer"))
    pause(bare, 2)
    bare.ask(TO_2, NoteRequest(1))
    asked = bare.ask(Link(2, 3), NoteRequest(2))
    bare.run(500 * MS)
    bare.end(2)
    pause(bare, 2, paused=False)
    bare.run(5 * S)
    assert (calls, bare[2].arrived, asked.result) == ([], [], None)


def test_a_dead_process_says_nothing() -> None:
    """An answer that it is made to give goes nowhere."""
    bare = Bare()
    bare[2].answers_at_once = False
    asked = bare.ask(TO_2, NoteRequest(1))
    bare.until(lambda: bool(bare[2].arrived))
    bare.end(2)
    bare[2].answer(bare[2].arrived[0][1])
    bare.run(1 * S)
    assert asked.result is Failure.LOST


def test_what_a_process_tells_is_heard() -> None:
    """With who told it."""
    bare = Bare()
    bare[3].env.emit("an event")
    assert bare.told == [(3, "an event")]
