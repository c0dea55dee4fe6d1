"""harness/lifeline.py: a process that ends when its parent does, however the parent ends.

In     the read end of a pipe that nobody ever writes to; its write end is open in the parent, and nowhere else
Out    when the parent is gone the kernel closes the pipe, and `hold` ends this process and whatever it started in its group
Keeps  a busy process is ended, too: the thread that waits is given its turn within milliseconds, unless C code keeps the GIL
Not    orderly ends: those are a matter between parent and child (harness/pool.py)
"""

from __future__ import annotations

import os
import signal
import threading


def hold(read_end: int) -> None:
    """From now on this process lives no longer than the one that holds the other end."""
    os.set_inheritable(read_end, False)
    threading.Thread(target=_wait, args=(read_end,), name="lifeline", daemon=True).start()


def _wait(read_end: int) -> None:
    while os.read(read_end, 1):
        pass  # a byte is no end
    if os.getpgrp() == os.getpid():  # never the group of somebody who merely called us
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
