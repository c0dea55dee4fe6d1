"""The agreement of the two judges has teeth: break any one line of the fast checker, and it is gone (CHECKERS 9.3).

A break replaces a piece of source, so a line that was rewritten since fails here by name and asks for its break to be rewritten.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pyarrow as pa
import pytest

from checkers.mode import Mode
from tests.checkers.random_histories import MODES
from tests.checkers.two_judges import as_table, has_an_order, looked_at, numbered

HISTORIES = 4_000
_AT_ONCE = 100


@dataclass(frozen=True)
class Break:
    """One line of one module, and what stands there instead."""

    claim: str
    module: str
    line: str
    instead: str


BREAKS = [
    Break("touching intervals are ordered", "pairs", "beyond(of.bound) < of.part.start", "beyond(of.bound) <= of.part.start"),
    Break("nobody is contradicted", "pairs", "beyond(of.bound) < of.part.start", "beyond(of.bound) < 0"),
    Break("further copies need not wait for their append", "pairs", "if of.retry:", "if False:"),
    Break("a read at the end may have missed one", "intervals", "last != NONE, last + 1,", "last != NONE, last + 2,"),
    Break("an empty read proves nothing", "intervals", "np.where(asked == NONE, np.int64(FOREVER), asked)", "np.int64(FOREVER)"),
    Break(
        "a read proves one record less",
        "intervals",
        "place, part.spans[1]) + 1",
        "place, np.maximum(part.spans[1] - 1, NONE)) + 1",
    ),
    Break("an append may lie one further down", "intervals", "place, part.spans[1]) + 1", "place - 1, part.spans[1]) + 1"),
    Break("the leader's acknowledgement says when", "intervals", "part.is_append & ~acked, np.int64(FOREVER)", "False, part.end"),
    Break("when an operation ended is ignored", "columns", 'self.start + self.number("took_ns")', "self.start"),
    Break("the leader's acknowledgement counts", "part", "self.is_ok & (self.acks == -1)", "self.is_ok & (self.acks != 0)"),
    Break("a sparse log ends where a read ended", "intervals", "known[np.searchsorted(self.places.known, end)]", "end"),
    Break("holes are no matter", "log", 'if mode.density == "dense" and complete', "if False"),
    Break(
        "holes need an append to spare", "holes", "holes.count > len(holes.floating)", "holes.count >= len(holes.floating) > 0"
    ),
    Break("the latest deadline first", "holes", "            heapq.heappop(heap)\n", "            heap.remove(max(heap))\n"),
    Break("a hole is filled at any time", "holes", "while heap and heap[0][0] < not_before:", "while False:"),
    Break("what was acknowledged fits behind the end", "holes", "if deadline < earliest[used]:", "if False:"),
    Break("nobody fills a hole at the last moment", "holes", 'starts, latest, side="right"', 'starts, latest, side="left"'),
    Break("no copy fills a hole at the last moment", "holes", "int(starts.min()) <= int(", "int(starts.min()) < int("),
    Break("a write may have two copies", "contents", 'if mode.copies == "retry" or not len(kept):', "if True:"),
    Break("a write never has two copies", "contents", 'if mode.copies == "retry" or not len(kept):', "if not len(kept):"),
    Break(
        "a range may leave out its last but one",
        "part",
        "every.last + 1 - every.begin == self.counted[every.row]",
        "every.last - every.begin <= self.counted[every.row]",
    ),
    Break(
        "a sparse range may leave out what is known",
        "placing",
        "self.known_below(ranges.begin) != self.part.counted[ranges.row]",
        "self.known_below(ranges.begin) < 0",
    ),
    Break("refused writes may be read", "contents", "if not failed.any():", "if True:"),
]


@pytest.fixture(scope="module")
def truth() -> list[tuple[Mode, pa.Table, list[bool]]]:
    """Histories of every mode in turn, and which of them have an order."""
    chunks = []
    for first in range(0, HISTORIES // len(MODES), _AT_ONCE):
        for mode in MODES:
            histories = [numbered(number, mode) for number in range(first, first + _AT_ONCE)]
            chunks.append((mode, as_table(histories), [has_an_order(history, mode) for history in histories]))
    return chunks


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.claim)
def test_a_broken_line_is_noticed_within_four_thousand_histories(
    broken: Break, truth: list[tuple[Mode, pa.Table, list[bool]]]
) -> None:
    with one_line_broken(broken):
        assert any(opinions(table, mode) != orders for mode, table, orders in truth)


def test_unbroken_it_agrees_on_all_of_them(truth: list[tuple[Mode, pa.Table, list[bool]]]) -> None:
    """So it was the break that was noticed."""
    assert all(opinions(table, mode) == orders for mode, table, orders in truth)


def opinions(table: pa.Table, mode: Mode) -> list[bool] | str:
    """Whether the fast checker finds an order for each; a checker that raises has been noticed, too."""
    try:
        checked = looked_at(table, mode)
    except Exception as error:  # noqa: BLE001  whatever a broken line leads to
        return f"{type(error).__name__}: {error}"
    return [not any(found.level == "committed" for found in each.found) for each in checked]


# -- breaking a line ----------------------------------------------------------------------------------------------------------


@contextmanager
def one_line_broken(broken: Break) -> Iterator[None]:
    """Whoever holds a function of the module runs the broken code, wherever it was imported to."""
    module = importlib.import_module(f"checkers.{broken.module}")
    source = inspect.getsource(module)
    assert source.count(broken.line) == 1, f"{broken.line!r} is not one line of {module.__name__}: rewrite this break"
    other = ModuleType(module.__name__)
    exec(compile(source.replace(broken.line, broken.instead), str(module.__file__), "exec"), other.__dict__)
    theirs, changed = functions(other), []
    try:
        for name, function in functions(module).items():
            changed.append((function, function.__code__))
            function.__code__ = theirs[name].__code__
        yield
    finally:
        restore(changed)


def restore(changed: list[tuple[FunctionType, CodeType]]) -> None:
    for function, code in changed:
        function.__code__ = code


def functions(module: ModuleType) -> dict[str, FunctionType]:
    """All that the module itself defines, methods too, by qualified name."""
    own: list[Any] = [each for each in vars(module).values() if getattr(each, "__module__", None) == module.__name__]
    members = [*own, *(member for each in own if isinstance(each, type) for member in vars(each).values())]
    plain = [member.func if isinstance(member, cached_property) else member for member in members]
    plain = [member.fget if isinstance(member, property) else member for member in plain]
    return {each.__qualname__: each for each in plain if isinstance(each, FunctionType) and "<locals>" not in each.__qualname__}
