"""Laws of one log, under any history: recovery, producers, epochs, reads, durability.

The judge is `Model`: a list of batches and four numbers. What it expects after a stop it reads off the disk by the tests' own
reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from replication.batch import Record, encode
from replication.env import Done
from replication.settings import UNLIMITED
from replication.state import ProducerEntry
from tests.replication import kafka_files as kafka
from tests.replication.lone_log import EPOCHS, HW, LOG_START, RECOVERY, START, T0, LoneLog, size_of
from tests.replication.memory import MemoryDisk, World

Producers = dict[int, tuple[int, tuple[tuple[int, int, int, int], ...]]]


# -- the judge ----------------------------------------------------------------------------------------------------------


@dataclass
class Model:
    """What a log must hold."""

    log_start: int = START
    hw: int = START
    base: int = START  # where it would start if it were empty
    batches: list[kafka.Batch] = field(default_factory=list)
    office: tuple[int, int] | None = None
    """An epoch without a record of its own yet, and where it starts: the end of the log."""

    @property
    def leo(self) -> int:
        return self.batches[-1].end if self.batches else self.base

    @property
    def latest_epoch(self) -> int:
        if self.office:
            return self.office[0]
        return self.batches[-1].leader_epoch if self.batches and self.leo > self.log_start else -1

    @property
    def content(self) -> tuple[int, int, list[bytes]]:
        return self.log_start, self.hw, [batch.data for batch in self.batches]

    def append(self, data: bytes) -> None:
        self.batches.append(kafka.batch_at(data))
        self.office = None

    def assign(self, epoch: int) -> None:
        if epoch != self.latest_epoch:
            self.office = epoch, self.leo

    def truncate(self, cut: int) -> None:
        """5.4 An epoch without a record of its own goes, also one whose only batch was cut through."""
        self.batches = [batch for batch in self.batches if batch.end <= cut]
        self.office = None
        self.log_start, self.hw = min(self.log_start, self.leo), min(self.hw, self.leo)

    def advance(self, offset: int) -> None:
        if self.log_start < min(offset, self.hw) == self.leo and self.office is None:
            self.office = self.latest_epoch, self.leo  # 5.49: the covering epoch is kept, though nothing of it is left
        self.log_start = max(self.log_start, min(offset, self.hw))

    def adopt(self, disk: kafka.Files) -> None:
        """5.5, 5.6 What a load must make of these files, whatever went before."""
        name = "t", 0
        start, hw, recovery = (
            kafka.offset_checkpoint(bytes(disk[path])).get(name) if path in disk else None for path in (LOG_START, HW, RECOVERY)
        )
        bases = kafka.segment_bases(disk)
        self.base = bases[0] if bases else start or 0
        self.batches = kafka.flat(kafka.surviving(disk, trusted_below=recovery or 0))
        self.office = None
        if (start or 0) > self.leo:
            self.base, self.batches = start or 0, []
        self.log_start = max(self.base, start or 0)
        self.hw = self.log_start if hw is None else max(self.log_start, min(hw, self.leo))


def naive_producers(batches: Iterable[kafka.Batch], log_start: int) -> Producers:
    """6.8, 6.11 A fresh replay: per producer its epoch, and its last five batches of that epoch."""
    found: Producers = {}
    for batch in batches:
        if batch.producer_id < 0 or batch.end <= log_start:
            continue
        last = (batch.base_sequence + batch.count - 1) % 2**31
        line = batch.base_sequence, last, batch.base_offset, batch.last_offset
        epoch, lines = found.get(batch.producer_id, (batch.producer_epoch, ()))
        kept = lines if epoch == batch.producer_epoch else ()
        found[batch.producer_id] = batch.producer_epoch, (*kept, line)[-5:]
    return found


def as_plain(producers: dict[int, ProducerEntry]) -> Producers:
    return {
        pid: (
            entry.producer_epoch,
            tuple((b.first_sequence, b.last_sequence, b.first_offset, b.last_offset) for b in entry.batches),
        )
        for pid, entry in producers.items()
    }


def naive_epochs(model: Model) -> list[tuple[int, int]]:
    """5.2, 5.49 Each epoch with the first offset that it has in this log; the one without records last."""
    found: dict[int, int] = {}
    for batch in model.batches:
        if batch.end > model.log_start:
            found.setdefault(batch.leader_epoch, max(batch.base_offset, model.log_start))
    if model.office:
        found.setdefault(*model.office)
    return list(found.items())


def naive_end_offset(model: Model, epoch: int) -> tuple[int, int] | None:
    """5.3 Record by record, without a cache."""
    owner = {offset: batch.leader_epoch for batch in model.batches for offset in range(batch.base_offset, batch.end)}
    owners = [(offset, owner[offset]) for offset in range(model.log_start, model.leo)]
    if model.office:
        owners.append((model.leo, model.office[0]))
    known = {each for _, each in owners}
    if not known or epoch > max(known):
        return None
    if epoch == max(known):
        return epoch, model.leo
    end = min(offset for offset, each in owners if each > epoch)
    return max((each for each in known if each <= epoch), default=epoch), end


def assert_is(lone: LoneLog, model: Model) -> None:
    """The whole log: bounds, bytes, producers."""
    log = lone.log
    assert (log.log_start, log.hw, log.leo) == (model.log_start, model.hw, model.leo)
    assert [batch.data for batch in lone.on_disk()] == [batch.data for batch in model.batches]
    assert as_plain(log.producers) == naive_producers(model.batches, model.log_start)
    assert as_plain(log.replayed_producers()) == as_plain(log.producers)


def assert_epochs(lone: LoneLog, model: Model) -> None:
    log = lone.log
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(log.epochs)), log.epochs
    assert list(log.epochs) == naive_epochs(model)
    for epoch in range(-1, log.latest_epoch + 3):
        told = log.end_offset_for(epoch)
        assert (None if told is None else (told.epoch, told.end_offset)) == naive_end_offset(model, epoch), epoch


# -- batches to append --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Appended:
    """One batch, before anybody knows where it will lie."""

    sizes: tuple[int, ...]
    epoch_step: int = 0
    producer: int | None = None
    new_producer_epoch: bool = False
    time: int = 0


appends = st.builds(
    Appended,
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=3).map(tuple),
    epoch_step=st.sampled_from([0, 0, 0, 1, 2]),
    producer=st.sampled_from([None, 1, 2]),
    new_producer_epoch=st.sampled_from([False, False, False, True]),
    time=st.integers(-50, 50),
)


class Producing:
    """Producers that count their sequences, on the way to the wrap at 2^31."""

    def __init__(self) -> None:
        self.state: dict[int, tuple[int, int]] = {}

    def encode(self, what: Appended) -> bytes:
        records = [Record(bytes(size), timestamp=T0 + what.time) for size in what.sizes]
        if what.producer is None:
            return encode(records)
        epoch, sequence = self.state.get(what.producer, (0, 2**31 - 3))
        if what.new_producer_epoch:
            epoch, sequence = epoch + 1, 0
        self.state[what.producer] = epoch, (sequence + len(records)) % 2**31
        return encode(records, producer_id=what.producer, producer_epoch=epoch, base_sequence=sequence)


# -- recovery (5.5, 5.42, 5.45) -----------------------------------------------------------------------------------------


def written(batches: list[Appended], durable: int, segment_bytes: int) -> LoneLog:
    """A log of these batches in small segments, whose first `durable` batches are below the recovery point; then a crash."""
    lone, producing, epoch = LoneLog(segment_bytes=segment_bytes, index_interval_bytes=50), Producing(), 0
    for number, what in enumerate(batches):
        if number == durable:
            lone.log.sync()
            lone.checkpoint()
        epoch += what.epoch_step
        lone.append_bytes(producing.encode(what), epoch)
    lone.crash()
    return lone


def tail(lone: LoneLog) -> list[tuple[str, int]]:
    """Every (path, position) of the log's bytes at or after the recovery point."""
    point = kafka.offset_checkpoint(lone.disk.durable[RECOVERY])["t", 0] if RECOVERY in lone.disk.durable else START
    return [
        (path, batch.position + at)
        for base in lone.bases()
        for path in [f"t-0/{base:020d}.log"]
        for batch in kafka.batches(lone.file(path))
        if batch.base_offset >= point
        for at in range(batch.size)
    ]


