"""How long a soak has run, whatever became of its sessions."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

from harness import sessions
from harness.sessions import FILE, Line, Sessions, told
from model.refusal import InfrastructureFailure, Refusal


def a_line(session: int, event: str, ran_s: float = 0.0, runs: int = 0, why: str = "") -> Line:
    return msgspec.convert(
        {"session": session, "event": event, "at": "2026-11-19T10:00:00", "ran_s": ran_s, "runs": runs, "why": why}, Line
    )


def written(directory: Path, *lines: Line | str) -> None:
    text = "".join(each if isinstance(each, str) else msgspec.json.encode(each).decode() + "\n" for each in lines)
    (directory / FILE).write_text(text)


def test_a_session_that_never_ended_was_killed_and_ran_until_its_last_heartbeat() -> None:
    """One that was killed before its first has run no time."""
    found = told(
        [
            a_line(1, "begin"),
            a_line(1, "beat", 2.0, 3),
            a_line(1, "beat", 4.0, 7),
            a_line(2, "begin"),
            a_line(3, "begin"),
            a_line(3, "beat", 1.0, 2),
            a_line(3, "end", 1.5, 3, "Ctrl-C"),
        ]
    )
    assert [(each.session, each.ran_s, each.runs, each.end) for each in found] == [
        (1, 4.0, 7, "killed"),
        (2, 0.0, 0, "killed"),
        (3, 1.5, 3, "Ctrl-C"),
    ]


def test_the_time_of_all_sessions_counts(tmp_path: Path) -> None:
    """Of 10 s, 6 are used; 6 would be all."""
    written(tmp_path, a_line(1, "begin"), a_line(1, "beat", 4.0), a_line(2, "begin"), a_line(2, "end", 2.0, why="Ctrl-C"))
    for for_s, used_up in ((10.0, False), (6.0, True), (5.0, True)):
        with Sessions(tmp_path, for_s) as found:
            assert (found.ran_s(), found.used_up) == (6.0, used_up)


def test_a_line_cut_short_by_a_kill_costs_that_line_alone(tmp_path: Path) -> None:
    """The next session begins on a line of its own, with a number of its own."""
    written(tmp_path, a_line(1, "begin"), a_line(1, "beat", 4.0, 5), '{"session":1,"event":"be')
    with Sessions(tmp_path, 10.0) as found, found.begin(lambda: 2):
        pass
    with Sessions(tmp_path, 10.0) as again:
        assert [(each.session, each.runs, each.end) for each in again.earlier] == [(1, 5, "killed"), (2, 2, "time is up")]


def test_a_session_says_why_it_ended(tmp_path: Path) -> None:
    """Ctrl-C, and what the machine did."""
    for error in (KeyboardInterrupt(), InfrastructureFailure("the disk is full")):
        with Sessions(tmp_path, 10.0) as found, pytest.raises(type(error)), found.begin(lambda: 1):
            raise error
    with Sessions(tmp_path, 10.0) as again:
        assert [each.end for each in again.earlier] == ["Ctrl-C", "InfrastructureFailure: the disk is full"]


def test_it_beats_while_nothing_else_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may take longer than somebody wants to lose: time is noted all the same, by a clock that nobody sets."""
    monkeypatch.setattr(sessions, "LEAST_BEAT_S", 0.001)
    asked = threading.Semaphore(0)

    def runs() -> int:
        asked.release()
        return 4

    with Sessions(tmp_path, 1.0) as found, found.begin(runs):
        for _ in range(5):  # the beginning, and four heartbeats
            assert asked.acquire(timeout=60)
        lines = (tmp_path / FILE).read_bytes().splitlines()
        assert len(lines) >= 4
    times = [line.ran_s for line in map(msgspec.json.Decoder(Line).decode, (tmp_path / FILE).read_bytes().splitlines())]
    assert times == sorted(times)


def test_a_wall_clock_that_jumps_makes_no_soak_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time is that of a monotonic clock; the other one is told for people."""
    now = [50.0]
    monkeypatch.setattr(sessions, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with Sessions(tmp_path, 100.0) as found, found.begin(lambda: 0):
        now[0] += 30
        assert (found.ran_s(), found.used_up) == (30.0, False)
        now[0] += 70
        assert found.used_up
    now[0] += 1_000  # over is over
    assert found.ran_s() == 100.0
    with Sessions(tmp_path, 100.0) as again:
        assert again.ran_s() == 100.0


def test_two_at_a_time_are_refused_and_the_dead_hold_nothing(tmp_path: Path) -> None:
    """The lock is the process's: it ends with it, however that dies."""
    with Sessions(tmp_path, 1.0), pytest.raises(Refusal, match="this soak is running already"):
        Sessions(tmp_path, 1.0)
    Sessions(tmp_path, 1.0).__exit__(None, None, None)


@pytest.mark.parametrize(("for_s", "beat_s"), [(20, 0.5), (3_600, 3.6), (8 * 3_600, 10.0)])
def test_a_kill_costs_no_more_than_a_thousandth_or_half_a_second(tmp_path: Path, for_s: float, beat_s: float) -> None:
    """And the file stays small: a few thousand lines, however long it goes on."""
    with Sessions(tmp_path, for_s) as found:
        assert found._beat_s == beat_s
