"""What brokers leave on their disks, byte by byte, by the tests' own readers (5.51); the marker of a clean stop (4.4, 4.5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication import files
from replication.events import Truncated
from replication.identity import id_text
from tests.replication import kafka_files as kafka
from tests.replication.scripted import Story, batch, topic_id

DAY = 86_400_000
T0 = 1_700_000_000_000

topics = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)
numbers = st.integers(0, 2**63 - 1)


# -- texts --------------------------------------------------------------------------------------------------------------


def test_small_files_as_text() -> None:
    """5.51 Each small file, written out."""
    identifier = bytes(range(16))
    assert files.offsets_text({("t", 0): 5, ("a-b", 12): 0}) == b"0\n2\nt 0 5\na-b 12 0\n"
    assert files.offsets_text({}) == b"0\n0\n"
    assert files.epochs_text(((0, 0), (3, 17))) == b"0\n2\n0 0\n3 17\n"
    assert files.meta_properties_text("c", 3, identifier) == (
        b"version=1\ncluster.id=c\nnode.id=3\ndirectory.id=AAECAwQFBgcICQoLDA0ODw\n"
    )
    assert files.partition_metadata_text(identifier) == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert files.clean_shutdown_text(41) == b'{"version":0,"brokerEpoch":41}'
    assert files.partition_directory("a-b", 12) == "a-b-12"


@given(st.dictionaries(st.tuples(topics, st.integers(0, 2**31 - 1)), numbers, max_size=5))
def test_offset_checkpoints_are_read_as_written(offsets: dict[tuple[str, int], int]) -> None:
    """5.51 Any topics, partitions and offsets: by the broker again, and by the tests' own reader."""
    text = files.offsets_text(offsets)
    assert files.read_offsets(text) == offsets
    assert kafka.offset_checkpoint(text) == offsets


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=5), numbers)
def test_epoch_checkpoints_are_read_as_written(steps: list[tuple[int, int]], start: int) -> None:
    """5.51 Any strictly increasing cache."""
    epochs, last = [], (-1, start)
    for epoch, offset in steps:
        last = last[0] + epoch, last[1] + offset
        epochs.append(last)
    text = files.epochs_text(tuple(epochs))
    assert files.read_epochs(text) == tuple(epochs)
    assert kafka.epoch_checkpoint(text) == epochs


@given(st.binary(min_size=16, max_size=16), st.integers(0, 2**31 - 1), numbers)
def test_ids_and_markers_are_read_as_written(identifier: bytes, node: int, epoch: int) -> None:
    """5.51 Any id, node and broker epoch."""
    meta = files.meta_properties_text("c", node, identifier)
    assert kafka.properties(meta) == {
        "version": "1",
        "cluster.id": "c",
        "node.id": str(node),
        "directory.id": id_text(identifier),
    }
    assert kafka.uuid((files.read_meta_properties(meta) or {})["directory.id"]) == identifier
    assert kafka.partition_metadata(files.partition_metadata_text(identifier)) == identifier
    assert files.read_partition_metadata(files.partition_metadata_text(identifier)) == identifier
    assert kafka.clean_shutdown(files.clean_shutdown_text(epoch)) == epoch
    assert files.read_clean_shutdown(files.clean_shutdown_text(epoch)) == epoch


@given(topics, st.integers(0, 2**31 - 1))
def test_a_directory_tells_its_partition(topic: str, partition: int) -> None:
    """5.51 A topic's own name may have dashes and digits: the last dash counts."""
    assert files.partition_of_directory(files.partition_directory(topic, partition)) == (topic, partition)


