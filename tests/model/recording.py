"""tests/model/recording.py: a small recorder to be killed: rows that can be told apart, and a child process that streams them."""

from __future__ import annotations

import struct
import time
from multiprocessing.connection import Connection
from pathlib import Path

from model.operation import Row
from model.plan import Plan
from model.store import Store
from model.stream import HistoryStream

PLAN = Plan(tidemark=1, tag=77)
CAMPAIGN = "killed"
ACK = struct.Struct(">II")  # run number, rows that are durable


def row(number: int, op: int) -> Row:
    """The op-th row of a run: every reader knows what must be in it."""
    return Row(
        op=op,
        process=op % 5,
        client=f"raw-{op % 5}",
        node=1 + op % 3,
        kind="append",
        type="ok",
        topic="t",
        partition=0,
        value=number * 1_000_000 + op,
        offset=op,
        start_ns=1_000 * op,
        took_ns=op % 999,
        acks=-1,
    )


def record_until_killed(store: str, first_number: int, acks: Connection) -> None:
    """Run after run, each some tenths of a second long; after every flush the parent is told how much is durable."""
    number = first_number
    while True:
        with Store(Path(store)).begin(CAMPAIGN, number, PLAN, clock="monotonic") as writer:
            stream = writer.stream()
            _stream_rows(stream, number, acks)
            writer.finish("done", None)
        number += 1


def _stream_rows(stream: HistoryStream, number: int, acks: Connection) -> None:
    told = 0
    for op in range(2_000):
        stream.append(row(number, op))
        if op % 20 == 0:
            time.sleep(0.002)
        if stream.durable > told:
            told = stream.durable
            acks.send_bytes(ACK.pack(number, told))
