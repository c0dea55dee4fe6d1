"""harness/interrupts.py: Ctrl-C while results come in.

In     SIGINT, if this is the main thread and nobody has it ignored (nohup)
Out    a count; with each, `then` is called and `reader`, a descriptor to wait for, becomes readable. Afterwards Ctrl-C does again
       what it did before
Why    an exception could fall between a result and its report, and the run would be told as not done
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress


class Interrupts:
    """Ctrl-C, counted instead of raised: so it never falls between a result and its report. Only the main thread can listen."""

    def __init__(self, then: Callable[[], object] = int) -> None:
        """`then` runs wherever the main thread happens to be: it may put something into a SimpleQueue, and little else."""
        self.count = 0
        self._then = then
        self.reader, self._writer = os.pipe()  # wakes whoever waits for other things
        os.set_blocking(self._writer, False)

    def __enter__(self) -> Interrupts:
        self._before = signal.getsignal(signal.SIGINT)
        in_main_thread = threading.current_thread() is threading.main_thread()
        self._listens = in_main_thread and self._before not in (signal.SIG_IGN, None)  # ignored by nohup: then by us as well
        if self._listens:
            signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._listens:
            signal.signal(signal.SIGINT, self._before)
        os.close(self.reader)
        os.close(self._writer)

    def _note(self, *_: object) -> None:
        self.count += 1
        with suppress(BlockingIOError):
            os.write(self._writer, b".")
        self._then()