@pytest.mark.parametrize("name", ["", "t", "t-", "-0", "t-x", "t-1.5", "t--"])
def test_other_directories_are_not_partitions(name: str) -> None:
    """5.51"""
    assert files.partition_of_directory(name) is None


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"0", b"0\n", b"x\n0\n", b"1\n0\n", b"0\n1\n", b"0\nx\n", b"\xff\xff"),
        *(b"0\n0\nt 0 1\n", b"0\n2\nt 0 1\n", b"0\n1\nt 0\n", b"0\n1\nt 0 1 2\n", b"0\n1\nt  0 1\n"),
        *(b"0\n1\nt x 1\n", b"0\n1\nt 0 x\n", b"0\n1\n\xff 0 1\n"),
    ],
)
def test_a_damaged_checkpoint_is_none(text: bytes) -> None:
    """5.6 Another version, another count, other fields, no text at all: None, never a guess and never an error."""
    assert files.read_offsets(text) is None
    assert files.read_epochs(text.replace(b"t ", b"", 1)) is None


@pytest.mark.parametrize(
    "text", [b"0\n2\n3 5\n3 7\n", b"0\n2\n3 5\n4 5\n", b"0\n2\n4 5\n3 7\n", b"0\n2\n3 7\n4 5\n", b"0\n1\nx 5\n"]
)
def test_a_cache_that_does_not_increase_is_none(text: bytes) -> None:
    """5.2 Both columns, strictly."""
    assert files.read_epochs(text) is None


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"{}", b"[]", b"null", b"41", b'"41"', b"\xff", b'{"version":0,"brokerEpoch":41'),
        *(b'{"version":0}', b'{"brokerEpoch":41}', b'{"version":1,"brokerEpoch":41}'),
        *(b'{"version":0,"brokerEpoch":null}', b'{"version":0,"brokerEpoch":"x"}', b'{"version":0,"brokerEpoch":[]}'),
    ],
)
def test_a_damaged_marker_is_none(text: bytes) -> None:
    """4.4 What cannot be read does not vouch for anything."""
    assert files.read_clean_shutdown(text) is None


@pytest.mark.parametrize(
    "topic", [b"", b"AAECAwQFBgcICQoLDA0ODwAA", b"AAECAwQFBgcICQoLDA0OD", b"AAECAwQFBgcICQoLDA0O", b"AAEC", b"\xff"]
)
def test_a_damaged_topic_id_is_none(topic: bytes) -> None:
    """4.15, 5.51 An id has sixteen bytes, 22 characters: what is shorter or longer names no topic."""
    assert files.read_partition_metadata(b"version: 0\ntopic_id: " + topic + b"\n") is None
    assert files.read_meta_properties(b"version=1\ndirectory.id=" + topic + b"\n") is None


