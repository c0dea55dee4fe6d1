"""harness/soak_told.py: what a soak says at the end of a session, and when its time is used up.

In     what is known of all its runs, and its sessions
Out    how long it has run, which sessions were killed, what was found, how to see it again, and what to do next
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.console import Console

from harness.progress import counted, written_seconds
from harness.sessions import KILLED, Sessions, Told
from harness.so_far import SoFar
from harness.told import tell_found

MOST_SESSIONS = 12


def tell_soak(console: Console, where: str, so_far: SoFar, sessions: Sessions, *, used_up: bool) -> None:
    """`used_up`: before this session could begin."""
    told, of_s = sessions.all(), written_seconds(sessions.for_s)
    ran_s = sum(each.ran_s for each in told)
    head = f"{so_far.runs:,} runs in {written_seconds(ran_s)} of {of_s}, {_rate(so_far, ran_s):.1f} a second"
    heading = "\n".join((f"{head}: {counted(so_far) or 'nothing'}   ({where})", *_sessions(told)))
    tell_found(console, where, so_far, heading, faults_of=" in this session")
    if used_up:
        problem = f"the {of_s} of this soak are used up, so nothing was run"
        hint = f"a longer --for than {written_seconds(ran_s)} goes on; another --store begins anew"
        console.print(f"{problem}: {hint}", highlight=False, markup=False, soft_wrap=True)


def _rate(so_far: SoFar, ran_s: float) -> float:
    return so_far.runs / ran_s if ran_s else 0.0


def _sessions(told: list[Told]) -> Iterator[str]:
    killed = [each for each in told if each.end == KILLED]
    yield f"  {len(told)} sessions, {len(killed)} of them killed"
    if len(told) > MOST_SESSIONS:
        yield f"    ... {len(told) - MOST_SESSIONS} earlier ones"
    for each in told[-MOST_SESSIONS:]:
        lasted = f"{written_seconds(each.ran_s)}, {each.runs:,} runs"
        yield f"    session {each.session}, begun {each.began}: {lasted}; {each.end}"


def soak_as_data(so_far: SoFar, sessions: Sessions) -> dict[str, Any]:
    told = sessions.all()
    ran_s = round(sum(each.ran_s for each in told), 3)
    return {
        "for_s": sessions.for_s,
        "ran_s": ran_s,
        "runs_per_second": round(_rate(so_far, ran_s), 3),
        "sessions": [{**msgspec.to_builtins(each), "killed": each.end == KILLED} for each in told],
    }
