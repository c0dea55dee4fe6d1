"""What is said about a campaign when it is over."""

from __future__ import annotations

import io
import json

from rich.console import Console

from checkers.signature import short_name
from harness.progress import SoMany, Telling
from harness.told import as_data, as_data_of_many, tell_found, tell_many
from tests.harness.summaries import a_finding, a_summary, broken, not_executed

SUMMARIES = (a_summary(0, fired=3, toothless=("gate at 3.1 s",)), broken(7), broken(4), not_executed(5), a_summary(6, "unknown"))
LOSS = a_finding("lost_write", "C3", "forbidden").signature


def a_telling() -> tuple[Telling, io.StringIO]:
    into = io.StringIO()
    telling = Telling(Console(file=into, width=40), SoMany(9), keeps=True)
    telling.take_stored(SUMMARIES[0])
    for summary in SUMMARIES[1:]:
        telling.take(summary)
    return telling, into


def test_counts_first_then_ways_to_fail_with_a_command_then_the_first_few_runs() -> None:
    """Each on one line, however narrow the terminal."""
    telling, into = a_telling()
    tell_many(telling.console, "store/m-1", telling, 9)
    lines = into.getvalue().splitlines()
    assert lines[0].startswith("5 of 9 runs, 1 of them there already, in 0.0 s: 2 BROKEN, 1 infrastructure, 1 unknown, 1 valid")
    assert lines[1] == f"  {short_name(LOSS)}  lost_write: 2 runs   {LOSS}"
    assert lines[2] == "            first: tidemark replay store/m-1/00004"
    assert lines[3] == "  3 faults fired; toothless: gate 1"
    shown = [line.split(",")[0] for line in lines if "   run store/m-1/" in line]
    assert shown == [
        "BROKEN   run store/m-1/00004",
        "BROKEN   run store/m-1/00007",
        "INFRASTRUCTURE   run store/m-1/00005",
    ]


def test_whose_faults_are_counted_is_said() -> None:
    """A soak that was taken up counts those of its last session."""
    telling, into = a_telling()
    tell_found(telling.console, "store/m-1", telling.so_far, "a heading", faults_of=" in this session")
    assert "  3 faults fired in this session; toothless: gate 1" in into.getvalue().splitlines()


def test_run_shows_programs_every_run_and_a_campaign_of_any_length_the_first_few() -> None:
    """Both name what failed, with its seed and the command that repeats it."""
    telling, _ = a_telling()
    every = json.loads(json.dumps(as_data("store/m-1", telling.kept, 9)))
    assert [each["number"] for each in every["summaries"]] == [0, 4, 5, 6, 7]
    assert [each["run"] for each in every["failing"]] == [f"store/m-1/0000{number}" for number in (4, 5, 7)]
    assert every["counts"] == {"valid": 1, "invalid": 2, "infrastructure": 1, "unknown": 1}
    few = json.loads(json.dumps(as_data_of_many("store/m-1", telling.so_far)))
    assert (few["runs"], few["counts"]) == (5, every["counts"])
    assert [each["run"] for each in few["failing"]] == [f"store/m-1/0000{number}" for number in (4, 7, 5)]
    (way,) = few["signatures"]
    assert (way["runs"], way["seed"], way["replay"]) == (2, 1004, "tidemark replay store/m-1/00004")
    assert "summaries" not in few
