"""model/files.py: the few calls that make bytes survive a crash, behind one seam.

In   paths on a local disk
Out  files that are appended and synced, directories whose entries are synced, and whole files put in place at once
Why  durability is easy to believe in and hard to see: tests put a layer here that forgets whatever was not synced
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol


class AppendFile(Protocol):
    """A file that only grows. What `write` was given may be lost in a crash until `sync` has returned."""

    def write(self, data: bytes) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class Files(Protocol):
    """Where files come from. The entry of a new or renamed file is lost in a crash until its directory was synced."""

    def create(self, path: Path) -> AppendFile: ...
    def sync_directory(self, path: Path) -> None: ...
    def replace(self, source: Path, target: Path) -> None: ...


class LocalFiles:
    """The real thing."""

    def create(self, path: Path) -> AppendFile:
        return _LocalFile(path)

    def sync_directory(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        source.replace(target)


class _LocalFile:
    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]

    def sync(self) -> None:
        os.fsync(self._descriptor)

    def close(self) -> None:
        os.close(self._descriptor)


def write_new(files: Files, path: Path, data: bytes) -> None:
    """A new file with all of its bytes synced; its directory is the caller's to sync, once for many files."""
    file = files.create(path)
    try:
        file.write(data)
        file.sync()
    finally:
        file.close()


def write_durably(files: Files, path: Path, data: bytes) -> None:
    """A whole file that is there, whole, after any crash, once this has returned; before that, the old one or none."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        write_new(files, fresh, data)
        files.replace(fresh, path)
    except OSError:
        fresh.unlink(missing_ok=True)  # a full disk must not fill up with attempts
        raise
    files.sync_directory(path.parent)


def make_directories(files: Files, path: Path) -> None:
    """A directory, and those above it, that are still there after a crash."""
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        directory.mkdir(exist_ok=True)
        files.sync_directory(directory.parent)
