"""tests/replication/lone_log.py: one log without a broker.

In     batches to append, cuts, crashes, clean ends
Out    the log; its disk as the tests' own readers of Kafka's files see it
"""

from __future__ import annotations

from typing import Any

from replication.batch import Header, Record, encode, header_at, stamped
from replication.directory import LogDirectory
from replication.env import IoError
from replication.loading import Checkpoints, load
from replication.log import Log
from replication.rules import Rules
from replication.settings import TopicSettings
from tests.replication import kafka_files as kafka
from tests.replication.memory import MemoryDisk, MemoryEnv, World

KEY = bytes(15) + b"t", 0
START = 1_000
T0 = 1_700_000_000_000

HW = "replication-offset-checkpoint"
RECOVERY = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
EPOCHS = "t-0/leader-epoch-checkpoint"


class LoneLog:
    """A log with a disk of its own, opened, checkpointed and ended as a broker would."""

    def __init__(self, *, start: int | None = START, disk: type[MemoryDisk] = MemoryDisk, **settings: Any) -> None:
        self.settings = TopicSettings(**settings)
        self.world = World()
        self.disk = disk(self.world)
        self.failures: list[IoError] = []
        self.dropped = 0
        self.env: MemoryEnv
        self.directory: LogDirectory
        self.log: Log
        self.open(clean=True, log_start=start)

    # -- life -----------------------------------------------------------------------------------------------------------

    def open(self, *, clean: bool = False, log_start: int | None = None, recovery_point: int | None = None) -> Log:
        """5.5, 5.6 Load what the disk holds. What is not given is read from the checkpoints, as a broker does."""
        self.env = MemoryEnv(self.world, 1, (self.disk,), 1)
        self.directory = directory = LogDirectory(self.disk, lambda _, error: self.failures.append(error))
        name = "t", 0
        directory.recovery_points = directory.read_checkpoint(RECOVERY)
        known = Checkpoints(
            clean=clean,
            recovery_point=directory.recovery_points.get(name, 0) if recovery_point is None else recovery_point,
            log_start=directory.read_checkpoint(LOG_START).get(name) if log_start is None else log_start,
            hw=directory.read_checkpoint(HW).get(name),
        )
        self.log = Log(directory, name, self.env, Rules(), self.settings)
        names = [path.removeprefix("t-0/") for path in directory.paths() if path.startswith("t-0/")]
        self.dropped = load(self.log, names, known)
        directory.logs[KEY] = self.log
        self.world.run()
        return self.log

    def crash(self, *, lossy: bool = False) -> None:
        """The process ends. Its machine still does what it was told; with `lossy` it forgets what was not synced."""
        if lossy:
            self.disk.held = None
            self.disk.lose_unsynced()
        else:
            self.disk.release()
        self.env.alive = False

    def close(self) -> None:
        """4.5 The clean end."""
        self.disk.release()
        closed: list[bool] = []
        self.log.close(lambda: closed.append(True))
        self.checkpoint()
        assert closed, "the log did not close"
        self.env.alive = False

    def checkpoint(self) -> None:
        """What a broker's timers do."""
        self.world.run()
        self.directory.checkpoint_hw()
        self.directory.checkpoint_recovery_points()
        self.directory.checkpoint_log_starts()
        self.world.run()

    def restart(self, *, lossy: bool = False, clean: bool = False) -> Log:
        if clean:
            self.close()
        else:
            self.crash(lossy=lossy)
        return self.open(clean=clean)

    # -- content --------------------------------------------------------------------------------------------------------

    def append(self, *values: str, epoch: int = 0, timestamp: int = T0, **producer: int) -> bytes:
        """One batch at the end; returns the bytes that were appended."""
        records = [Record(value.encode(), timestamp=timestamp) for value in values or ("x",)]
        return self.append_bytes(encode(records, **producer), epoch)

    def append_bytes(self, batch: bytes, epoch: int = 0) -> bytes:
        data = stamped(batch, self.log.leo, epoch)
        assert self.log.append(data, header_of(data), self.log.leo, epoch)
        self.world.run()
        return data

    def hold(self) -> None:
        """From now on nothing becomes durable until `release`."""
        self.disk.held = []

    def release(self) -> None:
        self.disk.release()

    def file(self, path: str) -> bytes:
        return bytes(self.disk.files[path])

    def on_disk(self) -> list[kafka.Batch]:
        """The batches in the `.log` files, by the tests' own reader; raises where one is broken."""
        return [batch for base in self.bases() for batch in kafka.batches(self.file(f"t-0/{base:020d}.log"))]

    def bases(self) -> list[int]:
        return kafka.segment_bases(self.disk.files)


def header_of(data: bytes) -> Header:
    header = header_at(data)
    assert header is not None
    return header


def size_of(*values: str) -> int:
    return len(encode([Record(value.encode(), timestamp=T0) for value in values]))
