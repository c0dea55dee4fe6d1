"""Links and their faults (DESIGN 11.10), each measured by what arrives, and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.sim.latency import MS, size_of
from model.cluster import Ability, Link, Streams
from replication.env import Failure
from tests.clusters.sim.bare import Asked, Bare, NoteRequest, OtherRequest, S, notes, produce

LINK, BACK, ELSEWHERE = Link(1, 2), Link(2, 1), Link(1, 3)

Action = Literal["hold", "drop", "repeat"]


@pytest.fixture
def bare() -> Bare:
    """Three processes; 1 and 2 are connected."""
    found = Bare()
    found.connect(LINK)
    return found


# -- cut, hold, silent: nothing passes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [Ability.CUT, Ability.HOLD, Ability.SILENT])
@pytest.mark.parametrize("streams", ["requests", "answers", "both"])
def test_nothing_passes_in_the_streams_that_stand_still(bare: Bare, verb: Ability, streams: Streams) -> None:
    """A request arrives unless requests stand still; its answer arrives in neither case."""
    getattr(bare.links, verb.value)(LINK, streams)
    asked = bare.ask(LINK, NoteRequest(1))
    bare.run(5 * S)
    assert bare[2].messages == (notes(1) if streams == "answers" else [])
    assert asked.result is None
    assert bare.links.touched(LINK, verb) == 1


@pytest.mark.parametrize("verb", [Ability.CUT, Ability.HOLD, Ability.SILENT, Ability.REFUSE])
def test_other_links_do_not_feel_it(bare: Bare, verb: Ability) -> None:
    """Not the one to somebody else, and not the one that the other side dials."""
    getattr(bare.links, verb.value)(LINK)
    asked = [bare.ask(ELSEWHERE, NoteRequest(1)), bare.ask(BACK, NoteRequest(2))]
    bare.until(lambda: all(each.answered for each in asked))


@pytest.mark.parametrize("verb", [Ability.CUT, Ability.SILENT])
def test_when_a_cut_heals_connections_end_and_what_was_queued_never_arrives(bare: Bare, verb: Ability) -> None:
    """The calls are lost at that moment, and a new connection works at once."""
    getattr(bare.links, verb.value)(LINK)
    asked = bare.ask_all(LINK, 3)
    bare.run(1 * S)
    bare.links.heal(LINK, verb)
    healed = bare.kernel.now
    again = bare.ask(LINK, NoteRequest(9))
    bare.until(lambda: again.answered)
    assert [(each.result, each.at_ns) for each in asked] == [(Failure.LOST, [healed])] * 3
    bare.run(5 * S)
    assert bare[2].messages == notes(9)


def test_what_is_on_its_way_when_a_cut_heals_does_not_arrive_behind_a_hole(bare: Bare) -> None:
    """It was sent behind requests that are lost, on the same connection."""
    bare.links.cut(LINK)
    bare.ask(LINK, NoteRequest(1), 1 * S)
    bare.run(500 * MS)
    bare.ask(LINK, NoteRequest(2))
    bare.links.heal(LINK, Ability.CUT)
    bare.run(5 * S)
    assert bare[2].messages == []


def test_a_cut_ends_what_a_sender_that_gave_up_had_sent(bare: Bare) -> None:
    """Its connection ended by its own deadline, and its request is still lost with the cut."""
    bare.links.cut(LINK)
    asked = bare.ask(LINK, NoteRequest(1), 1 * S)
    bare.run(2 * S)
    assert asked.result is Failure.TIMED_OUT
    bare.links.heal(LINK, Ability.CUT)
    bare.run(5 * S)
    assert bare[2].messages == []


@pytest.mark.parametrize(("verb", "noticed"), [(Ability.CUT, True), (Ability.HOLD, False), (Ability.SILENT, False)])
def test_the_death_of_a_process_is_noticed_behind_a_cut_alone(bare: Bare, verb: Ability, noticed: bool) -> None:
    """A hold keeps the end back with everything else, and of a silent link nobody hears; on heal it turns out."""
    getattr(bare.links, verb.value)(LINK)
    asked = bare.ask(LINK, NoteRequest(1))
    bare.run(1 * S)
    bare.end(2)
    bare.run(1 * S)
    assert asked.result is (Failure.LOST if noticed else None)
    bare.links.heal(LINK, verb)
    bare.run(1 * S)
    assert asked.result is Failure.LOST


@pytest.mark.parametrize("verb", [Ability.HOLD, Ability.SILENT])
def test_an_end_that_was_kept_back_counts(bare: Bare, verb: Ability) -> None:
    """It is all that this fault did, and it is an effect."""
    bare[2].answers_at_once = False
    bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: bool(bare[2].arrived))
    getattr(bare.links, verb.value)(LINK)
    bare.end(2)
    bare.run(1 * S)
    assert bare.links.touched(LINK, verb) == 1


def test_when_a_hold_heals_everything_arrives_in_order(bare: Bare) -> None:
    """Requests and answers, at that moment, and the connection goes on."""
    bare[2].answers_at_once = False
    early = bare.ask(LINK, NoteRequest(0))
    bare.until(lambda: bool(bare[2].arrived))
    bare.links.hold(LINK)
    bare[2].answer(bare[2].arrived[0][1])
    bare[2].answers_at_once = True
    asked = bare.ask_all(LINK, 5, first=1)
    bare.run(1 * S)
    assert (bare[2].messages, early.result) == (notes(0), None)
    bare.links.heal(LINK, Ability.HOLD)
    assert bare[2].messages == notes(0, 1, 2, 3, 4, 5)
    assert early.answered
    bare.until(lambda: all(each.answered for each in asked))


def test_a_hold_also_delivers_what_a_sender_that_gave_up_had_sent(bare: Bare) -> None:
    """Old messages in a new time: even of a process that is dead by then."""
    bare.links.hold(LINK)
    asked = bare.ask(LINK, NoteRequest(1), 1 * S)
    bare.run(2 * S)
    assert asked.result is Failure.TIMED_OUT
    bare.ask(LINK, NoteRequest(2))
    bare.run(1 * S)
    bare.end(1)
    bare.run(1 * S)
    bare.links.heal(LINK, Ability.HOLD)
    bare.run(1 * S)
    assert bare[2].messages == notes(1, 2)


def test_a_silent_link_does_not_even_answer_who_dials() -> None:
    """A call waits for its deadline and was never sent; one that waits longer is sent when the link heals."""
    bare = Bare()
    bare.links.silent(LINK)
    short, long = bare.ask(LINK, NoteRequest(1), 1 * S), bare.ask(LINK, NoteRequest(2), 9 * S)
    bare.run(3 * S)
    assert (short.result, short.at_ns, long.result) == (Failure.REFUSED, [1 * S], None)
    bare.links.heal(LINK, Ability.SILENT)
    bare.until(lambda: long.answered)
    assert bare[2].messages == notes(2)


def test_two_faults_of_one_verb_add_up() -> None:
    """Each is released by itself, and only the last one gone lets anything pass."""
    bare = Bare()
    bare.connect(LINK)
    first, second = bare.links.hold(LINK, "requests"), bare.links.hold(LINK, "both")
    asked = bare.ask(LINK, NoteRequest(1))
    first.release()
    first.release()  # once too often is nothing
    bare.run(1 * S)
    assert (bare[2].messages, asked.result) == ([], None)
    second.release()
    bare.until(lambda: asked.answered)


def test_a_fault_that_ends_takes_itself_away_and_no_other_of_its_verb() -> None:
    """The long delay stays when the short one ends, and the gate of one kind when that of another opens."""
    bare = Bare()
    bare.connect(LINK)
    bare.links.delay(LINK, 1 * S)
    bare.links.delay(LINK, 1 * MS).release()
    began = bare.kernel.now
    asked = bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: asked.answered)
    assert bare.kernel.now - began >= 2 * S
    bare.links.heal(LINK)
    note, other = (bare.links.gate(LINK, kind, "hold", "requests", None) for kind in ("Note", "Other"))
    asked = bare.ask(LINK, NoteRequest(2))
    other.release()
    bare.run(1 * S)
    assert (asked.result, note.touched(), other.touched()) == (None, 1, 0)


def test_what_one_fault_touched_is_not_counted_for_its_neighbour() -> None:
    """A gate of a kind that nobody sent has no teeth, whatever the gate beside it caught."""
    bare = Bare()
    caught, idle = (bare.links.gate(LINK, kind, "repeat", "requests", None) for kind in ("Note", "Vote"))
    asked = bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: asked.answered)
    assert (caught.touched(), idle.touched()) == (1, 0)


def test_a_delay_of_nothing_and_a_limit_nobody_feels_touch_nothing() -> None:
    """Being in force is not being felt."""
    bare = Bare()
    faults = bare.links.delay(LINK, 0), bare.links.throttle(LINK, 10**12), bare.links.slice(LINK, 10**6, 1 * S)
    asked = bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: asked.answered)
    assert [fault.touched() for fault in faults] == [0, 0, 0]


def test_requests_pass_when_only_answers_are_still_held() -> None:
    """Those that waited, and those that come."""
    bare = Bare()
    bare.connect(LINK)
    requests, answers = bare.links.hold(LINK, "requests"), bare.links.hold(LINK, "answers")
    waits = bare.ask(LINK, NoteRequest(1))
    bare.run(1 * S)
    requests.release()
    later = bare.ask(LINK, NoteRequest(2))
    bare.run(1 * S)
    assert (bare[2].messages, waits.result, later.result) == (notes(1, 2), None, None)
    answers.release()
    bare.until(lambda: later.answered)
    assert waits.answered


@pytest.mark.parametrize("verb", [Ability.DELAY, Ability.HOLD, Ability.CUT, Ability.SILENT])
def test_what_a_gate_holds_waits_for_that_gate(verb: Ability) -> None:
    """No other fault that ends lets it pass; a gate that has caught all it was to catch still holds what it caught."""
    bare = Bare()
    bare.connect(LINK)
    gate = bare.links.gate(LINK, "Note", "hold", "requests", 1)
    held = bare.ask(LINK, NoteRequest(1))
    behind = bare.ask(LINK, NoteRequest(2))
    bare.run(1 * S)
    other = bare.links.delay(LINK, 1 * MS) if verb is Ability.DELAY else getattr(bare.links, verb.value)(LINK, "answers")
    bare.run(1 * S)
    assert bare[2].messages == []
    if verb in (Ability.DELAY, Ability.HOLD):
        other.release()
        bare.run(1 * S)
        assert (bare[2].messages, gate.touched()) == ([], 1)
        gate.release()
        bare.until(lambda: behind.answered)
        assert held.answered
    else:
        other.release()  # its connections end, and what was queued is lost
        assert (held.result, behind.result) == (Failure.LOST, Failure.LOST)


def test_a_gate_that_opens_behind_another_fault_does_not_stay_shut() -> None:
    """What it held passes when the other one ends."""
    bare = Bare()
    bare.connect(LINK)
    gate = bare.links.gate(LINK, "Note", "hold", "requests", None)
    asked = bare.ask(LINK, NoteRequest(1))
    bare.run(1 * S)
    hold = bare.links.hold(LINK)
    gate.release()
    bare.run(1 * S)
    assert bare[2].messages == []
    hold.release()
    bare.until(lambda: asked.answered)


def test_what_queued_up_behind_a_limit_arrives_when_it_ends() -> None:
    """At once, in order, and what comes later does not wait for a queue that is gone."""
    bare = Bare()
    bare.connect(LINK)
    limit = bare.links.throttle(LINK, 10, "requests")
    asked = bare.ask_all(LINK, 5)
    bare.run(100 * MS)
    limit.release()
    asked += bare.ask_all(LINK, 2, first=5)
    began = bare.kernel.now
    bare.until(lambda: asked[-1].answered)
    assert bare.kernel.now - began < 500 * MS
    assert bare[2].messages == notes(*range(7))


def test_a_dial_under_way_is_not_hurried_by_a_fault_that_ends() -> None:
    """Only one that nobody heard is dialled again."""

    def opened_after(*, heals: bool) -> int:
        bare = Bare()
        delay = bare.links.delay(LINK, 1 * MS)
        asked = bare.ask(LINK, NoteRequest(1))
        if heals:
            delay.release()
        bare.links.heal(LINK)
        bare.until(lambda: asked.answered)
        return bare[2].times[0]

    assert opened_after(heals=True) == opened_after(heals=False)


@pytest.mark.parametrize("verb", [verb for verb in Ability if verb in tuple(Ability)[:9]])
def test_healing_what_is_not_there_changes_nothing(bare: Bare, verb: Ability) -> None:
    """The connection stays, and so does a fault of another verb."""
    asked = bare.ask(LINK, NoteRequest(1))
    bare.links.heal(LINK, verb)
    bare.until(lambda: asked.answered)
    other = Ability.HOLD if verb is not Ability.HOLD else Ability.CUT
    getattr(bare.links, other.value)(LINK)
    kept = bare.ask(LINK, NoteRequest(2))
    bare.run(1 * S)
    bare.links.heal(LINK, verb)
    bare.run(1 * S)
    assert kept.result is None
    assert bare[2].messages == notes(1)


def test_healing_without_a_verb_takes_everything_away(bare: Bare) -> None:
    """However many there are."""
    for _ in range(2):
        bare.links.cut(LINK)
        bare.links.hold(LINK)
        bare.links.refuse(LINK)
        bare.links.delay(LINK, 5 * S)
    bare.links.heal(LINK)
    started = bare.kernel.now
    asked = bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: asked.answered)
    assert bare.kernel.now - started < 500 * MS
    assert all(bare.links.touched(LINK, verb) == 0 for verb in Ability)


# -- refuse and reset ---------------------------------------------------------------------------------------------------


def test_refuse_ends_connections_and_lets_nobody_in(bare: Bare) -> None:
    """Calls that were open are lost, later ones never sent; healed, the next one passes."""
    open_one = bare.ask(LINK, NoteRequest(1))
    bare.links.refuse(LINK)
    assert open_one.result is Failure.LOST
    later = bare.ask(LINK, NoteRequest(2))
    bare.run(1 * S)
    assert later.result is Failure.REFUSED
    assert bare[2].messages == []
    assert bare.links.touched(LINK, Ability.REFUSE) == 2
    bare.links.heal(LINK, Ability.REFUSE)
    again = bare.ask(LINK, NoteRequest(3))
    bare.until(lambda: again.answered)


@pytest.mark.parametrize(("streams", "arrives"), [("requests", False), ("answers", True), ("both", False)])
def test_a_reset_loses_calls_and_requests_unless_only_answers_are_reset(bare: Bare, streams: Streams, arrives: bool) -> None:
    """It is over at once: the next call dials anew."""
    asked = bare.ask(LINK, NoteRequest(1))
    assert bare.links.reset(LINK, streams) == 1
    assert asked.result is Failure.LOST
    again = bare.ask(LINK, NoteRequest(2))
    bare.until(lambda: again.answered)
    assert bare[2].messages == (notes(1, 2) if arrives else notes(2))


def test_a_reset_where_nobody_is_connected_touches_nothing() -> None:
    """There is nothing to tear down."""
    bare = Bare()
    assert bare.links.reset(LINK) == 0


# -- delay, throttle, slice: against the same story without the fault -----------------------------------------------------


def way_and_back(fault: Callable[[Bare], None], message: Any = None, count: int = 1) -> tuple[list[int], list[int]]:
    """When requests arrived, and when their answers did, on a connection that was open before the fault."""
    bare = Bare()
    bare.connect(LINK)
    fault(bare)
    asked = [bare.ask(LINK, message or NoteRequest(number)) for number in range(count)]
    bare.run(60 * S)
    return bare[2].times, [at for each in asked for at in each.at_ns]


def slower(fault: Callable[[Bare], None], message: Any = None) -> tuple[int, int]:
    """What a fault adds to the way there, and to the way there and back."""
    (plain_there,), (plain_back,) = way_and_back(lambda bare: None, message)
    (there,), (back,) = way_and_back(fault, message)
    return there - plain_there, back - plain_back


def test_a_delay_is_added_to_each_message_of_its_streams() -> None:
    """Exactly; there and back it is felt twice."""
    assert slower(lambda bare: bare.links.delay(LINK, 70 * MS)) == (70 * MS, 140 * MS)
    assert slower(lambda bare: bare.links.delay(LINK, 70 * MS, 0, "requests")) == (70 * MS, 70 * MS)
    assert slower(lambda bare: bare.links.delay(LINK, 70 * MS, 0, "answers")) == (0, 70 * MS)
    assert slower(lambda bare: bare.links.delay(BACK, 70 * MS)) == (0, 0)


def test_jitter_adds_up_to_so_much_and_keeps_the_order() -> None:
    """Different for each message; one that would overtake another waits for it."""
    plain, _ = way_and_back(lambda bare: None, count=30)
    jittered, _ = way_and_back(lambda bare: bare.links.delay(LINK, 0, 50 * MS, "requests"), count=30)
    added = [there - before for there, before in zip(jittered, plain, strict=True)]
    assert all(0 <= each <= 50 * MS for each in added)
    assert len(set(added)) > 3
    assert jittered == sorted(jittered)


def test_a_throttled_link_takes_its_time_for_every_byte() -> None:
    """And for the message behind it, which has to wait until the line is free."""
    size = size_of(NoteRequest(0))
    assert slower(lambda bare: bare.links.throttle(LINK, size * 10, "requests")) == (100 * MS, 100 * MS)
    times, _ = way_and_back(lambda bare: bare.links.throttle(LINK, size, "requests"), count=3)
    assert [round((at - times[0]) / S) for at in times] == [0, 1, 2]
    both = slower(lambda bare: (bare.links.throttle(LINK, size * 10), bare.links.throttle(LINK, size * 5, "requests"))[0])
    assert both[0] == 200 * MS  # of two the slower one counts
    large = size_of(produce(1, 10_000))
    assert slower(lambda bare: bare.links.throttle(LINK, large, "requests"), produce(1, 10_000))[0] == 1 * S


def test_a_sliced_message_has_a_gap_between_its_pieces() -> None:
    """One that fits into a piece is not touched."""
    size = size_of(NoteRequest(0))
    assert slower(lambda bare: bare.links.slice(LINK, size // 4, 10 * MS, "requests"))[0] == 30 * MS
    assert slower(lambda bare: bare.links.slice(LINK, size // 4 + 1, 10 * MS, "requests"))[0] == 30 * MS
    assert slower(lambda bare: bare.links.slice(LINK, size, 10 * MS, "requests")) == (0, 0)
    bare = Bare()
    bare.links.slice(LINK, size, 10 * MS)
    bare.connect(LINK)
    assert bare.links.touched(LINK, Ability.SLICE) == 0


def test_healed_messages_are_as_quick_as_before(bare: Bare) -> None:
    """Those that were sent before wait their time, and nothing overtakes them."""
    bare.links.delay(LINK, 3 * S, 0, "requests")
    slow = bare.ask(LINK, NoteRequest(1))
    bare.links.heal(LINK, Ability.DELAY)
    behind = bare.ask(LINK, NoteRequest(2))
    bare.until(lambda: behind.answered)
    assert slow.answered
    assert bare.kernel.now > 3 * S
    started = bare.kernel.now
    quick = bare.ask(LINK, NoteRequest(3))
    bare.until(lambda: quick.answered)
    assert bare.kernel.now - started < 500 * MS


# -- gates --------------------------------------------------------------------------------------------------------------


def mixed(bare: Bare) -> list[Asked]:
    """Two of one kind, one of another between them."""
    return [bare.ask(LINK, message) for message in (NoteRequest(1), OtherRequest(2), NoteRequest(3))]


def test_a_gate_holds_one_kind_and_its_connection_waits_behind_it(bare: Bare) -> None:
    """What came before passes; healed, all arrives in order."""
    bare.links.gate(LINK, "Other", "hold", "requests", None)
    asked = mixed(bare)
    bare.run(1 * S)
    assert bare[2].messages == [NoteRequest(1)]
    assert asked[0].answered
    bare.links.heal(LINK, Ability.GATE)
    assert bare[2].messages == [NoteRequest(1), OtherRequest(2), NoteRequest(3)]
    bare.until(lambda: all(each.answered for each in asked))


def test_a_gate_holds_answers_by_the_name_of_their_request(bare: Bare) -> None:
    """The requests have arrived, and the answers wait from the first of that kind on."""
    bare.links.gate(LINK, "Other", "hold", "answers", None)
    asked = mixed(bare)
    bare.run(1 * S)
    assert len(bare[2].arrived) == 3
    assert [each.answered for each in asked] == [True, False, False]
    bare.links.heal(LINK, Ability.GATE)
    assert all(each.answered for each in asked)


@pytest.mark.parametrize(("streams", "arrived"), [("requests", 1), ("answers", 3)])
def test_a_gate_drops_one_kind_and_its_connection_ends(bare: Bare, streams: Streams, arrived: int) -> None:
    """Whoever waited on it has lost its call; a new connection meets the same gate."""
    bare.links.gate(LINK, "Other", "drop", streams, None)
    asked = mixed(bare)
    bare.run(1 * S)
    assert len(bare[2].arrived) == arrived
    assert [each.result for each in asked[1:]] == [Failure.LOST, Failure.LOST]
    again = bare.ask(LINK, OtherRequest(4))
    bare.run(1 * S)
    assert again.result is Failure.LOST
    bare.links.heal(LINK, Ability.GATE)
    last = bare.ask(LINK, OtherRequest(5))
    bare.until(lambda: last.answered)


def test_what_a_gate_drops_is_no_hole_either(bare: Bare) -> None:
    """Also when its sender had given up: what was sent behind it on the same connection does not arrive."""
    bare.links.hold(LINK)
    asked = [bare.ask(LINK, message, 1 * S) for message in (OtherRequest(1), NoteRequest(2))]
    bare.run(2 * S)
    assert [each.result for each in asked] == [Failure.TIMED_OUT, Failure.TIMED_OUT]
    bare.links.gate(LINK, "Other", "drop", "requests", 1)
    bare.links.heal(LINK, Ability.HOLD)
    bare.run(1 * S)
    assert bare[2].messages == []


def test_a_gate_repeats_one_kind_later_and_nobody_hears_the_second_answer(bare: Bare) -> None:
    """The copy comes by itself, behind everything else, and the call ends once."""
    bare.links.gate(LINK, "Note", "repeat", "requests", 1)
    asked = mixed(bare)
    bare.run(5 * S)
    assert bare[2].messages == [NoteRequest(1), OtherRequest(2), NoteRequest(3), NoteRequest(1)]
    assert all(each.answered for each in asked)
    assert bare[2].times[-1] - bare[2].times[0] >= 20 * MS


@pytest.mark.parametrize("count", [1, 2, None])
@pytest.mark.parametrize("action", ["hold", "drop", "repeat"])
def test_a_gate_catches_only_so_many(action: Action, count: int | None) -> None:
    """Without a number, all of them; what it caught is what it touched."""
    bare = Bare()
    bare.links.gate(LINK, "Note", action, "requests", count)
    asked = []
    for number in range(4):  # on connections of their own, so that one that is held keeps nothing else back
        asked.append(bare.ask(LINK, NoteRequest(number), channel=f"fetch-{number}"))
        bare.run(2 * S)
    caught = 4 if count is None else count
    assert bare.links.touched(LINK, Ability.GATE) == caught
    passed = [each.answered for each in asked]
    assert passed == ([True] * 4 if action == "repeat" else [False] * caught + [True] * (4 - caught))
    assert len(bare[2].arrived) == (4 + caught if action == "repeat" else 4 - caught)


def test_an_answer_cannot_be_repeated(bare: Bare) -> None:
    """A copy of it would find nobody who asked: such a gate has no teeth, and says so."""
    bare.links.gate(LINK, "Note", "repeat", "answers", None)
    asked = bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: asked.answered)
    bare.run(5 * S)
    assert bare[2].messages == notes(1)
    assert bare.links.touched(LINK, Ability.GATE) == 0


@pytest.mark.parametrize("verb", [Ability.CUT, Ability.HOLD, Ability.SILENT, Ability.REFUSE])
def test_a_copy_does_not_pass_where_nothing_passes(bare: Bare, verb: Ability) -> None:
    """Its connection of its own lies on the same link."""
    bare.links.gate(LINK, "Note", "repeat", "requests", 1)
    bare.ask(LINK, NoteRequest(1))
    bare.until(lambda: bool(bare[2].arrived))
    getattr(bare.links, verb.value)(LINK)
    bare.run(5 * S)
    assert bare[2].messages == notes(1)


# -- chance -------------------------------------------------------------------------------------------------------------

FAULTS: dict[str, Callable[[Bare], None]] = {
    "cut": lambda bare: bare.links.cut(LINK),
    "hold": lambda bare: bare.links.hold(LINK),
    "refuse": lambda bare: bare.links.refuse(LINK),
    "silent": lambda bare: bare.links.silent(LINK),
    "delay": lambda bare: bare.links.delay(LINK, 5 * MS, 5 * MS),
    "throttle": lambda bare: bare.links.throttle(LINK, 10_000),
    "slice": lambda bare: bare.links.slice(LINK, 10, 1 * MS),
    "reset": lambda bare: bare.links.reset(LINK),
    "gate": lambda bare: bare.links.gate(LINK, "Note", "repeat", "requests", None),
}


@given(st.integers(0, 2**40), st.sampled_from(sorted(FAULTS)), st.integers(0, 19), st.integers(1, 19))
def test_a_fault_on_one_link_moves_nothing_on_another(seed: int, fault: str, begins: int, lasts: int) -> None:
    """DESIGN 11.5: every link, channel and direction has a stream of its own, so schedules can be shrunk."""

    def arrivals(*, with_fault: bool) -> list[int]:
        bare = Bare(seed=seed)
        for step in range(20):
            if with_fault and step == begins:
                FAULTS[fault](bare)
            if with_fault and step == begins + lasts:
                bare.links.heal(LINK)
            bare.ask(LINK, NoteRequest(step), 50 * MS)
            bare.ask(ELSEWHERE, NoteRequest(step))
            bare.ask(BACK, NoteRequest(step))
            bare.run(2 * MS)
        bare.run(5 * S)
        assert len(bare[3].times) == len(bare[1].times) == 20
        return bare[3].times + bare[1].times

    assert arrivals(with_fault=True) == arrivals(with_fault=False)


def test_a_channel_has_a_stream_of_its_own() -> None:
    """What is said on one moves nothing on the other, not even on the same link; and no two are alike."""

    def arrivals(*, with_other: bool, channel: str = "client") -> list[int]:
        bare = Bare()
        for number in range(20):
            if with_other:
                bare.ask(LINK, OtherRequest(number), channel="raft")
            bare.ask(LINK, NoteRequest(number), channel=channel)
            bare.run(1 * MS)
        bare.run(5 * S)
        return [at for at, call in bare[2].arrived if isinstance(call.message, NoteRequest)]

    assert arrivals(with_other=True) == arrivals(with_other=False)
    assert arrivals(with_other=False, channel="fetch-0") != arrivals(with_other=False)