def assert_recovers(lone: LoneLog) -> list[kafka.Batch]:
    """Load the damaged log: it keeps the valid prefix and nothing else, on the disk too, and a second load changes nothing."""
    before = {path: bytes(content) for path, content in lone.disk.files.items()}
    model = Model()
    model.adopt(before)
    lone.open()
    assert_is(lone, model)
    assert_epochs(lone, model)
    size = sum(len(content) for path, content in before.items() if path.endswith(".log"))
    assert lone.dropped == size - sum(batch.size for batch in model.batches)
    kept = {base for base in lone.bases() if base <= model.leo}
    assert {path for path in lone.disk.files if path[-4:] in (".log", "ndex")} == {
        f"t-0/{base:020d}.{ending}" for base in kept for ending in ("log", "index", "timeindex")
    }
    after = {path: bytes(content) for path, content in lone.disk.files.items()}
    lone.crash()
    lone.open()
    assert (lone.dropped, {path: bytes(content) for path, content in lone.disk.files.items()}) == (0, after)
    assert_is(lone, model)
    return model.batches


histories = st.lists(appends, min_size=2, max_size=8)


@given(histories, st.integers(0, 7), st.sampled_from([100, 250, 100_000]), st.booleans(), st.data())
def test_a_tail_cut_anywhere_leaves_the_valid_prefix(
    batches: list[Appended], durable: int, segment_bytes: int, later_segments_stay: bool, data: st.DataObject
) -> None:
    """5.5 Cut at any byte at or after the recovery point, with or without the segments behind it: exactly the batches before the
    cut survive, and everything behind the first broken one is gone from the disk."""
    lone = written(batches, min(durable, len(batches) - 1), segment_bytes)
    path, position = data.draw(st.sampled_from(tail(lone)))
    whole = lone.on_disk()
    before = sum(len(content) for name, content in lone.disk.files.items() if name.endswith(".log") and name < path)
    del lone.disk.files[path][position:]
    if not later_segments_stay:
        for later in [name for name in lone.disk.files if name[4:24].isdigit() and name[:24] > path[:24]]:
            del lone.disk.files[later]
    survivors = assert_recovers(lone)
    assert [batch.data for batch in survivors] == [batch.data for batch in whole[: len(survivors)]]
    assert sum(batch.size for batch in survivors) <= before + position < sum(b.size for b in whole[: len(survivors) + 1])


