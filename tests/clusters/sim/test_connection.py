"""A connection: requests one way, answers the other, each in order, and how calls end."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusters.sim.latency import MS
from model.cluster import Ability, Link, Streams
from replication.env import CLOSE, Failure
from tests.clusters.sim.bare import LONG_NS, Asked, Bare, NoteRequest, S, notes, produce

LINK = Link(1, 2)


# -- the ordinary way ---------------------------------------------------------------------------------------------------


def test_a_question_is_answered() -> None:
    """It takes a while both ways, and one more for the connection."""
    bare = Bare()
    asked = bare.ask(LINK, NoteRequest(7))
    bare.until(lambda: asked.answered)
    assert bare[2].messages == notes(7)
    assert 0 < bare[2].times[0] < asked.at_ns[0] < 500 * MS


def test_answers_come_in_the_order_of_requests_even_when_they_are_given_in_another() -> None:
    """DESIGN 11.1: the second answer waits for the first."""
    bare = Bare()
    bare[2].answers_at_once = False
    asked = bare.ask_all(LINK, 3)
    bare.until(lambda: len(bare[2].arrived) == 3)
    calls = [call for _, call in bare[2].arrived]
    bare[2].answer(calls[2])
    bare[2].answer(calls[1])
    bare.run(1 * S)
    assert [each.result for each in asked] == [None, None, None]
    bare[2].answer(calls[0])
    bare.until(lambda: all(each.answered for each in asked))
    assert [each.at_ns for each in asked] == sorted(each.at_ns for each in asked)


def test_a_produce_without_acks_gets_no_answer_and_keeps_none_behind_it_waiting() -> None:
    """6.2: it is delivered all the same, and its deadline ends neither the connection nor another call."""
    bare = Bare()
    silent = bare.ask(LINK, produce(acks=0), 50 * MS)
    asked = bare.ask(LINK, NoteRequest(1))
    bare[2].answers_at_once = False
    bare.until(lambda: len(bare[2].arrived) == 2)
    bare[2].answer(bare[2].arrived[1][1])
    bare.until(lambda: asked.answered)
    bare.run(1 * S)
    assert silent.result is Failure.TIMED_OUT
    again = bare.ask(LINK, NoteRequest(2))
    assert again.connection is asked.connection


def test_two_channels_are_two_connections() -> None:
    """What one of them waits for does not concern the other."""
    bare = Bare()
    bare[2].answers_at_once = False
    slow, quick = bare.ask(LINK, NoteRequest(1), channel="fetch-0"), bare.ask(LINK, NoteRequest(2), channel="raft")
    bare.until(lambda: len(bare[2].arrived) == 2)
    bare[2].answer(next(call for _, call in bare[2].arrived if call.message == NoteRequest(2)))
    bare.until(lambda: quick.answered)
    assert slow.result is None


# -- how calls end without an answer ------------------------------------------------------------------------------------


@pytest.mark.parametrize("why", ["dead", "deaf", "nobody"])
def test_a_call_is_refused_where_nobody_listens(why: str) -> None:
    """At once, and nothing was sent: a dead process, one that takes no such channel, a node that never was."""
    bare = Bare()
    bare.end(3)
    asked = bare.ask(Link(1, {"dead": 3, "deaf": 2, "nobody": 99}[why]), NoteRequest(1), channel="deaf" if why == "deaf" else "x")
    bare.run(1 * S)
    assert asked.result is Failure.REFUSED
    assert bare[2].arrived == []


def test_when_the_listener_dies_its_sent_answers_arrive_and_the_others_are_lost() -> None:
    """What it still owed it can no longer say."""
    bare = Bare()
    bare[2].answers_at_once = False
    asked = bare.ask_all(LINK, 3)
    bare.until(lambda: len(bare[2].arrived) == 3)
    first, _, third = (call for _, call in bare[2].arrived)
    bare[2].answer(first)
    bare[2].answer(third)  # held back by the second, so never sent
    bare.end(2)
    bare.run(1 * S)
    assert asked[0].answered
    assert [each.result for each in asked[1:]] == [Failure.LOST, Failure.LOST]
    assert asked[0].at_ns <= asked[1].at_ns


def test_a_new_life_has_new_connections() -> None:
    """What was sent to the old one does not reach the new one."""
    bare = Bare()
    bare.connect(LINK)
    old = bare.ask(LINK, NoteRequest(1))
    bare.end(2)
    bare.start(2)
    bare.run(1 * S)
    assert old.result is Failure.LOST
    assert bare[2].arrived == []
    new = bare.ask(LINK, NoteRequest(2))
    bare.until(lambda: new.answered)


def test_a_call_that_times_out_takes_the_others_of_its_connection_with_it() -> None:
    """As in Kafka's clients: the connection ends, and nobody knows what became of the rest."""
    bare = Bare()
    bare[2].answers_at_once = False
    asked = [bare.ask(LINK, NoteRequest(number), timeout) for number, timeout in enumerate((9 * S, 1 * S, 9 * S))]
    elsewhere = bare.ask(LINK, NoteRequest(3), channel="raft")
    bare.run(2 * S)
    assert [each.result for each in asked] == [Failure.LOST, Failure.TIMED_OUT, Failure.LOST]
    assert {at for each in asked for at in each.at_ns} == {1 * S}
    assert elsewhere.result is None


