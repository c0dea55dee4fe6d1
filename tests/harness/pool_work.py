"""tests/harness/pool_work.py: work for the pool's tests, good and bad. Loaded inside workers, by name.

Every factory gets {"notes": a directory}: what a worker does there can be seen from outside, while it does it.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec

from harness.worker import Work
from tests.harness.pool_watch import alive, noted_pids, wait_until

DIES, EXITS, HANGS, RAISES, SAYS_NOTHING, BABBLES, ANSWERS_FOR_ANOTHER = 3, 4, 5, 6, 7, 8, 9


def doubles(setup: bytes) -> Work:
    return lambda number: json.dumps(2 * number).encode()


def tells_who(setup: bytes) -> Work:
    return lambda number: json.dumps(os.getpid()).encode()


def misbehaves(setup: bytes) -> Work:
    """Doubles, but for a few numbers that end badly."""
    notes = _notes(setup)

    def work(number: int) -> bytes:
        with (notes / "begun").open("a") as begun:
            begun.write(f"{number}\n")
        if number == DIES:
            print("goodbye", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if number == EXITS:
            os._exit(17)
        if number == RAISES:
            raise ValueError("no six, please \udcff")
        if number == SAYS_NOTHING:
            return b"not JSON"
        if number == BABBLES:
            os.write(_socket(), b"hello\n")
        if number == ANSWERS_FOR_ANOTHER:
            os.write(_socket(), b'{"type": "answer", "number": 1, "data": 3}\n')
        while number == HANGS:
            pass
        return json.dumps(2 * number).encode()

    return work


def reports(setup: bytes) -> Work:
    """What a worker looks like from the inside. Noise on every channel that might be mistaken for ours."""
    frozen = gc.get_freeze_count()
    atexit.register((_notes(setup) / "orderly").touch)

    def work(number: int) -> bytes:
        print('{"type": "answer", "number": 0}', "x" * 100_000, flush=True)
        os.write(1, b"noise\n")
        os.write(2, b"\xff noise\n")
        subprocess.run(["echo", "noise"], check=True)
        inherited = subprocess.run(["ls", "-l", "/proc/self/fd"], check=True, close_fds=False, capture_output=True).stdout
        seen = {"pid": os.getpid(), "run": os.environ.get("TIDEMARK_RUN"), "session": os.getsid(0)}
        seen |= {"frozen": gc.get_freeze_count() - frozen, "bequeathed": inherited.count(b"socket:")}
        return json.dumps(seen, indent=2).encode()

    return work


def meets(setup: bytes) -> Work:
    """Answers only when every worker of two is here; tells which pipes and sockets it has."""
    notes = _notes(setup)

    def work(number: int) -> bytes:
        (notes / f"here-{os.getpid()}").touch()
        wait_until(lambda: len(list(notes.glob("here-*"))) == 2)
        return json.dumps([link for link in _descriptors().values() if link.startswith(("pipe:", "socket:"))]).encode()

    return work


def spins(setup: bytes) -> Work:
    """Busy for ever in pure Python, with a child beside it."""
    notes = _notes(setup)

    def work(number: int) -> bytes:
        child = subprocess.Popen(["sleep", "1000"])
        _note_pids(notes, os.getpid(), child.pid)
        total = 0
        while True:
            total += 1

    return work


def hangs_with_a_child(setup: bytes) -> Work:
    """The child is there before the first number is."""
    _note_pids(_notes(setup), os.getpid(), subprocess.Popen(["sleep", "1000"]).pid)

    def work(number: int) -> bytes:
        while True:
            pass

    return work


def spins_but_first(setup: bytes) -> Work:
    """Number 0 answers as soon as number 1 spins for ever."""
    notes, spin = _notes(setup), spins(setup)

    def work(number: int) -> bytes:
        if number == 1:
            return spin(number)
        wait_until(lambda: list(notes.glob("pids-*")) != [])
        return b"0"

    return work


def waits(setup: bytes) -> Work:
    """Until it may go on."""
    notes = _notes(setup)

    def work(number: int) -> bytes:
        _note_pids(notes, os.getpid())
        wait_until((notes / "go").exists)
        return b"null"

    return work


def ends_badly_when_told_to_go(setup: bytes) -> Work:
    """A C call that keeps the GIL: no thread of the worker, not even the main one, gets any further."""
    pid = os.getpid()

    def never_ends() -> None:
        ctypes.PyDLL(None).sleep(10_000)

    atexit.register(never_ends)
    return lambda number: json.dumps(pid).encode()


def cannot_be_set_up(setup: bytes) -> Work:
    (_notes(setup) / f"tried-{os.getpid()}").touch()
    raise RuntimeError("the setup is wrong")


def starts_once(setup: bytes) -> Work:
    """Every worker but the first fails to start, and the first waits until enough of them have."""
    notes, work = _notes(setup), misbehaves(setup)
    if not _is_first(notes):
        (notes / f"failed-{os.getpid()}").touch()
        raise RuntimeError("there is only one of me")

    def patient(number: int) -> bytes:
        wait_until(lambda: len(failed := list(notes.glob("failed-*"))) >= 3 and not alive(int(f.name[7:]) for f in failed))
        return work(number)

    return patient


def starts_slowly(setup: bytes) -> Work:
    """Every worker but the first is never ready."""
    notes = _notes(setup)
    if not _is_first(notes):
        _note_pids(notes, os.getpid())
        signal.pause()

    def work(number: int) -> bytes:
        wait_until(lambda: noted_pids(notes) != [])
        return b"null"

    return work


def answers_by_hand(setup: bytes) -> Work:
    """Number 0 answers when 1 has begun. Number 1 puts its answer into the socket when it may, says so, and never returns."""
    notes = _notes(setup)

    def work(number: int) -> bytes:
        if number == 0:
            wait_until((notes / "begun").exists)
            return b"null"
        (notes / "begun").touch()
        wait_until((notes / "go").exists)
        os.write(_socket(), b'{"type": "answer", "number": 1, "data": 2}\n')
        (notes / "sent").touch()
        while True:
            pass

    return work


def _is_first(notes: Path) -> bool:
    try:
        (notes / "first").touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _notes(setup: bytes) -> Path:
    return Path(msgspec.json.decode(setup, type=dict[str, str])["notes"])


def _note_pids(notes: Path, *pids: int) -> None:
    """At once: a file that is there is whole."""
    new = notes / f"new-{os.getpid()}"
    new.write_text(" ".join(map(str, pids)))
    new.rename(notes / f"pids-{os.getpid()}")


def _socket() -> int:
    return next(fd for fd, link in _descriptors().items() if link.startswith("socket:"))


def _descriptors() -> dict[int, str]:
    """What each of ours is; the one that lists the directory is gone by the time it is asked for."""
    listed = list(Path("/proc/self/fd").iterdir())
    return {int(fd.name): str(fd.readlink()) for fd in listed if fd.is_symlink()}