@given(histories, st.integers(0, 7), st.sampled_from([100, 250, 100_000]), st.integers(1, 255), st.data())
def test_a_wrong_byte_anywhere_ends_the_log_before_its_batch(
    batches: list[Appended], durable: int, segment_bytes: int, flip: int, data: st.DataObject
) -> None:
    """5.5, 5.45 Any byte at or after the recovery point, any way wrong: exactly the batches before it survive.

    All but the leader epoch: it lies outside the CRC and, unlike the base offset, nothing else tells what it should be.
    """
    lone = written(batches, min(durable, len(batches) - 1), segment_bytes)
    whole = lone.on_disk()
    path, position = data.draw(st.sampled_from(tail(lone)))
    base = int(path[4:24])
    batch = next(b for b in kafka.batches(lone.file(path)) if b.position <= position < b.position + b.size)
    lone.disk.files[path][position] ^= flip
    if 12 <= position - batch.position < 16:
        lone.open()
        kept = lone.on_disk()
        assert [(b.base_offset, b.data[:12], b.data[16:]) for b in kept] == [
            (b.base_offset, b.data[:12], b.data[16:]) for b in whole
        ]
        assert lone.dropped == 0
    else:
        survivors = assert_recovers(lone)
        assert [b.data for b in survivors] == [b.data for b in whole if b.end <= batch.base_offset], base


@given(histories, st.integers(0, 7))
def test_below_the_recovery_point_nothing_is_checked(batches: list[Appended], durable: int) -> None:
    """5.5 What was durable is trusted: a wrong byte in a record below the recovery point is not looked for, nor after a clean
    stop."""
    lone = written(batches, min(durable, len(batches) - 1), 250)
    first = min(path for path in lone.disk.files if path.endswith(".log"))
    lone.disk.files[first][30] ^= 1
    end = kafka.surviving(lone.disk.files, trusted_below=2**62)[0][0].end
    point = kafka.offset_checkpoint(lone.disk.durable[RECOVERY])["t", 0]
    whole = kafka.flat(kafka.surviving(lone.disk.files, trusted_below=end))[-1].end
    assert lone.open().leo == (whole if point >= end else START)
    again = written(batches, 0, 250)
    again.disk.files[first][30] ^= 1
    assert again.open(clean=True).leo == whole


# -- producers and epochs under any history -----------------------------------------------------------------------------

Step = (
    tuple[Literal["append"], Appended] | tuple[Literal["assign", "truncate", "hw", "advance"], int] | tuple[Literal["end"], str]
)

steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("append"), appends),
    st.tuples(st.just("append"), appends),
    st.tuples(st.sampled_from(["assign", "truncate", "hw", "hw", "advance", "advance"]), st.integers(0, 12)),
    st.tuples(st.just("end"), st.sampled_from(["clean", "unclean", "checkpoint"])),
)


@given(st.lists(steps, max_size=25), st.sampled_from([120, 300, 100_000]))
def test_what_is_derived_from_a_log_is_what_a_fresh_replay_derives(history: list[Step], segment_bytes: int) -> None:
    """5.2 to 5.4, 5.49, 6.11 After any appends in non-decreasing epochs, assigns without records, truncations, advances of the
    start, and restarts: producers are those of a fresh replay, the epoch cache is strictly increasing in both columns and says
    what the batches say."""
    lone, model, producing = LoneLog(segment_bytes=segment_bytes), Model(), Producing()
    epoch = 0
    for step in history:
        if step[0] == "append":
            epoch += step[1].epoch_step
            model.append(lone.append_bytes(producing.encode(step[1]), epoch))
        elif step[0] == "end":
            if step[1] == "checkpoint":
                lone.checkpoint()
            else:
                lone.restart(clean=step[1] == "clean")
                model.adopt(lone.disk.files)
        else:
            epoch = changed(step[0], step[1], lone, model, epoch)
        lone.world.run()
        assert_is(lone, model)
        assert_epochs(lone, model)
        assert kafka.epoch_checkpoint(lone.file(EPOCHS)) == list(lone.log.epochs)


def changed(kind: str, number: int, lone: LoneLog, model: Model, epoch: int) -> int:
    """One change that is not an append. Returns the epoch in force."""
    log = lone.log
    if kind == "assign":
        epoch += number % 3
        log.assign_epoch(epoch, log.leo)
        model.assign(epoch)
    elif kind == "truncate":
        cut = max(model.log_start, model.leo - number)
        log.truncate_to(cut)
        model.truncate(cut)
    elif kind == "hw":
        log.hw = model.hw = min(model.hw + number, model.leo)
    else:
        log.advance_start(model.log_start + number)
        model.advance(model.log_start + number)
    return epoch


# -- a cut on its way to the disk ---------------------------------------------------------------------------------------


