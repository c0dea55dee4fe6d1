"""model/stream.py: the history while the run goes on: every row is durable within 200 ms (CHECKERS 1.6).

In    rows, as operations complete
Out   `history.stream`: frames of magic, length, CRC-32C and one self-contained Arrow IPC stream
Keeps a row counts as durable only when the fsync that covers it has returned. After any crash `read_stream` returns every
      frame up to the first bad one: all rows that were ever called durable, no half row.
Never `append` waits for no disk: encoding, writing and syncing happen on a thread of their own
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import google_crc32c
import msgspec
import pyarrow as pa

from model.files import Files, LocalFiles
from model.history import SCHEMA, concatenate, to_batch
from model.operation import Row
from model.refusal import InfrastructureFailure

MAGIC = b"TMRK"
_HEADER = struct.Struct(">4sII")  # magic, length of the body, CRC-32C of the body
_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")  # a fifth of the bytes, which is less to sync
ROWS_PER_FRAME = 4_096
FLUSH_SECONDS = 0.05  # a quarter of what is promised: encoding and the disk have the rest
MOST_WAITING = 1_000_000  # rows that a stuck disk may pile up before the run is called off


class HistoryStream:
    """The writer. One thread appends; `durable` may be read from any."""

    def __init__(self, path: Path, files: Files | None = None) -> None:
        self._files = files or LocalFiles()
        self._file = self._files.create(path)
        self._files.sync_directory(path.parent)  # else a crash may forget that the file exists
        self._waiting: list[Row] = []
        self._wake = threading.Event()
        self._closing = False
        self._failure: Exception | None = None
        self.durable = 0
        self._thread = threading.Thread(target=self._flush_until_closed, name="history-stream", daemon=True)
        self._thread.start()

    def append(self, row: Row) -> None:
        """Take a row. It is durable once `durable` has passed it, at the latest after 200 ms."""
        self._waiting.append(row)
        waiting = len(self._waiting)
        if waiting % ROWS_PER_FRAME == 0:
            self._wake.set()
            if waiting > MOST_WAITING:
                raise self._as_failure(waiting)
        if self._failure is not None:
            raise self._as_failure(waiting)

    def close(self) -> None:
        """Make the rest durable and end the thread. Raises when anything could not be written."""
        self._closing = True
        self._wake.set()
        self._thread.join()
        self._file.close()
        if self._failure is not None:
            raise self._as_failure(len(self._waiting))

    def _as_failure(self, waiting: int) -> InfrastructureFailure:
        why = str(self._failure) if self._failure else "the disk does not keep up"
        return InfrastructureFailure(f"the history cannot be written: {why} ({self.durable:,} rows durable, {waiting:,} waiting)")

    def _flush_until_closed(self) -> None:
        try:
            while True:
                last = self._closing
                while rows := self._take():
                    self._write_frame(rows)
                if last:
                    return
                self._wake.wait(FLUSH_SECONDS)
                self._wake.clear()
        except Exception as error:  # noqa: BLE001  whatever it was: the next append or close tells it
            self._failure = error

    def _take(self) -> list[Row]:
        """The next frame's rows. No lock: each line is one step for other threads, and rows that come in between stay behind."""
        rows = self._waiting[:ROWS_PER_FRAME]
        del self._waiting[: len(rows)]
        return rows

    def _write_frame(self, rows: list[Row]) -> None:
        body = _body(rows)
        self._file.write(_HEADER.pack(MAGIC, len(body), google_crc32c.value(body)) + body)
        self._file.sync()
        self.durable += len(rows)


def _body(rows: list[Row]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA, options=_COMPRESSED) as writer:
        writer.write_batch(to_batch(rows))
    return bytes(sink.getvalue())


class Recovered(msgspec.Struct, frozen=True):
    """What a stream held: all rows up to the first bad frame, and how many bytes after it could not be used."""

    table: pa.Table
    torn_bytes: int


def read_stream(path: Path) -> Recovered:
    """Everything that was durable, whatever happened to the writer."""
    data = path.read_bytes()
    batches = []
    end = 0
    for batch, frame_end in _frames(data):
        batches.append(batch)
        end = frame_end
    return Recovered(concatenate(batches), len(data) - end)


def _frames(data: bytes) -> Iterator[tuple[pa.RecordBatch, int]]:
    at = 0
    while len(data) - at >= _HEADER.size:
        magic, length, checksum = _HEADER.unpack_from(data, at)
        body = data[at + _HEADER.size : at + _HEADER.size + length]
        if magic != MAGIC or len(body) != length or google_crc32c.value(body) != checksum:
            return
        at += _HEADER.size + length
        with pa.ipc.open_stream(body) as reader:
            yield reader.read_next_batch(), at
