"""tests/model/forgetful.py: a file layer that loses power.

Files are written to a real directory, and beside it is remembered what a disk would still have after a power cut: the bytes of a
file up to its last sync, and the entries of a directory as of its last sync. `after_power_cut` makes the directory look so.
Lock files are left out: their meaning dies with the process that holds them.
"""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

from model.files import AppendFile


class PowerCutError(Exception):
    """The moment came. Whatever is called after it fails as well: nobody is there any more."""


class ForgetfulFiles:
    """Counts every step that reaches the disk, and stops at the one it was told."""

    def __init__(self, root: Path, stop_at: int | None = None, *, ignore_sync: bool = False) -> None:
        self.root = root
        self.steps = 0
        self.stop_at = stop_at
        self.ignore_sync = ignore_sync
        self.written: dict[int, bytearray] = {}  # by inode: renames do not matter
        self.synced: dict[int, int] = {}
        self.entries: dict[int, dict[str, int]] = {root.stat().st_ino: {}}
        self.held: list[int] = []  # descriptors: an inode that is held is not given to another file

    def step(self) -> None:
        self.steps += 1
        if self.stop_at is not None and self.steps > self.stop_at:
            raise PowerCutError

    def create(self, path: Path) -> AppendFile:
        self.step()
        return _ForgetfulFile(self, path)

    def sync_directory(self, path: Path) -> None:
        self.step()
        if not self.ignore_sync:
            self.held += [os.open(child, os.O_RDONLY) for child in path.iterdir()]
            self.entries[path.stat().st_ino] = _entries(path)

    def replace(self, source: Path, target: Path) -> None:
        self.step()
        source.replace(target)

    def after_power_cut(self, luck: random.Random | None = None) -> None:
        """Only what was synced; with luck every entry of every directory and some of the unsynced bytes as well."""
        kept = self._survivors(self.root, luck)
        for descriptor in self.held:
            os.close(descriptor)
        for child in self.root.iterdir():
            shutil.rmtree(child) if child.is_dir() else child.unlink()
        for path, content in kept.items():
            if content is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def _survivors(self, root: Path, luck: random.Random | None) -> dict[Path, bytes | None]:
        entries = self.entries if luck is None else _tree(root)
        kept: dict[Path, bytes | None] = {}
        waiting = [(root, root.stat().st_ino)]
        while waiting:
            path, inode = waiting.pop()
            for name, child in entries.get(inode, {}).items():
                if child in self.written:
                    kept[path / name] = self._content(child, luck)
                else:
                    kept[path / name] = None
                    waiting.append((path / name, child))
        return kept

    def _content(self, inode: int, luck: random.Random | None) -> bytes:
        safe, whole = self.synced.get(inode, 0), len(self.written[inode])
        return bytes(self.written[inode][: safe if luck is None else luck.randint(safe, whole)])


class _ForgetfulFile:
    def __init__(self, files: ForgetfulFiles, path: Path) -> None:
        self.files = files
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        files.held.append(self.descriptor)
        self.inode = os.fstat(self.descriptor).st_ino
        files.written[self.inode] = bytearray()

    def write(self, data: bytes) -> None:
        self.files.step()
        self.files.written[self.inode] += data
        os.write(self.descriptor, data)

    def sync(self) -> None:
        self.files.step()
        if not self.files.ignore_sync:
            self.files.synced[self.inode] = len(self.files.written[self.inode])

    def close(self) -> None:
        """The descriptor is held until the power cut."""


def _entries(directory: Path) -> dict[str, int]:
    return {child.name: child.stat().st_ino for child in directory.iterdir() if child.suffix != ".lock"}


def _tree(root: Path) -> dict[int, dict[str, int]]:
    """The entries of every directory as they are now, by inode."""
    return {path.stat().st_ino: _entries(path) for path in [root, *root.rglob("*")] if path.is_dir()}
