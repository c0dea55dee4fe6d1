"""replication/replicas.py: which logs a broker has, where they lie, and how they come and go (4.4, 4.5, 4.15, 5.5, 5.12, section
10).

In     the log directories at start; images; a failing disk
Out    logs opened, created, set aside; checkpoints; the marker of a clean stop
Keeps  a log belongs to a topic id: a directory of another topic by the same name is not reused
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from replication import files
from replication.barrier import Barrier
from replication.broker_state import BrokerState
from replication.directory import LogDirectory, OnDone
from replication.env import IoError
from replication.events import LogDirectoryFailed, LogRecovered, StrayLogRemoved
from replication.identity import UNASSIGNED, Key
from replication.image import PartitionState
from replication.loading import Checkpoints, load
from replication.log import Log
from replication.settings import TopicSettings


class Replicas:
    """The logs of one broker, over all its directories."""

    def __init__(self, broker: BrokerState, cluster_id: str, on_directory_failed: Callable[[LogDirectory], None]) -> None:
        self.broker, self.cluster_id = broker, cluster_id
        self.directories = [LogDirectory(disk, self._on_failure) for disk in broker.env.disks]
        self.logs: dict[Key, Log] = {}
        self._on_directory_failed = on_directory_failed

    # -- start ----------------------------------------------------------------------------------------------------------

    def open(self, settings: Callable[[str], TopicSettings], then: Callable[[int], None]) -> None:
        """4.5, 5.5 Read and delete the markers, then open every log; `then` gets the epoch of a clean stop, else -1."""
        for directory in self.directories:
            directory.open(self.cluster_id, self.broker.node_id, self.broker.env.random)
        rules = self.broker.rules
        marked = [directory for directory in self.directories if files.CLEAN_SHUTDOWN in directory.paths()]
        markers = [self._marker(directory) if directory in marked else None for directory in self.directories]
        clean_epoch = rules.clean_epoch(markers, any(directory.failed is not None for directory in self.directories))

        def opened() -> None:
            for directory, marker in zip(self.directories, markers, strict=True):
                self._load_all(directory, marker is not None, settings)
            then(clean_epoch)

        to_delete = marked if rules.forgets_marker() else []
        _for_each(to_delete, lambda directory, done: directory.delete(files.CLEAN_SHUTDOWN, done), opened)

    def _marker(self, directory: LogDirectory) -> int | None:
        data = directory.read(files.CLEAN_SHUTDOWN)
        return None if data is None else files.read_clean_shutdown(data)

    def _load_all(self, directory: LogDirectory, clean: bool, settings: Callable[[str], TopicSettings]) -> None:
        hws = directory.read_checkpoint(files.HW_CHECKPOINT)
        starts = directory.read_checkpoint(files.LOG_START_CHECKPOINT)
        directory.recovery_points = directory.read_checkpoint(files.RECOVERY_CHECKPOINT)
        for path, names in directory.partition_directories():
            name = files.partition_of_directory(path)
            data = directory.read(f"{path}/{files.PARTITION_METADATA}") if files.PARTITION_METADATA in names else None
            topic_id = files.read_partition_metadata(data) if data is not None else None
            if name is None or topic_id is None:
                self._remove_nobodys(directory, path, names)
                continue
            log = Log(directory, name, self.broker.env, self.broker.rules, settings(name[0]))
            known = Checkpoints(
                clean=clean, recovery_point=directory.recovery_points.get(name, 0), log_start=starts.get(name), hw=hws.get(name)
            )
            dropped = load(log, names, known)
            log.counted_end = log.durable_end  # what counts besides is for the topic's own settings to say (5.41, `log_for`)
            self._add(topic_id, log)
            self.broker.env.emit(
                LogRecovered(
                    topic=name[0], partition=name[1], clean=clean, log_start=log.log_start, leo=log.leo, dropped_bytes=dropped
                )
            )

    # -- coming and going -----------------------------------------------------------------------------------------------

    def log_for(self, key: Key, topic: str, state: PartitionState, settings: TopicSettings) -> Log | None:
        """10.3, 10.5 The log of an assigned replica: the one at hand, or a new one if none can be lying in a directory that is
        offline."""
        if log := self.logs.get(key):
            log.settings = settings
            log.count_or_flush()
            return log
        assigned = self._assigned(state)
        online = {directory.id: directory for directory in self.directories if directory.failed is None}
        if not self.broker.rules.may_create_log(assigned, online, len(online) < len(self.directories)):
            return None
        emptiest = min(online.values(), key=lambda directory: len(directory.logs))
        return self._create(key, topic, online.get(assigned, emptiest), settings)

    def _assigned(self, state: PartitionState) -> bytes:
        position = state.replicas.index(self.broker.node_id)
        return state.directories[position] if position < len(state.directories) else UNASSIGNED

    def _create(self, key: Key, topic: str, directory: LogDirectory, settings: TopicSettings) -> Log:
        topic_id, index = key
        log = Log(directory, (topic, index), self.broker.env, self.broker.rules, settings)
        text = files.partition_metadata_text(topic_id)
        directory.replace(f"{log.path}/{files.PARTITION_METADATA}", text, log.settling.begin())
        load(log, (), Checkpoints(clean=True, recovery_point=0, log_start=None, hw=None))
        self._add(topic_id, log)
        if log.name in directory.checkpointed:  # by an older log of this name: what it knew must not be believed of this one
            for write in (directory.checkpoint_hw, directory.checkpoint_recovery_points, directory.checkpoint_log_starts):
                write(log.settling.begin())
        return log

    def _add(self, topic_id: bytes, log: Log) -> None:
        key = topic_id, log.name[1]
        self.logs[key] = log
        log.directory.logs[key] = log

    def remove(self, key: Key) -> None:
        """5.12, 3.16"""
        log = self.logs.pop(key, None)
        if log is not None:
            log.directory.logs.pop(key, None)
            log.remove()

    def remove_strays(self, assigned: Callable[[Key], bool]) -> None:
        """4.15 What happened while this broker was down is in no delta: logs that the image does not assign to it go."""
        for key, log in list(self.logs.items()):
            if not assigned(key):
                self.broker.env.emit(StrayLogRemoved(path=log.path))
                self.remove(key)

    def _remove_nobodys(self, directory: LogDirectory, path: str, names: list[str]) -> None:
        """A log counts only once its topic id is durable; one without was never promised to anybody, and nobody can claim it."""
        self.broker.env.emit(StrayLogRemoved(path=path))
        for name in names:
            directory.delete(f"{path}/{name}")

    # -- checkpoints and the end ----------------------------------------------------------------------------------------

    def checkpoint_hw(self) -> None:
        for directory in self.directories:
            directory.checkpoint_hw()

    def checkpoint_recovery_points(self) -> None:
        for directory in self.directories:
            directory.checkpoint_recovery_points()

    def checkpoint_log_starts(self) -> None:
        for directory in self.directories:
            directory.checkpoint_log_starts()

    def close(self, then: OnDone) -> None:
        """4.5, 4.11 Flush, checkpoint, and mark as clean, in this order and each durable before the next."""
        marker = files.clean_shutdown_text(self.broker.rules.epoch_for_marker(self.broker.broker_epoch))
        steps: list[Step] = [
            _flush,
            LogDirectory.checkpoint_hw,
            LogDirectory.checkpoint_recovery_points,
            LogDirectory.checkpoint_log_starts,
            lambda directory, done: directory.replace(files.CLEAN_SHUTDOWN, marker, done),
        ]
        _for_each(self.directories, lambda directory, done: _one_after_another(directory, steps, done), then)

    # -- failure --------------------------------------------------------------------------------------------------------

    def _on_failure(self, directory: LogDirectory, error: IoError) -> None:
        """10.1, 10.4"""
        held = tuple(log.name for log in directory.logs.values())
        self.broker.env.emit(LogDirectoryFailed(directory=directory.id.hex(), reason=error.reason, partitions=held))
        self._on_directory_failed(directory)
        if all(each.failed is not None for each in self.directories):
            self.broker.env.halt("every log directory has failed")


Step = Callable[[LogDirectory, OnDone], None]


def _for_each(directories: Sequence[LogDirectory], step: Step, then: OnDone) -> None:
    """Do one thing in all directories at once; `then` comes when each has done it or failed."""
    waiting = {id(directory) for directory in directories if directory.failed is None}

    def finished(directory: LogDirectory) -> None:
        if id(directory) in waiting:
            waiting.discard(id(directory))
            if not waiting:
                then()

    if not waiting:
        then()
    for directory in directories:
        done = partial(finished, directory)
        directory.when_failed(done)
        if directory.failed is None:
            step(directory, done)


def _flush(directory: LogDirectory, done: OnDone) -> None:
    flushes = Barrier()
    for log in directory.logs.values():
        log.close(flushes.begin())
    flushes.then(done)


def _one_after_another(directory: LogDirectory, steps: list[Step], then: OnDone) -> None:
    if not steps:
        then()
        return
    steps[0](directory, lambda: _one_after_another(directory, steps[1:], then))
