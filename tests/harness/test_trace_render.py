"""The page of a trace: columns that are true beside every line, filters, folded operations."""

from __future__ import annotations

from harness.trace_lines import Glyph, TraceLine
from harness.trace_render import HEADING_EVERY, render
from tests.harness.trace_by_hand import MS, SMALL, STORY, T0, about, body, fault, operation, page, process

PAGE = """\
trace of store/night/00007, seed 7: brokers n1 n2, controllers n3
topic t: 1 partition, 2 replicas
  ┃ leads t/0, as it believes   │ in its ISR, or a controller   ┊ not in its ISR   blank: down
  ^ starts   x ends   * elected   + joins ISR   - leaves ISR   L takes office   o ok   ? info
  A .. Z a fault fires or ends   | a fault is in force

    seconds     n1 n2 n3 clients
  -0.020000      ^               n1 starts
  -0.020000      ┊  ^            n2 starts
  -0.019000      ┊  ┊  ^         n3 starts
  -0.005000      *  +  │         controllers: t/0 is created
  -0.004000      L  │  │         n1 leads t/0
   0.010000      ┃  │  │    o    3 operations until 0.030000: 2 ok, appends up to 1; 1 fail, OFFSET_OUT_OF_RANGE
   0.100000  A   ┃  │  │         kill n1 fires
   0.100000  |   x  │  │         n1 ends
   0.110000  |      │  │    ?    p3 append v(p3#17) -> info CONNECTION_LOST (acks=all, 1.8 ms)
   0.900000  |   -  *  │         controllers: n2 leads t/0
   0.901000  |      L  │         n2 leads t/0
   2.000000  A      ┃  │         kill n1 heals
   2.000000      ^  ┃  │         n1 starts
   2.100000      +  ┃  │         controllers: t/0 has the ISR n2 n1
   2.200000      │  ┃  │    o    p3 append -> ok at 2 (1.8 ms)"""


# -- the page -----------------------------------------------------------------------------------------------------------


def test_a_trace_reads_like_this() -> None:
    """A small run by hand: legend of what occurs, faults in the margin, states in the columns, operations folded."""
    assert "\n".join(render(STORY, SMALL, run="store/night/00007")) == PAGE


def test_rendering_is_lazy() -> None:
    """The page is made while it is read."""
    assert next(render(STORY, SMALL)) == "trace of a run, seed 7: brokers n1 n2, controllers n3"


def test_the_columns_are_named_again_and_again() -> None:
    """On every screen of a long trace it is seen which column is whose."""
    lines = [process(number, 1, Glyph.STARTS) for number in range(2 * HEADING_EVERY)]
    assert sum("seconds" in line for line in page(lines)) == 2


def test_a_paused_leader_stands_still_until_it_goes_on() -> None:
    """Between the two its column shows it, and afterwards it leads as it believes."""
    stands, runs = process(10, 1, Glyph.STANDS), process(30, 1, Glyph.RUNS)
    shown = body([*STORY[:5], stands, process(20, 2, Glyph.ENDS), runs, process(40, 3, Glyph.ENDS)])
    assert [line[17] for line in shown[-4:]] == ["=", "=", "~", "┃"]


def test_two_nodes_may_both_believe_that_they_lead() -> None:
    """Who leads is the node's own word, so that a reader sees a leader that does not know that it is none."""
    shown = body([*STORY[:5], about(10, (2, Glyph.LEADS)), process(20, 3, Glyph.ENDS)])
    assert "┃  ┃" in shown[-1]


def test_columns_show_one_partition() -> None:
    """Leaders and ISR of other partitions move nothing; that a process ended does."""
    other = about(10, (2, Glyph.LEADS), partition=("u", 0))
    shown = body([*STORY[:5], other, process(20, 3, Glyph.ENDS)])
    assert "┃  │  x" in shown[-1]
    assert body([*STORY[:5], other, process(20, 3, Glyph.ENDS)], partition=("u", 0))[-1][17:24] == "┊  ┃  x"


