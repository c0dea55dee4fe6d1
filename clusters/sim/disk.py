"""clusters/sim/disk.py: one log directory, in memory, able to forget (`replication.env.Disk`).

In     append, read, truncate, sync, replace, delete from the node; wipe, lose_unsynced, tear, rot and refusals from the nemesis
Out    `then` is called once the bytes are durable, after a seeded delay: never earlier, never twice, in the order of the calls
Keeps  `files`, as a process sees them, and `durable`, what a power cut leaves. Synced bytes survive every crash, but not wipe or
       rot. Before damage is done the whole directory is put aside, so that any damage can be undone
Not    which node is hurt, and when (nemesis/); how many records a damage cost (damage.py)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from clusters.sim.disk_faults import DiskFaults
from clusters.sim.kernel import Kernel
from clusters.sim.kinds import WRITE_DURABLE
from clusters.sim.latency import DRAW_BITS, MS, sync_latency
from model.chance import Chance, below, between, happens, pick
from replication.batch import headers
from replication.env import Done, IoError
from replication.records import METADATA_TOPIC

if TYPE_CHECKING:
    from clusters.sim.env import SimEnv

Content = dict[str, bytes]
_WRITE_BACK = 1_000 * MS, 9_000 * MS


class File:
    """A file as a process sees it. `clean`: so many of its first bytes are also the first bytes of the durable file."""

    __slots__ = ("clean", "data", "version")

    def __init__(self, data: bytes = b"", clean: int = 0, version: int = 0) -> None:
        self.data, self.clean = bytearray(data), clean
        self.version = version
        """Of the path: it steps when the file is another one or is cut, so that what is older never replaces what is newer."""


class Pending:
    """A write on its way to being durable."""

    __slots__ = ("content", "done", "error", "file", "keep", "length", "owner", "path", "took", "version")

    def __init__(self, path: str, file: File, length: int, owner: SimEnv | None) -> None:
        self.path, self.file, self.length, self.owner = path, file, length, owner
        self.version = file.version
        self.content: bytes | None = None  # put aside when the file is cut while its sync is on its way
        self.keep: Callable[[Pending], None] | None = None
        self.done: Done | None = None
        self.error: IoError | None = None
        self.took = 0  # without what a fault adds


class SimDisk:
    """A directory that knows which of its bytes would survive."""

    def __init__(self, kernel: Kernel, chance: Chance, damage_chance: Chance, node_id: int, *, votes: bool = False) -> None:
        self.kernel, self.node_id = kernel, node_id
        self.votes = votes  # it holds a voter's metadata log, and not a copy
        self.owner: SimEnv | None = None  # the life of the process that uses it
        self.files: dict[str, File] = {}
        self.durable: dict[str, bytearray] = {}
        self.faults = DiskFaults(self._catch_up)
        self._chance, self._damage_chance = chance, damage_chance
        self._busy_until = 0
        self._queue: dict[Pending, None] = {}  # everything on its way; a power cut empties it
        self._versions: dict[str, int] = {}  # the last one of each path
        self._durable_versions: dict[str, int] = {}
        self._before: tuple[Content, Content] | None = None

    def install(self, files: Mapping[str, bytes]) -> None:
        """Files that somebody put there before any process ran, durably: formatting."""
        for path, data in files.items():
            self.durable[path] = bytearray(data)
            self.files[path] = File(data, len(data), self._next_version(path))
            self._durable_versions[path] = self.files[path].version

    # -- what a node asks -----------------------------------------------------------------------------------------------

    def append(self, path: str, data: bytes) -> IoError | None:
        if self.faults.active and (error := self.faults.refuse("append")):
            return error
        file = self.files.get(path)
        if file is None:
            file = self._new_file(path)
        file.data += data
        return None

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes | IoError:
        if self.faults.active and (error := self.faults.refuse("read")):
            return error
        file = self.files.get(path)
        if file is None:
            return IoError(f"no such file: {path}")
        return bytes(file.data[position : None if length is None else position + length])

    def truncate(self, path: str, size: int) -> IoError | None:
        if self.faults.active and (error := self.faults.refuse("truncate")):
            return error
        file = self.files.get(path)
        if file is None:
            return IoError(f"no such file: {path}")
        if size < len(file.data):
            for pending in self._queue:
                if pending.file is file and pending.content is None and pending.length > size:
                    pending.content = bytes(file.data[: pending.length])
            del file.data[size:]
            file.clean = min(file.clean, size)
            file.version = self._next_version(path)
        return None

    def list(self) -> Sequence[str] | IoError:
        if self.faults.active and (error := self.faults.refuse("read")):
            return error
        return tuple(self.files)

    def sync(self, path: str, then: Done) -> None:
        file = self.files.get(path) or self._new_file(path)
        self._later(Pending(path, file, len(file.data), self.owner), self._keep_synced, then, "sync")

    def replace(self, path: str, data: bytes, then: Done) -> None:
        file = File(data, version=self._next_version(path))
        if not (self.faults.active and self.faults.refuses("replace")):
            self.files[path] = file
        self._later(Pending(path, file, len(data), self.owner), self._keep_synced, then, "replace")

    def delete(self, path: str, then: Done) -> None:
        gone = File(version=self._next_version(path))
        if not (self.faults.active and self.faults.refuses("delete")):
            self.files.pop(path, None)
        self._later(Pending(path, gone, 0, self.owner), self._keep_gone, then, "delete")

    def _new_file(self, path: str) -> File:
        file = self.files[path] = File(version=self._next_version(path))
        return file

    def _next_version(self, path: str) -> int:
        found = self._versions[path] = self._versions.get(path, 0) + 1
        return found

    # -- becoming durable -----------------------------------------------------------------------------------------------

    def _later(self, pending: Pending, keep: Callable[[Pending], None], done: Done, call: str) -> None:
        """The delay is drawn whatever becomes of the write. A refused one keeps nothing, and says so in its turn."""
        pending.took = took = sync_latency(self._chance.getrandbits(DRAW_BITS))
        if self.faults.active:
            pending.error = self.faults.refuse(call)
            took += self.faults.slow()
        self._busy_until = max(self.kernel.now, self._busy_until) + took
        pending.done = done
        if pending.error is None:
            pending.keep = keep
        self._queue[pending] = None
        self.kernel.at(self._busy_until, self._complete, pending)

    def _complete(self, pending: Pending) -> None:
        if pending not in self._queue:
            return  # it was on its way before a power cut
        del self._queue[pending]
        if pending.keep is not None:
            pending.keep(pending)
        self.kernel.note(WRITE_DURABLE, self.node_id, pending.length)
        if pending.owner is not None and pending.done is not None:
            pending.owner.enter(pending.done, pending.error)

    def _catch_up(self) -> None:
        """Syncs are quick again, those on their way as well."""
        times, last = dict[Pending, int](), self.kernel.now
        for pending in self._queue:
            last = times[pending] = last + pending.took
        self.kernel.move(self._complete, times.get)
        self._busy_until = last

    def _keep_synced(self, pending: Pending) -> None:
        """What has become durable by itself meanwhile, and is newer, stays."""
        file, path = pending.file, pending.path
        durable, version = self.durable.get(path), self._durable_versions.get(path, 0)
        if version > pending.version:
            return
        if version == pending.version and durable is not None:
            if len(durable) >= pending.length:
                return
            if pending.content is None and file.clean == len(durable):
                durable += file.data[len(durable) : pending.length]  # the usual way: a log that has grown
                file.clean = pending.length
                return
        content = file.data[: pending.length] if pending.content is None else pending.content
        self._make_durable(path, content, pending.version)

    def _keep_gone(self, pending: Pending) -> None:
        if self._durable_versions.get(pending.path, 0) <= pending.version:
            self.durable.pop(pending.path, None)
            self._durable_versions[pending.path] = pending.version

    def _make_durable(self, path: str, content: bytes | bytearray, version: int) -> None:
        self.durable[path] = bytearray(content)
        self._durable_versions[path] = version
        seen = self.files.get(path)
        if seen is not None:
            seen.clean = _common(seen.data, content)

    def write_back(self, chance: Chance) -> None:
        """Do as operating systems do: now and then some files become durable although nobody asked for it, in any order."""
        self.kernel.at(self.kernel.now + between(chance, *_WRITE_BACK), self._write_back, chance)

    def _write_back(self, chance: Chance) -> None:
        for path, file in self.files.items():
            dirty = path not in self.durable or not file.clean == len(file.data) == len(self.durable[path])
            if happens(chance, 1, 2) and dirty:
                self._make_durable(path, file.data, file.version)
        self.write_back(chance)

    # -- damage: the process is dead by now -----------------------------------------------------------------------------

    def content(self) -> Content:
        """What a process would find."""
        return {path: bytes(file.data) for path, file in self.files.items()}

    def undo_damage(self) -> None:
        """As it was before the last damage."""
        if self._before is not None:
            seen, durable = self._before
            self.durable = {path: bytearray(data) for path, data in durable.items()}
            self._show(seen)
            self._before = None

    def wipe(self) -> None:
        self._put_aside()
        self.durable.clear()
        self._power_cut()

    def lose_unsynced(self) -> None:
        """A power cut: also names, cuts and deletes that were not durable are undone."""
        self._put_aside()
        self._power_cut()

    def tear(self) -> None:
        """A power cut in the middle of a write: one log has some bytes more than it had synced, and ends inside a batch."""
        self._put_aside()
        torn = self._torn_file()
        self._power_cut()
        if torn is not None:
            path, kept = torn
            self.durable[path] = bytearray(kept)
            self._show({**self.content(), path: kept})

    def _torn_file(self) -> tuple[str, bytes] | None:
        grown = [
            (path, file, len(self.durable[path]))
            for path, file in self.files.items()
            if path.endswith(".log") and path in self.durable and file.clean == len(self.durable[path]) < len(file.data)
        ]
        if not grown:
            return None
        path, file, synced = pick(self._damage_chance, grown)
        end = between(self._damage_chance, synced + 1, max(synced + 1, len(file.data) - 1))
        if sum(header.size for _, header in headers(bytes(file.data[:end]))) == end:
            end -= 1  # between two batches nothing is torn
        return path, bytes(file.data[:end])

    def rot(self) -> tuple[str, int] | None:
        """Flip one bit of one log, in what was synced and in what a process reads. Where, or None if there is no log to rot."""
        self._put_aside()
        logs = [path for path, data in self.durable.items() if data and path in self.files and self._may_rot(path)]
        if not logs:
            return None
        path = pick(self._damage_chance, logs)
        position, bit = below(self._damage_chance, len(self.durable[path])), 1 << below(self._damage_chance, 8)
        self.durable[path][position] ^= bit
        file = self.files[path]
        if position < len(file.data):
            file.data[position] ^= bit
        return path, position

    def _may_rot(self, path: str) -> bool:
        """Logs; a broker's copy of the metadata is none that anything was promised of."""
        return path.endswith(".log") and (self.votes or not path.startswith(METADATA_TOPIC))

    def _put_aside(self) -> None:
        self._before = self.content(), {path: bytes(data) for path, data in self.durable.items()}

    def _power_cut(self) -> None:
        self._queue.clear()
        self._busy_until = self.kernel.now
        self._show({path: bytes(data) for path, data in self.durable.items()})

    def _show(self, content: Content) -> None:
        """What a process finds from now on. A byte that is not durable as well does not count as clean."""
        self.files = {}
        self._durable_versions = {}
        for path, data in content.items():
            durable = self.durable.get(path, b"")
            file = self.files[path] = File(data, _common(data, durable), self._next_version(path))
            if file.clean == len(durable):
                self._durable_versions[path] = file.version


def _common(one: bytes | bytearray, other: bytes | bytearray) -> int:
    """How many leading bytes are the same: all of the shorter, or it is not worth knowing."""
    shorter = min(len(one), len(other))
    return shorter if one[:shorter] == other[:shorter] else 0