def test_a_request_may_arrive_long_after_its_sender_gave_up() -> None:
    """What was sent before a connection ended still arrives; its answer goes nowhere."""
    bare = Bare()
    bare.connect(LINK)
    bare.links.delay(LINK, 3 * S)
    asked = bare.ask(LINK, NoteRequest(1), 1 * S)
    bare.run(2 * S)
    assert (asked.result, bare[2].messages) == (Failure.TIMED_OUT, [])
    bare.run(3 * S)
    assert bare[2].messages == notes(1)
    assert asked.result is Failure.TIMED_OUT


def test_a_request_still_arrives_when_its_sender_has_died() -> None:
    """The bytes are on their way, and nobody is called back."""
    bare = Bare()
    bare.connect(LINK)
    asked = bare.ask(LINK, NoteRequest(1))
    bare.end(1)
    bare.run(1 * S)
    assert bare[2].messages == notes(1)
    assert asked.result is None


def test_a_listener_may_close_in_place_of_an_answer() -> None:
    """6.14: every open call of the connection is lost."""
    bare = Bare()
    bare[2].answers_at_once = False
    asked = bare.ask_all(LINK, 2)
    bare.until(lambda: len(bare[2].arrived) == 2)
    bare[2].env.reply(bare[2].arrived[0][1], CLOSE)
    bare.run(1 * S)
    assert [each.result for each in asked] == [Failure.LOST, Failure.LOST]


def test_without_a_deadline_only_the_end_of_the_connection_ends_the_wait() -> None:
    """DESIGN 11.1: `timeout_ns` None."""
    bare = Bare()
    bare[2].answers_at_once = False
    asked = bare.ask(LINK, NoteRequest(1), None)
    bare.run(1_000 * S)
    assert asked.result is None
    bare.end(2)
    bare.run(1 * S)
    assert asked.result is Failure.LOST


def test_what_has_arrived_at_a_paused_dialler_is_not_taken_back() -> None:
    """An answer in the socket's buffer is read first, however the connection ends meanwhile."""
    bare = Bare()
    bare.connect(LINK)
    asked = bare.ask(LINK, NoteRequest(1), 1 * S)
    bare.pace(1, paused=True)
    bare.run(500 * MS)  # the answer is there
    bare.end(2)
    bare.run(5 * S)  # and so are the end, and the deadline
    assert asked.result is None
    bare.pace(1)
    bare.run(1 * S)
    assert asked.answered


# -- whatever happens ---------------------------------------------------------------------------------------------------

