"""replication/files.py: Kafka's small files: their names and their text (5.51).

In     values
Out    bytes for `Disk.replace`, and values again from what a disk gave back; None where it is damaged or of another version
Not    segments: replication/segment.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import pairwise

from replication.identity import id_of_text, id_text
from replication.state import Epochs

HW_CHECKPOINT = "replication-offset-checkpoint"
RECOVERY_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_CHECKPOINT = "log-start-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"

_VERSION = 0

PartitionOffsets = dict[tuple[str, int], int]


def partition_directory(topic: str, partition: int) -> str:
    """5.51"""
    return f"{topic}-{partition}"


def partition_of_directory(name: str) -> tuple[str, int] | None:
    """The topic and partition of a directory; a topic's own name may have dashes."""
    topic, dash, partition = name.rpartition("-")
    return (topic, int(partition)) if dash and topic and partition.isdigit() else None


# -- checkpoints: a version, a count, a line per entry --------------------------------------------------------------------


def offsets_text(offsets: Mapping[tuple[str, int], int]) -> bytes:
    return _checkpoint(f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items())


def read_offsets(data: bytes) -> PartitionOffsets | None:
    lines = _entries(data, fields=3)
    if lines is None:
        return None
    try:
        return {(topic, int(partition)): int(offset) for topic, partition, offset in lines}
    except ValueError:
        return None


def epochs_text(epochs: Epochs) -> bytes:
    return _checkpoint(f"{epoch} {start}" for epoch, start in epochs)


def read_epochs(data: bytes) -> Epochs | None:
    lines = _entries(data, fields=2)
    if lines is None:
        return None
    try:
        epochs = tuple((int(epoch), int(start)) for epoch, start in lines)
    except ValueError:
        return None
    increasing = all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(epochs))
    return epochs if increasing else None


def _checkpoint(lines: Iterable[str]) -> bytes:
    entries = list(lines)
    return "".join(f"{line}\n" for line in [str(_VERSION), str(len(entries)), *entries]).encode()


def _entries(data: bytes, fields: int) -> list[list[str]] | None:
    try:
        version, count, *lines = data.decode().splitlines()
        if int(version) != _VERSION or int(count) != len(lines):
            return None
    except ValueError:  # also what is not UTF-8
        return None
    entries = [line.split(" ") for line in lines]
    return entries if all(len(entry) == fields for entry in entries) else None


# -- properties and the marker --------------------------------------------------------------------------------------------


def meta_properties_text(cluster_id: str, node_id: int, directory_id: bytes) -> bytes:
    return f"version=1\ncluster.id={cluster_id}\nnode.id={node_id}\ndirectory.id={id_text(directory_id)}\n".encode()


def read_meta_properties(data: bytes) -> dict[str, str] | None:
    try:
        lines = [line for line in data.decode().splitlines() if line and not line.startswith("#")]
        pairs = dict(line.split("=", 1) for line in lines)
        id_of_text(pairs["directory.id"])
    except (ValueError, KeyError):
        return None
    return pairs


def partition_metadata_text(topic_id: bytes) -> bytes:
    return f"version: {_VERSION}\ntopic_id: {id_text(topic_id)}\n".encode()


def read_partition_metadata(data: bytes) -> bytes | None:
    try:
        version, topic = data.decode().splitlines()
        if version != f"version: {_VERSION}" or not topic.startswith("topic_id: "):
            return None
        return id_of_text(topic.removeprefix("topic_id: "))
    except ValueError:
        return None


def clean_shutdown_text(broker_epoch: int) -> bytes:
    return json.dumps({"version": _VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":")).encode()


def read_clean_shutdown(data: bytes) -> int | None:
    try:
        marker = json.loads(data)
        return int(marker["brokerEpoch"]) if marker["version"] == _VERSION else None
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
