"""clusters/sim/damage.py: what a damaged directory has lost, counted in records (DESIGN 11.6, CHECKERS 1.7).

In     the content of a log directory before and after
Out    `Damage` for every partition that lost something: its first lost offset and the number of lost records
Keeps  it reads segments as anybody could: whole batches with a right CRC, in order, up to the first that is not. Of metadata logs
       only those of voters count: what a broker lost of its copy it fetches again
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from model.cluster import Damage, How, NodeId
from replication.batch import crc_is_right, headers
from replication.files import PARTITION_METADATA, partition_of_directory, read_partition_metadata
from replication.records import METADATA_TOPIC

Batch = tuple[int, int, int, int]
"""First offset, end offset, leader epoch, CRC."""

Held = dict[tuple[str, int], list[Batch]]


def batches_of(content: Mapping[str, bytes]) -> Held:
    """The batches of every partition in a directory, up to the first that cannot be trusted."""
    held: Held = {}
    for path in sorted(content):
        directory, _, name = path.partition("/")
        partition = partition_of_directory(directory)
        if partition is not None and name.endswith(".log") and _counts(content, partition, directory):
            held.setdefault(partition, []).extend(_batches(content[path]))
    return held


def _counts(content: Mapping[str, bytes], partition: tuple[str, int], directory: str) -> bool:
    """A partition's log without a topic id is deleted at the next start; the metadata log needs none."""
    if partition[0] == METADATA_TOPIC:
        return True
    data = content.get(f"{directory}/{PARTITION_METADATA}")
    return data is not None and read_partition_metadata(data) is not None


def _batches(data: bytes) -> list[Batch]:
    found: list[Batch] = []
    for position, header in headers(data):
        if not crc_is_right(data, header, position):
            break
        found.append((header.base_offset, header.end_offset, header.partition_leader_epoch, header.crc))
    return found


def losses(node: NodeId, before: Held, after: Held, how: How) -> tuple[Damage, ...]:
    """What each partition no longer holds. A log in which an undone cut brought other records back has lost its own."""
    found = []
    for (topic, partition), batches in before.items():
        left = after.get((topic, partition), [])
        same = 0
        while same < min(len(batches), len(left)) and batches[same] == left[same]:
            same += 1
        lost = batches[same:]
        if lost:
            records = sum(end - base for base, end, _, _ in lost)
            found.append(Damage(node, topic, partition, how, dropped_from=lost[0][0], dropped=records))
    return tuple(found)


def unharmed(node: NodeId, held: Held) -> tuple[Damage, ...]:
    """An unclean end that lost nothing is still an unclean end."""
    return tuple(Damage(node, topic, partition, "restart", dropped=0) for topic, partition in held)


def rotten(node: NodeId, before: Held, content: Mapping[str, bytes], path: str) -> tuple[Damage, ...]:
    """The batch in which a bit flipped. One in a field that no CRC covers is not to be seen, and counts as the whole log."""
    partition = partition_of_directory(path.partition("/")[0])
    if partition is None:
        return ()
    found = losses(node, before, batches_of(content), "rot")
    mine = tuple(damage for damage in found if (damage.topic, damage.partition) == partition)
    return mine or (Damage(node, *partition, "rot"),)


def that_counts(damage: Iterable[Damage], *, votes: bool) -> tuple[Damage, ...]:
    """Without the copies of the metadata log that brokers keep."""
    return tuple(one for one in damage if votes or one.topic != METADATA_TOPIC)
