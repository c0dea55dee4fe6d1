"""The crude look sees what it names, and nothing in what may be."""

from __future__ import annotations

from typing import Any

import pytest

from model.operation import Row
from tests.acceptance.crude_look import looked_at


def row(kind: str, at_ns: int, **more: Any) -> Row:
    given = {"type": "ok", "took_ns": 1, **more}
    return Row(op=at_ns, process=0, client="raw", kind=kind, topic="t", partition=0, start_ns=at_ns, **given)  # type: ignore[arg-type]


def append(at_ns: int, offset: int, value: int, acks: int = -1) -> Row:
    return row("append", at_ns, offset=offset, value=value, acks=acks)


def read(at_ns: int, *values: int, final: bool = False) -> Row:
    return row("read", at_ns, base_offset=0, values=values, epochs=(1,) * len(values), leader_epoch=1, at_end=True, final=final)


def end(at_ns: int, offset: int, epoch: int) -> Row:
    return row("end_offset", at_ns, offset=offset, leader_epoch=epoch)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([append(1, 0, 7), append(3, 1, 8), read(9, 7, 8, final=True)], set()),
        ([append(1, 0, 7), append(3, 1, 8), read(9, 7, final=True)], {"lost_write"}),
        ([append(1, 0, 7), append(3, 1, 8, acks=1), read(9, 7, final=True)], set()),  # never promised
        ([append(1, 0, 7), append(3, 1, 8), read(9, 7)], set()),  # nobody looked to the end
        ([read(1, 7, 8), read(9, 7, final=True)], {"vanished_read"}),
        ([read(1, 7, 8), read(9, 7, 6, final=True)], {"vanished_read", "inconsistent_offset"}),
        ([end(1, 5, 1), end(3, 4, 1)], {"stale_end_offset"}),
        ([end(1, 5, 1), end(3, 4, 2)], {"stale_end_offset"}),
        ([end(1, 5, 2), end(3, 4, 1)], set()),  # a leader of the past knows no better
        ([row("end_offset", 1, offset=5, leader_epoch=1, took_ns=9), end(3, 4, 1)], set()),  # they overlap
    ],
)
def test_a_history_shows_what_is_wrong_with_it(rows: list[Row], found: set[str]) -> None:
    """And in a partition that may lose records it shows nothing."""
    assert looked_at(rows, lambda _: True) == found
    assert looked_at(rows, lambda _: False) == set()