STREAMS = st.sampled_from(["requests", "answers", "both"])
STANDING = st.sampled_from([Ability.CUT, Ability.HOLD, Ability.SILENT])
GATE = st.tuples(st.sampled_from(["hold", "drop", "repeat"]), STREAMS, st.sampled_from([None, 1, 2]))
STEP = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from([1 * MS, 30 * MS, 400 * MS, 2 * S])),
    st.tuples(st.just("ask"), st.sampled_from([400 * MS, 2 * S])),
    st.tuples(st.just("answer"), st.integers(0, 3)),
    st.tuples(st.just("run"), st.sampled_from([0, 100_000, 1 * MS, 10 * MS, 300 * MS])),
    st.tuples(st.just("stand"), st.tuples(STANDING, STREAMS)),
    st.tuples(st.just("slow"), st.tuples(st.sampled_from([1 * MS, 50 * MS]), STREAMS)),
    st.tuples(st.just("gate"), GATE),
    st.tuples(st.just("refuse"), st.none()),
    st.tuples(st.just("reset"), STREAMS),
    st.tuples(st.just("heal"), st.sampled_from([*Ability][:9])),
    st.tuples(st.just("pause"), st.sampled_from([1, 2])),
    st.tuples(st.just("resume"), st.sampled_from([1, 2])),
    st.tuples(st.just("restart"), st.none()),
)
Step = tuple[str, object]


class Story:
    """One link, one dialler, and everything that can happen to them."""

    def __init__(self, seed: int) -> None:
        self.bare = Bare(1, 2, seed=seed)
        self.asked: list[Asked] = []
        self.lives = [self.bare[2]]
        self.lives[0].answers_at_once = False
        self.unanswered: set[int] = set()

    def take(self, step: Step) -> None:
        getattr(self, f"_{step[0]}")(step[1])

    def _ask(self, timeout_ns: int) -> None:
        self.asked.append(self.bare.ask(LINK, NoteRequest(len(self.asked)), timeout_ns))

    def _answer(self, index: int) -> None:
        """Any of those that wait, so not in their order."""
        life = self.lives[-1]
        open_calls = [call for _, call in life.arrived if not call.answered]
        if open_calls:
            life.answer(open_calls[index % len(open_calls)])

    def _run(self, ns: int) -> None:
        self.bare.run(ns)

    def _stand(self, fault: tuple[Ability, Streams]) -> None:
        verb, streams = fault
        {Ability.CUT: self.bare.links.cut, Ability.HOLD: self.bare.links.hold, Ability.SILENT: self.bare.links.silent}[verb](
            LINK, streams
        )

    def _slow(self, fault: tuple[int, Streams]) -> None:
        self.bare.links.delay(LINK, fault[0], fault[0], fault[1])

    def _gate(self, fault: tuple[Literal["hold", "drop", "repeat"], Streams, int | None]) -> None:
        self.bare.links.gate(LINK, "Note", fault[0], fault[1], fault[2])

    def _refuse(self, _: None) -> None:
        self.bare.links.refuse(LINK)

    def _reset(self, streams: Streams) -> None:
        self.bare.links.reset(LINK, streams)

    def _heal(self, verb: Ability) -> None:
        self.bare.links.heal(LINK, verb)

    def _pause(self, node: int) -> None:
        self.bare.pace(node, paused=True)

    def _resume(self, node: int) -> None:
        self.bare.pace(node)

    def _restart(self, _: None) -> None:
        self.bare.end(2)
        self.lives.append(self.bare.start(2))
        self.lives[-1].answers_at_once = False

    def come_to_an_end(self) -> None:
        self.bare.links.heal(LINK)
        self._resume(1)
        self._resume(2)
        self.bare.run(LONG_NS)


@settings(max_examples=400)
@given(st.integers(0, 1_000), st.lists(STEP, min_size=3, max_size=40))
def test_whatever_happens_order_is_kept_and_every_call_ends_once(seed: int, steps: list[Step]) -> None:
    """Of each connection a first part of the requests arrives, in order and without a hole; answers come in their order."""
    story = Story(seed)
    for step in steps:
        story.take(step)
    story.come_to_an_end()
    assert all(len(each.results) == 1 for each in story.asked)
    for connection in dict.fromkeys(each.connection for each in story.asked):
        mine = [each for each in story.asked if each.connection is connection]
        sent = [each.message.number for each in mine if each.result is not Failure.REFUSED]
        arrived = [call.message.number for life in story.lives for _, call in life.arrived if call.connection is connection]
        assert arrived == sent[: len(arrived)]
        ends = [each.at_ns[0] for each in mine if each.answered]
        assert all(one <= next_one for one, next_one in pairwise(ends))
        assert not any(each.message.number in arrived for each in mine if each.result is Failure.REFUSED)
    assert all(each.answered or isinstance(each.result, Failure) for each in story.asked)
