"""harness/worker.py: one worker process of a pool: `main` is its inside, `Worker` the handle that the parent has of it.

In     the work as `module:function`: a factory that gets the setup and returns the work, which turns one number into JSON
Out    on a socket: `Ready` once, then one `Answer` per number, JSON lines. An exception of the work is an answer, and it goes on
Keeps  the socket is ours alone: what the work prints goes elsewhere, and processes that it starts inherit nothing of it.
       A worker does not outlive its parent (harness/lifeline.py); one that is ended takes the processes of its group with it
Not    when a worker starts, what its death or its silence means (harness/pool.py)
"""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Literal

import msgspec

from harness import lifeline

START_LIMIT_S = 120.0  # imports on a machine that is busy with other things
END_LIMIT_S = 10.0  # for a worker that is told to go
RARELY = 200_000, 20, 50  # a run makes few cycles, and looking for them often costs a tenth of its time
KEPT_NOISE = 4096  # bytes of what a worker printed last
ENVIRONMENT = "TIDEMARK_RUN"  # whatever we start carries it, so that `tidemark clean` finds it
# A worker imports what we would import: a directory that happens to be called `model` where we were started is not ours.
BEGIN = "import sys; sys.path[:] = sys.argv.pop().split(':'); from harness.worker import main; main(*sys.argv[1:])"

Work = Callable[[int], bytes]
Factory = Callable[[bytes], Work]


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The work is loaded; numbers are welcome."""


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """What became of one number: the JSON that the work returned, or the exception that it raised."""

    number: int
    data: msgspec.Raw = msgspec.Raw(b"null")
    failed: str = ""
    details: str = ""


_MESSAGE = msgspec.json.Decoder(Ready | Answer)

# -- inside -----------------------------------------------------------------------------------------------------------


def main(work_name: str, socket_fd: str, lifeline_fd: str) -> None:
    lifeline.hold(int(lifeline_fd))
    faulthandler.enable()
    os.set_inheritable(int(socket_fd), False)  # and never closed by us: to the parent its end is the end of the process
    work = load(work_name)(sys.stdin.buffer.read())
    gc.collect()
    gc.freeze()  # what the set-up made stays: no collection of a run needs to look at it
    gc.set_threshold(*RARELY)
    with socket.fromfd(int(socket_fd), socket.AF_UNIX, socket.SOCK_STREAM) as parent:
        serve(work, parent)


def load(name: str) -> Factory:
    """The factory that `module:function` names."""
    module, _, function = name.partition(":")
    factory: Factory = getattr(importlib.import_module(module), function)
    return factory


def serve(work: Work, parent: socket.socket) -> None:
    """Until the parent hangs up."""
    parent.sendall(msgspec.json.encode(Ready()) + b"\n")
    with parent.makefile("rb") as numbers:
        for number in numbers:
            parent.sendall(msgspec.json.encode(answer(work, int(number))) + b"\n")


def answer(work: Work, number: int) -> Answer:
    """One number's answer, always: only the end of the process is none."""
    try:
        return Answer(number, msgspec.Raw(msgspec.json.format(work(number), indent=-1)))  # on one line, and surely JSON
    except Exception as error:  # noqa: BLE001  whatever a run raises is that run's, not the worker's
        failed = "".join(traceback.format_exception_only(error)).strip()
        return Answer(number, failed=_sendable(failed), details=_sendable(traceback.format_exc()))


def _sendable(text: str) -> str:
    """A name of a file that is not UTF-8 may stand in a message, but not in JSON."""
    return text.encode("utf-8", "backslashreplace").decode()


# -- outside ----------------------------------------------------------------------------------------------------------


class Worker:
    """One worker process, from the outside: a socket, what it prints, and the time until which it must have done its part."""

    def __init__(self, work: str, setup: bytes, campaign: str) -> None:
        self.state: Literal["starting", "idle", "busy", "ending", "gone"] = "starting"
        self.task: int | None = None
        self.deadline = time.monotonic() + START_LIMIT_S
        self._unread = b""
        self._noise = b""
        with ExitStack() as theirs, ExitStack() as ours:
            self.socket, their_socket = socket.socketpair()
            ours.enter_context(self.socket)
            theirs.enter_context(their_socket)
            read_end, lifeline = os.pipe()  # closed on exec, so no worker holds the lifeline of another
            ours.callback(os.close, lifeline)
            theirs.callback(os.close, read_end)
            self._process = _spawn(work, setup, campaign, (their_socket.fileno(), read_end))
            assert self._process.stdout is not None
            self.noise = ours.enter_context(self._process.stdout)
            self._ours = ours.pop_all()
        self.socket.setblocking(False)
        os.set_blocking(self.noise.fileno(), False)

    def give(self, number: int, limit_s: float) -> None:
        self.state, self.task, self.deadline = "busy", number, time.monotonic() + limit_s
        with suppress(OSError):  # it died just now: its silence will tell
            self.socket.sendall(b"%d\n" % number)

    def dismiss(self) -> None:
        """Nothing more will come; the worker ends by itself."""
        self.state, self.deadline = "ending", time.monotonic() + END_LIMIT_S
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def receive(self) -> list[Ready | Answer] | None:
        """The messages that are complete by now; None when there will be no more."""
        try:
            data = self.socket.recv(1 << 20)
        except BlockingIOError:
            return []
        except ConnectionResetError:
            return None
        *lines, self._unread = (self._unread + data).split(b"\n")
        return [_MESSAGE.decode(line) for line in lines] if data else None

    def listen(self) -> bool:
        """Keep the last of what it printed; False at the end."""
        data = os.read(self.noise.fileno(), 1 << 16)
        self._noise = (self._noise + data)[-KEPT_NOISE:]
        return bool(data)

    def end(self) -> tuple[str, str]:
        """End it and its group now, if it has not ended; how it ended, and what it printed last."""
        self.state = "gone"
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # before it is waited for: until then the number is nobody else's
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_LIMIT_S)
        with suppress(BlockingIOError):
            for _ in range(4):  # more than a pipe holds; whoever else has it open may go on printing for ever
                self.listen()
        self._ours.close()
        code = self._process.returncode
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        return how, self._noise.decode(errors="replace").strip()


def _spawn(work: str, setup: bytes, campaign: str, passed: tuple[int, int]) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as stdin:  # not a pipe: of a pipe we would have to wait for its reader
        stdin.write(setup)
        stdin.seek(0)
        return subprocess.Popen(
            [sys.executable, "-c", BEGIN, work, *map(str, passed), os.pathsep.join(sys.path)],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=passed,
            start_new_session=True,  # the terminal's Ctrl-C is not for workers, and what they start is in their group
            env={**os.environ, ENVIRONMENT: campaign},
        )
