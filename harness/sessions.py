"""harness/sessions.py: how long a soak has run, over all of its sessions: durable, so that a kill costs one heartbeat.

In     a campaign's directory on a local disk; how long the soak shall last in all
Out    `sessions.jsonl`: a line when a session begins, heartbeats, a line when it ends; one that never ended was killed
Keeps  one session at a time: its file is locked for as long as its process lives, however that dies. Times of a session are those
       of a monotonic clock: a wall clock that jumps makes no soak longer. A line cut short by a kill is passed over
Not    what runs meanwhile (harness/soak.py)
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Literal

import msgspec

from model.files import LocalFiles, make_directories
from model.refusal import InfrastructureFailure, Refusal

FILE = "sessions.jsonl"
LEAST_BEAT_S, MOST_BEAT_S = 0.5, 10.0


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the file."""

    session: int
    event: Literal["begin", "beat", "end"]
    at: str  # wall time, informative
    ran_s: float = 0.0
    runs: int = 0  # executed in this session
    process: int | None = None
    why: str = ""  # of an end


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One session, as its last line tells it."""

    session: int
    began: str
    ran_s: float
    runs: int
    end: str
    """Why it ended; `killed` where nobody said so."""


_LINE = msgspec.json.Decoder(Line)
KILLED = "killed"


def told(lines: Iterable[Line]) -> list[Told]:
    """Every session that began."""
    last: dict[int, Line] = {}
    began: dict[int, str] = {}
    for line in lines:
        if line.event == "begin":
            began[line.session] = line.at
        last[line.session] = line
    return [
        Told(session=number, began=began.get(number, ""), ran_s=line.ran_s, runs=line.runs, end=line.why or KILLED)
        for number, line in sorted(last.items())
    ]


class Sessions:
    """The sessions of one soak, with the lock that makes us the only one."""

    def __init__(self, directory: Path, for_s: float) -> None:
        make_directories(LocalFiles(), directory)
        self.path, self.for_s = directory / FILE, for_s
        self._beat_s = min(max(for_s / 1000, LEAST_BEAT_S), MOST_BEAT_S)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise Refusal(
                "this soak is running already", where=str(self.path), allowed="one at a time; another --store for a second one"
            ) from None
        LocalFiles().sync_directory(directory)
        self.earlier = told(self._lines())
        self._session: Session | None = None

    def __enter__(self) -> Sessions:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._file)

    def ran_s(self) -> float:
        """Of all sessions, the one that goes on among them."""
        now_s = 0.0 if self._session is None else self._session.ran_s()
        return now_s + sum(each.ran_s for each in self.earlier)

    @property
    def used_up(self) -> bool:
        return self.ran_s() >= self.for_s

    def all(self) -> list[Told]:
        return told(self._lines())

    def begin(self, runs: Callable[[], int]) -> Session:
        """`runs`: how many were executed so far in it, asked at every heartbeat."""
        number = max((each.session for each in self.earlier), default=0) + 1
        self._session = Session(self._append, number, runs, self._beat_s)
        return self._session

    def _lines(self) -> list[Line]:
        lines = []
        for written in self.path.read_bytes().splitlines():
            try:
                lines.append(_LINE.decode(written))
            except ValueError:  # msgspec's own errors are ValueErrors
                continue  # cut short by a kill
        return lines

    def _append(self, line: Line) -> None:
        """On a line of its own, whatever was cut short before it."""
        size = os.fstat(self._file).st_size
        torn = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"
        try:
            os.write(self._file, b"\n" * torn + msgspec.json.encode(line) + b"\n")
            os.fsync(self._file)
        except OSError as error:
            raise InfrastructureFailure(f"{self.path}: {error.strerror}") from None


class Session:
    """One of them, while it goes on. A thread of its own beats, so that a long run costs no time that was used."""

    def __init__(self, append: Callable[[Line], None], number: int, runs: Callable[[], int], beat_s: float) -> None:
        self._append, self._number, self._runs, self._beat_s = append, number, runs, beat_s
        self._over = threading.Event()
        self._began = time.monotonic()
        self._lasted_s: float | None = None
        self._why = "time is up"

    def __enter__(self) -> Session:
        self._append(self._line("begin", process=os.getpid()))
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if kind is not None:
            self._why = "Ctrl-C" if issubclass(kind, KeyboardInterrupt) else f"{kind.__name__}: {error}"
        self._lasted_s = self.ran_s()
        self._append(self._line("end", why=self._why))

    def ran_s(self) -> float:
        return time.monotonic() - self._began if self._lasted_s is None else self._lasted_s

    def _beat(self) -> None:
        while not self._over.wait(self._beat_s):
            try:
                self._append(self._line("beat"))
            except InfrastructureFailure:
                return  # the end will meet it, too, and say it

    def _line(self, event: Literal["begin", "beat", "end"], *, process: int | None = None, why: str = "") -> Line:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        ran_s = round(self.ran_s(), 3)
        return Line(session=self._number, event=event, at=at, ran_s=ran_s, runs=self._runs(), process=process, why=why)
