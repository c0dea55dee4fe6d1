"""model/operation.py: one client call: what was asked, what came back, and the row that both become.

Operation  what a workload hands to `Client.submit`
Answer     facts, as the client saw them; whether they mean ok, fail or info is for model/outcome.py alone
Row        one row of the history (CHECKERS 1.1): the recorder makes it from both and from two readings of one clock
Null means "does not apply" or "not known", never zero (CHECKERS 1.2).
"""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Kind = Literal[
    "append",
    "read",
    "end_offset",
    "start_offset",
    "poll",
    "assign",
    "init",
    "reg_write",
    "reg_read",
    "reg_cas",
]
Type = Literal["ok", "fail", "info"]
Acks = Literal[-1, 0, 1]

KINDS: tuple[Kind, ...] = get_args(Kind)
TYPES: tuple[Type, ...] = get_args(Type)
WRITES: frozenset[Kind] = frozenset({"append", "reg_write", "reg_cas"})


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """What a process asks for. Times, numbers and process ids are the recorder's business."""

    kind: Kind
    topic: str | None = None
    partition: int | None = None
    key: int | None = None
    value: int | None = None
    expected: int | None = None
    offset: int | None = None  # assign: the position; everywhere else the answer tells it
    from_offset: int | None = None
    max_records: int | None = None
    acks: Acks | None = None
    idempotent: bool | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    sequence: int | None = None
    size: int = 8  # bytes of the record that carries the value
    final: bool = False
    barrier: bool | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `fact` is SUCCESS, Kafka's error name, or NOT_SENT, CONNECTION_LOST, TIMED_OUT, CORRUPT_ANSWER, NO_ACK."""

    fact: str
    node: int | None = None
    offset: int | None = None
    value: int | None = None
    base_offset: int | None = None
    values: tuple[int, ...] | None = None
    offsets: tuple[int, ...] | None = None
    epochs: tuple[int, ...] | None = None
    at_end: bool | None = None
    leader_epoch: int | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    attempts: int | None = None


class Row(msgspec.Struct, kw_only=True, gc=False):
    """One row of the history, in the order of its columns. Built two hundred thousand times a second: no validation here."""

    op: int
    process: int
    client: str
    node: int | None = None
    kind: Kind
    type: Type
    error: str | None = None
    topic: str | None = None
    partition: int | None = None
    key: int | None = None
    value: int | None = None
    expected: int | None = None
    offset: int | None = None
    from_offset: int | None = None
    max_records: int | None = None
    at_end: bool | None = None
    base_offset: int | None = None
    values: tuple[int, ...] | list[int] | None = None
    offsets: tuple[int, ...] | list[int] | None = None
    epochs: tuple[int, ...] | list[int] | None = None
    leader_epoch: int | None = None
    start_ns: int
    took_ns: int
    acks: int | None = None
    idempotent: bool | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None
    sequence: int | None = None
    attempts: int | None = None
    batch: int | None = None
    session: int | None = None
    final: bool = False
    barrier: bool | None = None
