"""Lost records, counted by reading segments before and after."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusters.sim.damage import batches_of, losses, rotten, unharmed
from clusters.sim.disk import Content
from model.cluster import Damage
from replication.batch import Record, encode, stamped
from replication.files import PARTITION_METADATA, partition_metadata_text

TOPIC_ID = b"t" * 16
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def segment(sizes: list[int], base: int = 0, leader_epoch: int = 0, value: bytes = b"x") -> list[bytes]:
    """A batch for every size, one after the other."""
    bases = accumulate(sizes, initial=base)
    return [stamped(encode([Record(value)] * size), first, leader_epoch) for first, size in zip(bases, sizes, strict=False)]


def directory(*logs: bytes, partition: str = "t-0", first: int = 0) -> Content:
    """A partition's files: its metadata, and its segments in order."""
    named = {f"{partition}/{first + number:020}.log": data for number, data in enumerate(logs)}
    return {f"{partition}/{PARTITION_METADATA}": partition_metadata_text(TOPIC_ID), **named}


@given(SIZES, st.data())
def test_a_log_cut_anywhere_has_lost_the_batches_that_are_not_whole(sizes: list[int], data: st.DataObject) -> None:
    """Counted in records, from the first offset that is gone; cut at its end, it has lost nothing."""
    whole = b"".join(segment(sizes))
    left = data.draw(st.integers(0, len(whole)))
    found = losses(1, batches_of(directory(whole)), batches_of(directory(whole[:left])), "torn")
    ends = list(accumulate(len(batch) for batch in segment(sizes)))
    kept = sum(end <= left for end in ends)
    lost = sum(sizes[kept:])
    assert found == ((Damage(1, "t", 0, "torn", dropped_from=sum(sizes[:kept]), dropped=lost),) if lost else ())


@given(SIZES, st.integers(0, 100), st.data())
def test_a_flipped_bit_costs_its_batch_and_all_behind_it(sizes: list[int], base: int, data: st.DataObject) -> None:
    """A reader stops at the first batch that it cannot trust. Where no CRC looks, the loss is there but cannot be counted."""
    logs = segment(sizes, base)
    hit = data.draw(st.integers(0, len(logs) - 1))
    position = data.draw(st.integers(0, len(logs[hit]) - 1))
    damaged = bytearray(logs[hit])
    damaged[position] ^= 1 << data.draw(st.integers(0, 7))
    before, content = directory(b"".join(logs)), directory(b"".join([*logs[:hit], bytes(damaged), *logs[hit + 1 :]]))
    (found,) = rotten(1, batches_of(before), content, f"t-0/{0:020}.log")
    first, records = base + sum(sizes[:hit]), sum(sizes[hit:])
    covered = position >= 21
    assert (found.dropped_from, found.dropped) == (first, records) or not covered
    assert found.dropped_from in (None, first)


@given(SIZES, SIZES)
def test_segments_of_one_partition_are_one_log(one: list[int], other: list[int]) -> None:
    """In the order of their names, which is that of their offsets."""
    both = directory(b"".join(segment(one)), b"".join(segment(other, sum(one))))
    held = batches_of(dict(reversed(both.items())))
    assert [batch[:2] for batch in held["t", 0]] == [
        (end - size, end) for end, size in zip(accumulate(one + other), one + other, strict=True)
    ]
    first = {path: data for path, data in both.items() if not path.endswith("1.log")}
    (found,) = losses(1, held, batches_of(first), "lossy")
    assert (found.dropped_from, found.dropped) == (sum(one), sum(other))


def test_other_records_at_the_same_offsets_are_a_loss() -> None:
    """A cut that a power cut undid brings old records back: those that had taken their place are gone."""
    old, new = b"".join(segment([2, 2])), b"".join([*segment([2]), *segment([2], base=2, leader_epoch=1)])
    (found,) = losses(1, batches_of(directory(new)), batches_of(directory(old)), "lossy")
    assert (found.dropped_from, found.dropped) == (2, 2)


def test_each_partition_is_counted_for_itself() -> None:
    """What one lost is no loss of the other; one that is gone altogether lost everything."""
    before = {**directory(b"".join(segment([3]))), **directory(b"".join(segment([4])), partition="a-b-7")}
    after = directory(b"".join(segment([3])))
    assert losses(2, batches_of(before), batches_of(after), "wipe") == (Damage(2, "a-b", 7, "wipe", dropped_from=0, dropped=4),)


@pytest.mark.parametrize("metadata", [None, b"", b"version: 0\n"])
def test_a_log_whose_topic_nobody_knows_counts_as_gone(metadata: bytes | None) -> None:
    """It is deleted at the next start."""
    content = directory(b"".join(segment([3])))
    content.pop(f"t-0/{PARTITION_METADATA}")
    if metadata is not None:
        content[f"t-0/{PARTITION_METADATA}"] = metadata
    assert batches_of(content) == {}


def test_an_unclean_end_without_loss_is_told_for_every_partition() -> None:
    """It counts in D, not in l."""
    held = batches_of({**directory(b"".join(segment([3]))), **directory(b"", partition="u-1")})
    assert set(unharmed(1, held)) == {Damage(1, "t", 0, "restart", dropped=0), Damage(1, "u", 1, "restart", dropped=0)}
