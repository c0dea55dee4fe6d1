"""The trace of a run: what is written down, that it changes nothing, and a story that can be followed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from harness.run import run
from harness.trace import Trace, trace
from harness.trace_lines import Glyph, TraceLine, TraceOptions
from harness.worlds import simulated
from model.plan import Plan
from model.schedule import Event, Schedule
from replication import messages as m
from tests.harness.trace_by_hand import SMALL, body, page

S = 10**9
LOSSY_RESTART: Schedule = (Event(at_ns=3 * S, fault="lossy_kill", target="leader", for_ns=2 * S),)
PLAN = Plan(tidemark=1, seed=2, for_ns=8 * S, schedule=LOSSY_RESTART)


@pytest.fixture(scope="module")
def traced() -> list[TraceLine]:
    return trace(PLAN, LOSSY_RESTART, TraceOptions(messages="all"))[1]


def in_order(text: str, parts: Iterable[str]) -> Iterator[str]:
    """The parts that are not found behind the one before."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        if found < 0:
            yield part
        at = max(at, found)


# -- what is written down -----------------------------------------------------------------------------------------------


def test_causes_stand_before_what_they_cause() -> None:
    """Of one instant: a broker is fenced, then others are elected; a fault ends, then its node starts."""
    watch = Trace(SMALL, TraceOptions())
    change = {
        "topic": "t",
        "partition": 0,
        "leader": 2,
        "leader_epoch": 1,
        "isr": [2],
        "elr": [],
        "replicas": [1, 2],
        "election": "clean",
    }
    watch.process(3, 1, "ends", "killed")
    watch.committed(5, change)
    watch.registered(5, 1, "fenced")
    watch.process(7, 1, "starts", "")
    watch.fault(7, "heals", 0, LOSSY_RESTART[0], "it bit")
    assert [line.kind for line in watch.lines] == ["process", "broker", "change", "fault", "process"]


def test_what_a_node_says_cannot_break_the_page() -> None:
    """Line ends and control characters in a reason become blanks."""
    watch = Trace(SMALL, TraceOptions())
    watch.process(0, 1, "ends", "first\nsecond\x1b[31m")
    assert watch.lines[0].text == "n1: node process ends: first second [31m"


def test_messages_that_nobody_asked_for_are_not_kept() -> None:
    """So a trace without messages stays small."""
    fetch = m.FetchRequest(1, 1, 1, ())
    for options, kept in ((TraceOptions(), 0), (TraceOptions(messages=frozenset({"Fetch"})), 1)):
        watch = Trace(SMALL, options)
        watch.message(0, "request", (2, 1), fetch)
        watch.message(0, "request", (2, 1), m.MetadataRequest())
        assert len(watch.lines) == kept


# -- a real run ---------------------------------------------------------------------------------------------------------


def test_a_traced_run_is_the_same_run() -> None:
    """Whoever looks on changes nothing: the digest of everything that happened is the same."""
    alone = run(PLAN, LOSSY_RESTART, simulated(PLAN))
    watched, lines = trace(PLAN, LOSSY_RESTART, TraceOptions(messages="all"))
    assert alone.digest is not None
    assert watched.digest == alone.digest
    assert watched.rows == alone.rows
    assert [line.row for line in lines if line.kind == "operation"] == alone.rows


def test_a_lossy_restart_of_the_leader_can_be_followed(traced: list[TraceLine]) -> None:
    """From the fault to the return into the ISR, each step in its turn."""
    text = "\n".join(page(traced, PLAN, from_ns=0))
    story = [
        "lossy_kill leader (n1) fires, for 2s",
        "n1: node process ends: killed",
        "controllers: n1 is fenced",
        "controllers: n2 leads t/0 in leader epoch 1 (clean), ISR n2 n3",
        "n2 leads t/0 in leader epoch 1",
        *[line.text for line in traced if line.marks and line.marks[0][1] is Glyph.TRUNCATES],
        "lossy_kill leader (n1) ends: it bit: ",
        " records lost",
        "n1: node process starts",
        "n1 recovers the log of t/0 after an unclean end",
        "controllers: n1 is registered",
        "n1 follows n2 in t/0, leader epoch 1",
        "controllers: n1 is unfenced",
        "n2 asks the controllers to let n1 join the ISR of t/0",
        "controllers: t/0 has the ISR n2 n3 n1",
        "of the final read",
    ]
    assert list(in_order(text, story)) == []


def test_the_lines_of_a_run_are_in_order_and_count_from_the_workload(traced: list[TraceLine]) -> None:
    """Starting the cluster is before zero, the workload begins at zero."""
    times = [line.at_ns for line in traced]
    assert times == sorted(times)
    assert times[0] < 0
    assert [line.at_ns for line in traced if line.kind == "workload"] == [0]


def test_messages_of_a_run_name_the_partition(traced: list[TraceLine]) -> None:
    """Fetches of followers, and their answers, one line each."""
    shown = body(traced, PLAN, messages=frozenset({"Fetch"}), from_ns=1 * S, to_ns=2 * S, operations=False)
    assert any(">n1 t/0 from " in line for line in shown)
    assert any("Fetch answer n1>n2 t/0 HW " in line for line in shown)
    assert not any("Produce" in line for line in shown)