@pytest.mark.parametrize(
    "text", [b"", b"version: 0\n", b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n", b"version: 0\nid: AAECAwQFBgcICQoLDA0ODw\n"]
)
def test_a_damaged_partition_metadata_is_none(text: bytes) -> None:
    """4.15 Another version, or no topic id."""
    assert files.read_partition_metadata(text) is None


# -- after a history ----------------------------------------------------------------------------------------------------


def told_history() -> Story:
    """Two brokers, three leader epochs, several segments, one truncation, one clean stop.

    Epoch 0, broker 1: offsets 0 to 11. Epoch 1, broker 2: 12 to 17, and while it is alone 18 to 27. Epoch 2, broker 1: 18 to 23;
    broker 2 cuts its own 18 to 27, and two segments with them.
    """
    story = Story((1, 2))
    story.controller.create("t", [1, 2], segment_bytes="200", index_interval_bytes="0")
    story.controller.create("quiet", [2, 1], partitions=2)
    story.controller.publish()
    time = iter(range(T0, T0 + DAY, 10))

    def produce(leader: int, count: int, acks: int = -1) -> None:
        for _ in range(count):
            (answer,) = story.produce_bytes(leader, batch("key", "value", timestamp=next(time)), acks=acks)
            assert answer.error_code == 0
            story.world.advance(600)

    produce(1, 6, acks=1)
    story.controller.fail_over(2, [1, 2])
    story.controller.publish()
    produce(2, 3, acks=1)
    story.world.cut |= {(1, 2), (2, 1)}
    produce(2, 5, acks=1)
    story.controller.fail_over(1, [1])
    story.controller.publish(1)
    produce(1, 3, acks=1)
    story.world.cut.clear()
    story.controller.publish()
    story.world.advance(2_000)
    assert [(event.was, event.now) for event in story.world.told(Truncated)] == [(28, 18)]
    assert (story.log(1).leo, story.log(2).leo, story.log(2).hw) == (24, 24, 24)
    return story


@pytest.fixture(scope="module")
def disks() -> dict[int, dict[str, bytes]]:
    """Both brokers' files after that history and a clean stop."""
    story = told_history()
    for node in story.nodes.values():
        node.stop()
    return {number: {path: bytes(data) for path, data in node.disks[0].files.items()} for number, node in story.nodes.items()}


both = pytest.mark.parametrize("broker", [1, 2])


def bases_of(disk: dict[str, bytes]) -> list[int]:
    return kafka.segment_bases(disk)


@both
def test_a_directory_holds_these_files_and_no_others(disks: dict[int, dict[str, bytes]], broker: int) -> None:
    """5.51 Three files per segment, named by twenty digits; two small ones per partition; five per directory; no leftovers of the
    truncation."""
    disk = disks[broker]
    bases = bases_of(disk)
    assert bases == [0, 4, 8, 12, 16, 20]
    small = ["leader-epoch-checkpoint", "partition.metadata"]
    names = {f"{base:020d}{ending}" for base in bases for ending in (".log", ".index", ".timeindex")}
    empty = {f"{0:020d}{ending}" for ending in (".log", ".index", ".timeindex")}
    assert set(disk) == {
        ".kafka_cleanshutdown",
        "log-start-offset-checkpoint",
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        *(f"t-0/{name}" for name in [*names, *small]),
        *(f"quiet-{index}/{name}" for index in (0, 1) for name in [*empty, *small]),
    }


@both
def test_segments_follow_one_another_without_gaps(disks: dict[int, dict[str, bytes]], broker: int) -> None:
    """5.1, 5.49 Every byte belongs to a whole batch; a file starts with the offset of its name; none exceeds segment.bytes."""
    disk, end = disks[broker], 0
    for base in bases_of(disk):
        assert base == end
        assert len(disk[f"t-0/{base:020d}.log"]) <= 200
        for found in kafka.batches(disk[f"t-0/{base:020d}.log"]):
            assert found.base_offset == end
            end = found.end
            assert [(r.offset, r.value) for r in kafka.records(found)] == [(end - 2, b"key"), (end - 1, b"value")]
    assert end == 24


def test_both_replicas_hold_the_same_bytes(disks: dict[int, dict[str, bytes]]) -> None:
    """5.1 A follower stores batches as received: offset, leader epoch and all; and epochs never fall."""
    one, two = (b"".join(disks[broker][f"t-0/{base:020d}.log"] for base in bases_of(disks[broker])) for broker in (1, 2))
    assert one == two
    assert [b.leader_epoch for b in kafka.batches(one)] == [0] * 6 + [1] * 3 + [2] * 3


@both
def test_index_entries_point_at_batches(disks: dict[int, dict[str, bytes]], broker: int) -> None:
    """5.51 With an interval of 0 every batch but a segment's first has an entry: its last offset, relative, and its position."""
    disk = disks[broker]
    for base in bases_of(disk):
        found = kafka.batches(disk[f"t-0/{base:020d}.log"])
        expected = [(each.last_offset - base, each.position) for each in found[1:]]
        assert kafka.index_entries(disk[f"t-0/{base:020d}.index"]) == expected


@both
def test_time_index_entries_name_batches_and_end_with_the_latest(disks: dict[int, dict[str, bytes]], broker: int) -> None:
    """5.51 Times grow here with every batch: an entry for each that is indexed; the last entry is the segment's largest time,
    after a roll and after the clean stop."""
    disk = disks[broker]
    for base in bases_of(disk):
        found = kafka.batches(disk[f"t-0/{base:020d}.log"])
        expected = [(each.max_timestamp, each.last_offset - base) for each in (found[1:] or found)]
        assert kafka.time_index_entries(disk[f"t-0/{base:020d}.timeindex"]) == expected


@both
def test_checkpoints_to_the_letter(disks: dict[int, dict[str, bytes]], broker: int) -> None:
    """5.51 A version, a count, a line per entry: epochs with their first offsets; HW and recovery point of every log; log starts
    only where a file's name does not tell them."""
    disk = disks[broker]
    assert disk["t-0/leader-epoch-checkpoint"] == b"0\n3\n0 0\n1 12\n2 18\n"
    expected = {("t", 0): 24, ("quiet", 0): 0, ("quiet", 1): 0}
    assert kafka.offset_checkpoint(disk["replication-offset-checkpoint"]) == expected
    assert kafka.offset_checkpoint(disk["recovery-point-offset-checkpoint"]) == expected
    assert disk["log-start-offset-checkpoint"] == b"0\n0\n"


def test_identities_to_the_letter(disks: dict[int, dict[str, bytes]]) -> None:
    """5.51 Whose partition, whose directory, and the broker epoch of this run; every directory has an id of its own."""
    found = set()
    for broker, disk in disks.items():
        assert kafka.partition_metadata(disk["t-0/partition.metadata"]) == topic_id("t")
        assert kafka.partition_metadata(disk["quiet-1/partition.metadata"]) == topic_id("quiet")
        meta = kafka.properties(disk["meta.properties"])
        assert set(meta) == {"version", "cluster.id", "node.id", "directory.id"}
        assert (meta["version"], meta["cluster.id"], meta["node.id"]) == ("1", "tidemark-test", str(broker))
        found.add(kafka.uuid(meta["directory.id"]))
        assert kafka.clean_shutdown(disk[".kafka_cleanshutdown"]) == 10 + broker  # the scripted controller counts from 11
    assert len(found) == 2


def test_a_log_that_starts_inside_a_segment_says_so() -> None:
    """5.49, 5.51 The log start is checkpointed where no file's name tells it, by its timer and at a clean stop."""
    story = told_history()
    story.log(1).advance_start(3)
    story.world.advance(60_000)
    assert bytes(story.nodes[1].disks[0].durable["log-start-offset-checkpoint"]) == b"0\n1\nt 0 3\n"
    assert bytes(story.nodes[1].disks[0].durable["t-0/leader-epoch-checkpoint"]) == b"0\n3\n0 3\n1 12\n2 18\n"
    story.log(1).advance_start(5)
    story.nodes[1].stop()
    assert bytes(story.nodes[1].disks[0].durable["log-start-offset-checkpoint"]) == b"0\n1\nt 0 5\n"
    story.nodes[1].start()
    story.controller.register(story.nodes[1])
    story.controller.publish()
    assert (story.log(1).log_start, story.log(1).leo) == (5, 24)


@both
def test_a_clean_stop_survives_a_power_cut(broker: int) -> None:
    """4.5 Everything that the marker vouches for is durable before the marker is."""
    story = told_history()
    node = story.nodes[broker]
    before = [log_file for path, log_file in sorted(node.disks[0].files.items()) if path.endswith(".log")]
    node.stop()
    node.disks[0].lose_unsynced()
    assert [log_file for path, log_file in sorted(node.disks[0].files.items()) if path.endswith(".log")] == before
    node.start()
    assert node.previous_epoch == 10 + broker
    assert node.broker.replicas.logs[topic_id("t"), 0].leo == 24


def test_timers_write_the_checkpoints() -> None:
    """5.6, 5.41 HW every 5 s, the recovery point every 60 s: the durable end, which here is what the rolls have synced."""
    story = told_history()
    disk = story.nodes[1].disks[0]
    story.world.advance(5_000)
    assert kafka.offset_checkpoint(disk.durable["replication-offset-checkpoint"])["t", 0] == 24
    story.world.advance(60_000)
    assert kafka.offset_checkpoint(disk.durable["recovery-point-offset-checkpoint"])["t", 0] == 20
    story.produce(1, "rolls")
    story.world.advance(60_000)
    assert kafka.offset_checkpoint(disk.durable["recovery-point-offset-checkpoint"])["t", 0] == 24


# -- the marker of a clean stop (4.4, 4.5) ------------------------------------------------------------------------------

MARKER = ".kafka_cleanshutdown"


def restarted(story: Story, node_id: int = 1) -> int | None:
    """Start a broker that is down. Returns the broker epoch that its last stop left."""
    story.nodes[node_id].start()
    story.controller.register(story.nodes[node_id])
    story.controller.publish()
    return story.nodes[node_id].previous_epoch


@pytest.mark.parametrize("count", [1, 2])
def test_a_marker_is_read_once_and_gone(count: int) -> None:
    """4.4, 4.5 After a clean stop the next start knows the broker epoch of that run; the marker is gone then, durably, so a crash
    afterwards is unclean."""
    story = Story((1,), disks=count)
    story.controller.create("t", [1])
    story.controller.publish()
    assert story.nodes[1].previous_epoch == -1  # there was no stop before the first start
    story.nodes[1].stop()
    disks = story.nodes[1].disks
    assert [bytes(disk.durable[MARKER]) for disk in disks] == [b'{"version":0,"brokerEpoch":11}'] * count
    assert restarted(story) == 11
    assert not any(MARKER in disk.files or MARKER in disk.durable for disk in disks)
    story.nodes[1].crash()
    assert restarted(story) == -1
    story.nodes[1].stop()
    assert restarted(story) == 13  # of the run that stopped, not of the first


def test_an_unclean_stop_leaves_no_marker() -> None:
    """4.4 -1 after a crash, lossy or not."""
    for lossy in (False, True):
        story = Story((1,))
        story.controller.create("t", [1])
        story.controller.publish()
        story.nodes[1].crash(lossy)
        assert MARKER not in story.nodes[1].disks[0].files
        assert restarted(story) == -1


@pytest.mark.parametrize("hurt", ["missing", "another epoch", "damaged"])
def test_one_directory_without_its_marker_makes_the_stop_unclean(hurt: str) -> None:
    """4.4 All present, all equal, else -1; and whatever was there is gone after the start."""
    story = Story((1,), disks=2)
    story.nodes[1].stop()
    first, second = story.nodes[1].disks
    if hurt == "missing":
        del second.files[MARKER], second.durable[MARKER]
    else:
        content = b'{"version":0,"brokerEpoch":12}' if hurt == "another epoch" else b"{"
        second.files[MARKER], second.durable[MARKER] = bytearray(content), content
    assert restarted(story) == -1
    assert not any(MARKER in disk.files or MARKER in disk.durable for disk in (first, second))


def test_a_broker_that_never_registered_leaves_an_unclean_marker() -> None:
    """4.5 Its marker holds -1, which reads as unclean."""
    story = Story((1,))
    node = story.nodes[1]
    node.crash()
    node.start()
    node.stop()
    assert kafka.clean_shutdown(bytes(node.disks[0].files[MARKER])) == -1
    assert restarted(story) == -1


def test_the_marker_comes_last() -> None:
    """4.5 While one flush is not durable there is no marker; nor while a checkpoint is not."""
    story = Story((1,))
    story.controller.create("t", [1])
    story.controller.publish()
    story.produce(1, "x")
    disk, closed = story.nodes[1].disks[0], []
    disk.held = []
    story.nodes[1].broker.close(lambda: closed.append(True))
    seen = []
    while disk.held:
        assert MARKER not in disk.durable
        seen.append(len(disk.held))
        held, disk.held = disk.held, []
        for call in held:
            call()
        story.world.run()
    assert closed == [True]
    assert len(seen) == 5  # the flush, three checkpoints, the marker: each durable before the next begins
    assert kafka.batches(disk.durable[f"t-0/{0:020d}.log"])
    assert MARKER in disk.durable


def test_a_directory_keeps_its_id() -> None:
    """10.5 Given once, read at every start; two directories of one broker have two."""
    story = Story((1,), disks=2)
    ids = [directory.id for directory in story.nodes[1].broker.replicas.directories]
    assert len(set(ids)) == 2
    story.restart(1, lossy=True)
    assert [directory.id for directory in story.nodes[1].broker.replicas.directories] == ids
    assert [kafka.uuid(kafka.properties(d.durable["meta.properties"])["directory.id"]) for d in story.nodes[1].disks] == ids
