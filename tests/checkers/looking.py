"""tests/checkers/looking.py: what the checkers of histories see in a few lines of notation, in words short enough to compare.

In     histories in the notation of 8.1, or rows; the mode; rows of `changes`
Out    `seen`: per finding its name, the operations of its witness that are part of the proof, and what else a test asks about
       `ruled`: per anomaly the rule that decided, in a run in which unclean elections were allowed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from checkers.columns import Columns
from checkers.durability import check_durability
from checkers.final_read import FinalRead
from checkers.found import Checked, Found
from checkers.judge import judge
from checkers.offices import offices_of
from checkers.part import Part, parts
from checkers.placing import Places
from model.history import to_table
from model.operation import Row
from tests.checkers.facts import run_of
from tests.checkers.notation import TICK_NS, rows
from tests.model.damage_stories import A, C, Story


def part_of(history: str | Sequence[Row]) -> Part:
    (part,) = parts(Columns(to_table(rows(history) if isinstance(history, str) else list(history))))
    return part


def final_read(history: str) -> FinalRead:
    part = part_of(history)
    return FinalRead(part, Places(part))


def durability(history: str | Sequence[Row], changes: Sequence[Mapping[str, Any]] = (), *, complete: bool = False) -> Checked:
    part = part_of(history)
    places = Places(part)
    return check_durability(part, places, FinalRead(part, places), offices_of(changes, part.at, complete=complete))


def told(found: Found, i: int = 0) -> str:
    """`lost_write committed suffix by final: 2 3`"""
    words = [found.name, found.level]
    words += [str(found.loss_class[i])] if found.loss_class is not None else []
    words += [f"by {found.evidence[i]}"] if found.evidence is not None else []
    return f"{' '.join(words)}: {' '.join(map(str, found.tell(i).ops))}"


def seen(checked: Checked) -> list[str]:
    return [told(found, i) for found in checked.found for i in range(found.count)]


def ruled(history: str, *elections: int, attempts: int = 1) -> list[str]:
    """`reordered C2: 1 2`: the anomaly, its rule, its first witness. At each of these ticks an unclean election cut off all;
    nobody knows which node answered."""
    told, story = rows(history, attempts=attempts), Story((A,), unclean=True)
    for row in told:
        row.node = None
    for tick in elections:
        story.now = tick * TICK_NS
        story.elected(C, "unclean", 0)
    verdict = judge(run_of(story, table=to_table(told)))
    anomalies = [anomaly for result in verdict.checkers for anomaly in result.anomalies]
    return [f"{each.name} {each.rule}: {' '.join(map(str, each.witnesses[0].ops))}" for each in anomalies]
