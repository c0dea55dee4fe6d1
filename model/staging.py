"""model/staging.py: directories that belong to one writer for as long as it lives.

In    a parent directory
Out   `Claim`: a fresh directory of our own under a lock; `ownerless`: the directories whose writers are dead
Keeps the kernel frees a lock when its holder dies, however it dies. So a directory whose lock can be had belongs to nobody.
      The lock is taken before the directory is made, and dropped last: no moment in between looks ownerless.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model.files import Files, make_directories


class Claim:
    """One directory and its lock."""

    def __init__(self, parent: Path, name: str, files: Files) -> None:
        make_directories(files, parent)
        self.directory = parent / f"{name}-{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
        self._lock: int | None = None
        while self._lock is None:
            lock = os.open(_lock_path(self.directory), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if _names(lock, self.directory):
                self._lock = lock
            else:
                os.close(lock)  # somebody swept the file between our opening and our locking it
        make_directories(files, self.directory)

    def release(self) -> None:
        """Remove what is left of the directory, then give up the lock. May be called twice."""
        if self._lock is not None:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.let_go()

    def let_go(self) -> None:
        """Give up the lock and leave the directory to whoever sweeps."""
        if self._lock is not None:
            _unlock(self.directory, self._lock)
            self._lock = None


@contextmanager
def ownerless(parent: Path) -> Iterator[list[Path]]:
    """The directories of dead writers, ours while the context lasts. Whoever asks removes what is no longer needed."""
    names = {path.name.removesuffix(".lock") for path in parent.iterdir()} if parent.is_dir() else set()
    taken = {parent / name: lock for name in sorted(names) if (lock := _try_lock(parent / name)) is not None}
    try:
        yield [directory for directory in taken if directory.is_dir()]
    finally:
        for directory, lock in taken.items():
            _unlock(directory, lock)


def _try_lock(directory: Path) -> int | None:
    lock = os.open(_lock_path(directory), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _names(lock, directory):
            return lock
    except BlockingIOError:
        pass  # its writer lives
    os.close(lock)
    return None


def _lock_path(directory: Path) -> Path:
    return directory.with_name(directory.name + ".lock")


def _names(lock: int, directory: Path) -> bool:
    """Whether the file that we locked is still the one that others would try to lock."""
    try:
        return _lock_path(directory).stat().st_ino == os.fstat(lock).st_ino
    except FileNotFoundError:
        return False


def _unlock(directory: Path, lock: int) -> None:
    _lock_path(directory).unlink(missing_ok=True)
    os.close(lock)