def test_faults_in_force_at_once_have_lanes_of_their_own() -> None:
    """A lane is free again once its fault has ended; a refused event has neither lane nor letter."""
    firings = [fault(1, "fires", 0), fault(2, "fires", 4, "pause n2"), fault(3, "heals", 0), fault(4, "refused", 2)]
    firings += [fault(5, "fires", 1, "cut n1 | n2"), fault(6, "heals", 4), fault(7, "heals", 1)]
    assert [line[13:15] for line in body(firings)] == ["A ", "|B", "A|", " |", "C|", "|B", "C "]


def test_whoever_begins_in_the_middle_is_told_what_is_in_force() -> None:
    """A window begins with the faults that fired before it, under their letters."""
    shown = body(STORY, from_ns=500 * MS)
    assert shown[0].endswith("kill n1 is in force")
    assert shown[0][13] == "A"


# -- filters ------------------------------------------------------------------------------------------------------------


def test_what_is_hidden_still_moves_the_columns() -> None:
    """A line looks the same, whatever is hidden around it."""
    everything = body(STORY)
    for options in ({"operations": False}, {"nodes": frozenset({2})}, {"from_ns": 0, "to_ns": 901 * MS}, {"partition": T0}):
        shown = body(STORY, **options)
        assert 0 < len(shown) <= len(everything)
        assert [line for line in shown if line not in everything and "in force" not in line] == []


def test_a_node_brings_what_concerns_it_and_all_faults() -> None:
    """Lines of other nodes are hidden, faults are not: they may explain the rest."""
    shown = body(STORY, nodes=frozenset({3}))
    assert [line[33:] for line in shown] == ["n3 starts", "kill n1 fires", "kill n1 heals"]


def test_a_partition_hides_the_others() -> None:
    """What concerns no partition at all stays."""
    lines = [process(1, 1, Glyph.STARTS), about(2, (1, Glyph.LEADS)), about(3, (2, Glyph.LEADS), partition=("u", 0))]
    assert len(body(lines, partition=("u", 0))) == 2


def test_a_window_includes_its_beginning_and_excludes_its_end() -> None:
    """So windows that follow one another show every line once."""
    inside = body(STORY, from_ns=100 * MS, to_ns=900 * MS)
    assert len(inside) == 3
    assert len(body(STORY, to_ns=100 * MS)) + len(inside) + len(body(STORY, from_ns=900 * MS)) - 1 == len(body(STORY))


def test_messages_are_shown_by_name_only() -> None:
    """None unless asked for; by Kafka's names; or all."""
    lines = [
        TraceLine(at_ns=0, kind="message", text=name, marks=((1, Glyph.ARRIVES),), nodes=(1, 2), message=name)
        for name in ("Fetch", "Produce")
    ]
    assert body(lines) == ["nothing that happened is among what was asked for"]
    assert len(body(lines, messages=frozenset({"Fetch"}))) == 1
    assert len(body(lines, messages="all")) == 2


def test_operations_are_folded_unless_all_are_asked_for() -> None:
    """An unknown outcome and whatever else happens end a stretch; the final read is told apart."""
    lines = [operation(1), operation(2), operation(3, Glyph.INFO), operation(4), about(5, (1, Glyph.WAITS))]
    lines += [operation(6), operation(7), operation(8, final=True), operation(9, final=True)]
    assert [line[33:].partition(":")[0].partition(" ->")[0] for line in body(lines)] == [
        "2 operations until 0.002000",
        "p3 end_offset",
        "p3 end_offset",
        "something",
        "2 operations until 0.007000",
        "2 operations of the final read until 0.009000",
    ]
    assert len(body(lines, fold=False)) == len(lines)
    assert len(body(lines, operations=False)) == 1


def test_a_stretch_in_which_nothing_worked_is_marked_as_failed() -> None:
    """And each error is counted."""
    lines = [operation(n, Glyph.FAIL, error="NOT_SENT" if n else "TIMED_OUT") for n in range(3)]
    assert body(lines)[0].endswith("/    3 operations until 0.002000: 3 fail, NOT_SENT 2, TIMED_OUT 1")