class OutOfOrderDisk(MemoryDisk):
    """While writes are held, each file has a line of its own, and the lines are served in any order."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.lines: dict[str, list[Callable[[], None]]] = {}
        self._path = ""

    def sync(self, path: str, then: Done) -> None:
        self._path = path
        super().sync(path, then)

    def replace(self, path: str, data: bytes, then: Done) -> None:
        self._path = path
        super().replace(path, data, then)

    def delete(self, path: str, then: Done) -> None:
        self._path = path
        super().delete(path, then)

    def _later(self, keep: Callable[[], object], then: Done) -> None:
        super()._later(keep, then)
        if self.held:
            self.lines.setdefault(self._path, []).append(self.held.pop())

    def serve(self, path: str) -> None:
        self.lines[path].pop(0)()
        if not self.lines[path]:
            del self.lines[path]


@given(
    st.lists(appends, min_size=3, max_size=8),
    st.lists(appends, min_size=1, max_size=6),
    st.integers(1, 10),
    st.sampled_from([100, 200, 100_000]),
    st.data(),
)
def test_a_cut_that_half_reached_the_disk_never_mixes_old_and_new(
    old: list[Appended], new: list[Appended], back: int, segment_bytes: int, data: st.DataObject
) -> None:
    """5.4, 5.5, 5.41 A log is cut, settles, and other batches of a later epoch take the place of the old. Whatever of that was
    durable when the power went, in whatever order over the files: what is found is a prefix of the log as it was, or as it
    became, never the one continued by the other; and the cache says of every batch what the batch says."""
    lone = LoneLog(disk=OutOfOrderDisk, segment_bytes=segment_bytes)
    disk, producing, epoch = lone.disk, Producing(), 0
    assert isinstance(disk, OutOfOrderDisk)
    for what in old:
        epoch += what.epoch_step
        lone.append_bytes(producing.encode(what), epoch)
    lone.log.sync()
    lone.checkpoint()
    before = [batch.data for batch in lone.on_disk()]
    lone.hold()
    lone.log.truncate_to(max(START, lone.log.leo - back))
    after: list[bytes] = []
    for _ in range(data.draw(st.integers(0, 25))):
        if lone.log.settled and not after:
            for number, what in enumerate(new):
                epoch += what.epoch_step + (number == 0)
                lone.append_bytes(producing.encode(what), epoch)
            lone.log.sync()
            after = [batch.data for batch in lone.on_disk()]
        if disk.lines:
            disk.serve(data.draw(st.sampled_from(sorted(disk.lines))))
    log = lone.restart(lossy=True)
    found = [batch.data for batch in lone.on_disk()]
    assert found in (before[: len(found)], after[: len(found)])
    assert [log.epoch_of(batch.base_offset) for batch in lone.on_disk()] == [batch.leader_epoch for batch in lone.on_disk()]


@pytest.mark.parametrize("last", [START, START + 2, START + 4])
def test_a_log_has_settled_when_the_whole_cut_is_durable(last: int) -> None:
    """5.4, 5.41 A shortened file and two deleted ones, in any order: until the last of them is durable the log is not settled, so
    nothing is written over the cut; a segment that came back could follow the new batches by chance."""
    lone = LoneLog(disk=OutOfOrderDisk, segment_bytes=2 * size_of("x"))
    for _ in range(6):
        lone.append("x")
    lone.log.sync()
    lone.world.run()
    disk, path = lone.disk, f"t-0/{last:020d}.log"
    assert isinstance(disk, OutOfOrderDisk)
    lone.hold()
    lone.log.truncate_to(START + 1)
    while others := [each for each in disk.lines if each != path]:
        disk.serve(others[0])
    settled_before = lone.log.settled
    while disk.lines:
        disk.serve(path)
    assert (settled_before, lone.log.settled) == (False, True)
    assert lone.restart(lossy=True).leo == START + 1


# -- one log, anything at any time --------------------------------------------------------------------------------------


class OneLog(RuleBasedStateMachine):
    """A log on a disk that can hold its syncs back and forget; `model` is what the log must hold meanwhile."""

    lone: LoneLog
    model: Model

    @initialize(
        flush=st.sampled_from([1, 2, 3, 5, UNLIMITED]),
        segment_bytes=st.sampled_from([150, 400, 100_000]),
        start=st.sampled_from([0, START]),
    )
    def begin(self, flush: int, segment_bytes: int, start: int) -> None:
        self.flush = flush
        self.lone = LoneLog(start=start, flush_messages=flush, segment_bytes=segment_bytes, index_interval_bytes=0)
        self.model = Model(start, start, start)
        self.producing, self.epoch = Producing(), 0
        self.loaded_end = start
        """What an unclean load found counts as it is, synced or not."""
        self.cut_open = False
        """A cut that is not durable yet: nothing is appended over it before the log has settled."""

    # -- what happens ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: not self.cut_open)
    @rule(what=appends)
    def append(self, what: Appended) -> None:
        self.epoch += what.epoch_step
        log = self.lone.log
        self.model.append(self.lone.append_bytes(self.producing.encode(what), self.epoch))
        if self.lone.disk.held is None:
            assert log.leo - log.durable_end < self.flush, "an interval was reached and nothing was synced"

    @precondition(lambda self: self.lone.log.segments[-1].size and not self.cut_open)
    @rule()
    def roll(self) -> None:
        """A segment that is too old: the next append's time says so."""
        lone = self.lone
        lone.log.settings = msgspec.structs.replace(lone.settings, segment_ms=-1_000_000)
        self.append(Appended((1,)))
        lone.log.settings = lone.settings

    @rule(back=st.integers(0, 8))
    def truncate(self, back: int) -> None:
        cut = max(self.model.log_start, self.model.leo - back)
        self.lone.log.truncate_to(cut)
        self.model.truncate(cut)
        self.cut_open = True
        self.loaded_end = min(self.loaded_end, self.model.leo)
        self.lone.world.run()

    @rule(by=st.integers(0, 6))
    def advance_hw(self, by: int) -> None:
        self.lone.log.hw = self.model.hw = min(self.model.hw + by, self.model.leo)

    @rule(by=st.integers(0, 6))
    def advance_start(self, by: int) -> None:
        self.lone.log.advance_start(self.model.log_start + by)
        self.model.advance(self.model.log_start + by)

    @rule()
    def sync(self) -> None:
        end, log = self.model.leo, self.lone.log
        log.sync()
        self.lone.world.run()
        assert self.lone.disk.held is not None or log.durable_end == end

    @rule()
    def checkpoint(self) -> None:
        self.lone.checkpoint()

    # -- a slow disk ----------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.lone.disk.held is None)
    @rule()
    def hold(self) -> None:
        self.lone.hold()

    @precondition(lambda self: self.lone.disk.held)
    @rule(count=st.integers(1, 3))
    def release_some(self, count: int) -> None:
        """The oldest few become durable, the rest waits on."""
        held = self.lone.disk.held or []
        self.lone.disk.held = held[count:]
        for call in held[:count]:
            call()
        self.lone.world.run()

    @precondition(lambda self: self.lone.disk.held is not None)
    @rule()
    def release(self) -> None:
        self.lone.release()

    # -- ends -----------------------------------------------------------------------------------------------------------

    @rule()
    def crash(self) -> None:
        """The process dies, the machine does not: nothing that was written is lost."""
        batches = self.model.batches
        self.lone.crash()
        self._reload(clean=False)
        if self.model.log_start <= self.model.base:
            assert [b.data for b in self.model.batches] == [b.data for b in batches]

    @rule()
    def lossy_crash(self) -> None:
        """A power cut: everything below `durable_end` is still there, byte for byte."""
        durable = [b.data for b in self.model.batches if b.end <= self.lone.log.durable_end]
        self.lone.crash(lossy=True)
        left = kafka.flat(kafka.surviving(self.lone.disk.files))
        assert [b.data for b in left[: len(durable)]] == durable
        self._reload(clean=False)

    @rule()
    def stop(self) -> None:
        """A clean end: nothing is lost, even if the power goes right after it."""
        before = self.model.content
        self.lone.close()
        self.lone.crash(lossy=True)
        self._reload(clean=True)
        assert self.lone.dropped == 0
        assert self.model.content == before

    def _reload(self, clean: bool) -> None:
        self.model.adopt(self.lone.disk.files)
        self.loaded_end = self.lone.open(clean=clean).leo
        self.cut_open = False

    # -- what must hold -------------------------------------------------------------------------------------------------

    @rule(data=st.data(), room=st.integers(0, 600), at_least_one=st.booleans())
    def read(self, data: st.DataObject, room: int, at_least_one: bool) -> None:
        """7.7, 5.40 Exactly the model's bytes, for any offset, end and limit, of one segment; and the size of all there is."""
        model = self.model
        if model.leo == model.log_start:
            return
        offset = data.draw(st.integers(model.log_start, model.leo - 1))
        end = data.draw(st.integers(offset, model.leo))
        segment = max(base for base in self.lone.bases() if base <= offset)
        last = min((base for base in self.lone.bases() if base > offset), default=model.leo)
        there = [b for b in model.batches if offset < b.end <= end]
        readable = [b for b in there if segment <= b.base_offset and b.end <= last]
        expected, left = b"", room
        for batch in readable:
            if batch.size > left and not (at_least_one and not expected):
                break
            expected, left = expected + batch.data, left - batch.size
        assert self.lone.log.read(offset, end, room, at_least_one) == (expected if offset < end else b"")
        assert self.lone.log.readable_bytes(offset, end) == (sum(b.size for b in there) if offset < end else 0)

    @invariant()
    def bounds(self) -> None:
        """5.6, 5.50 log start <= HW <= LEO, durable end <= LEO; bytes and producers are the model's."""
        log = self.lone.log
        assert log.log_start <= log.hw <= log.leo
        assert log.durable_end <= log.leo
        assert log.counted_end <= log.leo
        assert_is(self.lone, self.model)

    @invariant()
    def nothing_counts_before_its_sync(self) -> None:
        """5.41 With flush.messages=n fewer than n records count that are not durable; with n=1 none."""
        log = self.lone.log
        self.cut_open = self.cut_open and not log.settled
        assert log.counted_end <= max(self.loaded_end, log.durable_end + self.flush - 1)
        if self.lone.disk.held is None:
            assert (log.counted_end, log.settled) == (log.leo, True)

    @invariant()
    def epochs(self) -> None:
        """5.2, 5.3, 5.42 Strictly increasing, and what the batches say, whatever was lost."""
        assert_epochs(self.lone, self.model)

    @invariant()
    def recovery_points_vouch_for_durable_bytes(self) -> None:
        """5.41 What the checkpoint on the disk vouches for is what a power cut would leave, once the log is settled."""
        if self.lone.log.settled and RECOVERY in self.lone.disk.durable:
            points = kafka.offset_checkpoint(self.lone.disk.durable[RECOVERY])
            assert points.get(("t", 0), 0) <= self.lone.log.durable_end


TestOneLog = OneLog.TestCase
TestOneLog.settings = settings(stateful_step_count=30)
