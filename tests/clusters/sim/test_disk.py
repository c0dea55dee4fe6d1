"""A directory that can forget: what survives what, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clusters.sim.disk import Content, SimDisk
from clusters.sim.disks import SimDisks
from clusters.sim.kernel import Kernel
from clusters.sim.latency import MS
from model.cluster import Ability
from replication.batch import Record, encode, headers, stamped
from replication.env import IoError

S = 1_000 * MS
PATHS = ("t-0/0.log", "meta.properties")
LOG = PATHS[0]


class Owner:
    """Stands for the process: what it was told, in order."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, IoError | None]] = []

    def enter(self, call: Any, argument: Any) -> None:
        call(argument)


class Directory:
    """A disk, its time, and the process that uses it."""

    def __init__(self, seed: int = 1) -> None:
        self.kernel, self.owner = Kernel(), Owner()
        self.disk = SimDisk(self.kernel, Random(seed), Random(-seed), 1)
        self.disk.owner = self.owner  # type: ignore[assignment]
        self.calls = 0

    def sync(self, path: str = LOG) -> None:
        self.disk.sync(path, self._then())

    def replace(self, path: str, data: bytes) -> None:
        self.disk.replace(path, data, self._then())

    def delete(self, path: str) -> None:
        self.disk.delete(path, self._then())

    def _then(self) -> Any:
        number, self.calls = self.calls, self.calls + 1
        return lambda error: self.owner.told.append((number, error))

    def settle(self) -> None:
        self.kernel.run_until(lambda: False, self.kernel.now + 60 * S)

    def written(self, path: str, *parts: bytes, synced: bool = True) -> None:
        for part in parts:
            assert self.disk.append(path, part) is None
        if synced:
            self.sync(path)
            self.settle()

    @property
    def errors(self) -> list[str | None]:
        return [None if error is None else error.reason for _, error in self.owner.told]


# -- against a model ----------------------------------------------------------------------------------------------------


class Model(RuleBasedStateMachine):
    """The obvious disk: a dictionary now, a dictionary after a power cut, and a queue of what makes one into the other."""

    def __init__(self) -> None:
        super().__init__()
        self.real = Directory()
        self.now: Content = {}
        self.kept: Content = {}
        self.queue: list[tuple[int, str, bytes | None]] = []
        self.before: tuple[Content, Content] | None = None

    @rule(path=st.sampled_from(PATHS), data=st.binary(min_size=1, max_size=5))
    def append(self, path: str, data: bytes) -> None:
        assert self.real.disk.append(path, data) is None
        self.now[path] = self.now.get(path, b"") + data

    @precondition(lambda self: self.now)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.now)))
        size = data.draw(st.integers(0, len(self.now[path])))
        assert self.real.disk.truncate(path, size) is None
        self.now[path] = self.now[path][:size]

    @rule(path=st.sampled_from(PATHS))
    def sync(self, path: str) -> None:
        self.now.setdefault(path, b"")
        self._queue(path, self.now[path])
        self.real.sync(path)

    @rule(path=st.sampled_from(PATHS), data=st.binary(max_size=5))
    def replace(self, path: str, data: bytes) -> None:
        self.now[path] = data
        self._queue(path, data)
        self.real.replace(path, data)

    @rule(path=st.sampled_from(PATHS))
    def delete(self, path: str) -> None:
        self.now.pop(path, None)
        self._queue(path, None)
        self.real.delete(path)

    def _queue(self, path: str, becomes: bytes | None) -> None:
        self.queue.append((self.real.calls, path, becomes))

    @rule(ns=st.sampled_from([0, 200_000, 1 * MS, 100 * MS]))
    def time_passes(self, ns: int) -> None:
        """Whatever was told to be durable is durable, in the order of the calls."""
        told = len(self.real.owner.told)
        self.real.kernel.run_until(lambda: False, self.real.kernel.now + ns)
        for number, error in self.real.owner.told[told:]:
            expected, path, becomes = self.queue.pop(0)
            assert (number, error) == (expected, None)
            self.kept.pop(path, None)
            if becomes is not None:
                self.kept[path] = becomes

    @rule(how=st.sampled_from(["lose_unsynced", "wipe"]))
    def power_cut(self, how: str) -> None:
        """What was on its way is gone for good, and nobody hears of it."""
        self.before = dict(self.now), dict(self.kept)
        getattr(self.real.disk, how)()
        self.kept = {} if how == "wipe" else self.kept
        self.now = dict(self.kept)
        self.queue.clear()

    @precondition(lambda self: self.before is not None and not self.queue)
    @rule()
    def undo(self) -> None:
        """The directory is what it was before the damage, durable or not, whatever was written since."""
        assert self.before is not None
        self.real.disk.undo_damage()
        (self.now, self.kept), self.before = (dict(self.before[0]), dict(self.before[1])), None

    @invariant()
    def a_process_reads_what_it_wrote(self) -> None:
        """Durable or not; and a power cut would leave exactly what was told to be durable."""
        assert self.real.disk.content() == self.now
        assert {path: self.real.disk.read(path) for path in self.real.disk.list()} == self.now  # type: ignore[union-attr]
        assert {path: bytes(data) for path, data in self.real.disk.durable.items()} == self.kept


Model.TestCase.settings = settings(max_examples=150, stateful_step_count=40)
TestAgainstTheModel = Model.TestCase


@given(st.integers(0, 1_000), st.lists(st.sampled_from(["append", "sync", "cut"]), min_size=3, max_size=15))
def test_what_the_system_writes_back_never_takes_from_what_was_synced(seed: int, steps: list[str]) -> None:
    """Without a sync a power cut leaves any version a file ever had, but none older than the last that was synced."""
    real = Directory()
    real.disk.write_back(Random(seed))
    versions, synced = [b""], 0
    for number, step in enumerate(steps):
        if step == "append":
            real.disk.append(LOG, bytes([number]))
        elif step == "cut":
            real.disk.truncate(LOG, len(versions[-1]) // 2)  # without a file it says so, and that is all
        else:
            real.written(LOG)
            synced = len(versions)
        versions.append(real.disk.content().get(LOG, b""))
        real.kernel.run_until(lambda: False, real.kernel.now + 3 * S)
    real.disk.lose_unsynced()
    assert real.disk.content().get(LOG, b"") in versions[synced:]


def test_the_system_writes_back_in_its_own_time() -> None:
    """Some files, some time: what nobody synced may be durable all the same."""
    real = Directory()
    real.disk.write_back(Random(1))
    real.disk.append(LOG, b"never synced")
    real.kernel.run_until(lambda: False, 200 * S)
    real.disk.lose_unsynced()
    assert real.disk.content() == {LOG: b"never synced"}


def test_a_log_that_was_cut_and_has_grown_again_is_durable_as_it_is_now() -> None:
    """As long as before, but with other bytes."""
    real = Directory()
    real.written(LOG, b"abcdef")
    real.disk.truncate(LOG, 3)
    real.written(LOG, b"xyz")
    real.disk.lose_unsynced()
    assert real.disk.content() == {LOG: b"abcxyz"}


def test_a_log_that_is_cut_while_its_sync_is_on_its_way_is_kept_as_it_was_asked() -> None:
    """Then the next sync keeps it as it is by then."""
    real = Directory()
    real.disk.append(LOG, b"abcdef")
    real.sync()
    real.disk.truncate(LOG, 3)
    real.disk.append(LOG, b"xyz")
    real.settle()
    assert real.disk.durable == {LOG: b"abcdef"}
    real.sync()
    real.settle()
    assert real.disk.durable == {LOG: b"abcxyz"}


# -- when, and to whom --------------------------------------------------------------------------------------------------


def test_a_sync_takes_its_time_and_is_told_once() -> None:
    """Before that a power cut takes the bytes, and nobody is told at all."""
    real = Directory()
    real.disk.append(LOG, b"abc")
    real.sync()
    assert real.disk.durable == {}
    real.settle()
    assert real.owner.told == [(0, None)]
    assert real.disk.durable == {LOG: b"abc"}
    real.disk.append(LOG, b"def")
    real.sync()
    real.disk.lose_unsynced()
    real.settle()
    assert (real.owner.told, real.disk.content()) == ([(0, None)], {LOG: b"abc"})


def test_what_a_killed_process_had_written_is_there_and_becomes_durable() -> None:
    """The page cache outlives the process: only the answers of its syncs go nowhere."""
    real = Directory()
    real.disk.append(LOG, b"abc")
    real.sync()
    real.disk.owner = None
    real.settle()
    assert real.disk.content() == {LOG: b"abc"}
    assert real.disk.durable == {LOG: b"abc"}


def test_what_is_not_there_is_an_answer_and_never_an_exception() -> None:
    """DESIGN 11.1: a node that asks for a file that is gone has not crashed."""
    disk = Directory().disk
    assert isinstance(disk.read("gone"), IoError)
    assert isinstance(disk.truncate("gone", 0), IoError)


@given(st.integers(0, 10), st.one_of(st.none(), st.integers(0, 10)))
def test_a_read_gives_what_is_there(position: int, length: int | None) -> None:
    """Fewer bytes where the file ends early."""
    disk = Directory().disk
    disk.append(LOG, b"abcdef")
    assert disk.read(LOG, position, length) == b"abcdef"[position:][:length]


# -- damage -------------------------------------------------------------------------------------------------------------


def batch(base: int, records: int = 1) -> bytes:
    return stamped(encode([Record(b"x" * 20)] * records), base, 0)


def batches(sizes: list[int], base: int = 0) -> list[bytes]:
    return [batch(base + sum(sizes[:index]), size) for index, size in enumerate(sizes)]


SIZES = st.lists(st.integers(1, 4), max_size=4)


@given(st.integers(0, 10_000), SIZES, SIZES.filter(bool))
def test_a_torn_log_ends_inside_a_batch_past_its_synced_end(seed: int, synced: list[int], unsynced: list[int]) -> None:
    """Every byte that is left is one that was written, and the last batch is not whole."""
    real = Directory(seed)
    before = b"".join(batches(synced))
    whole = before + b"".join(batches(unsynced, sum(synced)))
    real.written(LOG, before)
    real.written(LOG, whole[len(before) :], synced=False)
    real.disk.tear()
    left = real.disk.content()[LOG]
    assert len(before) < len(left) < len(whole)
    assert whole.startswith(left)
    assert sum(header.size for _, header in headers(left)) < len(left)
    assert real.disk.durable[LOG] == left


class Choice:
    """Chance that always draws the same of so many."""

    def __init__(self, index: int, of: int) -> None:
        self._bits = (index << 53) // of + 1

    def getrandbits(self, k: int, /) -> int:
        return self._bits

    def random(self) -> float:
        raise AssertionError("no float is drawn here")


class Always:
    """Chance by which everything that may happen happens."""

    def getrandbits(self, k: int, /) -> int:
        return 0

    def random(self) -> float:
        return 0.0


def test_wherever_a_log_is_torn_it_is_not_between_two_batches() -> None:
    """Every place there is."""
    synced, unsynced = batch(0), b"".join(batches([1, 2, 1], 1))
    places = len(unsynced) - 1
    for place in range(places):
        real = Directory()
        real.written(LOG, synced)
        real.written(LOG, unsynced, synced=False)
        real.disk._damage_chance = Choice(place, places)
        real.disk.tear()
        left = real.disk.content()[LOG]
        assert len(synced) < len(left) <= len(synced) + 1 + place
        assert sum(header.size for _, header in headers(left)) < len(left)


def test_a_tear_where_everything_is_synced_is_a_power_cut() -> None:
    """There is no write in whose middle it could die."""
    real = Directory()
    real.written(LOG, batch(0))
    real.disk.tear()
    assert real.disk.content() == {LOG: batch(0)}


@given(st.integers(0, 10_000), SIZES.filter(bool))
def test_rot_flips_one_bit_and_undoing_it_flips_it_back(seed: int, sizes: list[int]) -> None:
    """Of a synced log, in what is durable and in what a process reads alike."""
    real = Directory(seed)
    data = b"".join(batches(sizes))
    real.written(LOG, data)
    real.written("meta.properties", b"not a log")
    hit = real.disk.rot()
    assert hit is not None
    rotten = real.disk.content()[LOG]
    assert sum((a ^ b).bit_count() for a, b in zip(data, rotten, strict=True)) == 1
    assert (hit[0], rotten[hit[1]] != data[hit[1]]) == (LOG, True)
    assert real.disk.durable[LOG] == rotten
    assert real.disk.content()["meta.properties"] == b"not a log"
    real.disk.undo_damage()
    assert real.disk.content()[LOG] == real.disk.durable[LOG] == data


def test_there_is_no_rot_without_a_log() -> None:
    """Nothing changes, and nothing is said to have changed."""
    real = Directory()
    real.written("meta.properties", b"not a log")
    assert real.disk.rot() is None
    assert real.disk.content() == {"meta.properties": b"not a log"}


def test_after_damage_the_directory_can_be_written_as_before() -> None:
    """What is left counts as durable, and what is synced from then on is added to it."""
    real = Directory()
    real.written(LOG, b"abc")
    real.disk.append(LOG, b"lost")
    real.disk.lose_unsynced()
    real.written(LOG, b"def")
    real.disk.lose_unsynced()
    assert real.disk.content() == {LOG: b"abcdef"}


# -- refusals -----------------------------------------------------------------------------------------------------------

REFUSED: dict[tuple[str, str], set[str]] = {
    ("fill", ""): {"append", "replace"},
    ("read_only", ""): {"append", "truncate", "replace", "delete"},
    ("io_error", "read"): {"read", "list"},
    ("io_error", "write"): {"append", "truncate", "replace", "delete"},
    ("io_error", "sync"): {"sync", "replace", "delete"},
    ("slow_sync", ""): set(),
}
CALLS = ("append", "truncate", "read", "list", "sync", "replace", "delete")


def call(real: Directory, name: str) -> bool:
    """Whether a call of that name is answered with an error."""
    waits: dict[str, Callable[[], None]] = {
        "sync": real.sync,
        "replace": lambda: real.replace(LOG, b"new"),
        "delete": lambda: real.delete(LOG),
    }
    answers: dict[str, Callable[[], Any]] = {
        "append": lambda: real.disk.append(LOG, b"more"),
        "truncate": lambda: real.disk.truncate(LOG, 1),
        "read": lambda: real.disk.read(LOG),
        "list": real.disk.list,
    }
    if name in answers:
        return isinstance(answers[name](), IoError)
    waits[name]()
    real.settle()
    return real.errors[-1] is not None


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("fault", "on"), REFUSED)
def test_each_fault_refuses_what_it_should_and_nothing_else(fault: str, on: str, name: str) -> None:
    """A refused call changes nothing, is counted once, and passes again once the fault is gone."""
    real = Directory()
    real.written(LOG, b"abc")
    disks, verb = SimDisks({1: [real.disk]}), Ability(fault)
    act: dict[str, Callable[[], None]] = {
        "io_error": lambda: disks.io_error(1, on),
        "slow_sync": lambda: disks.slow_sync(1, 1 * S),
    }  # type: ignore[arg-type]
    act.get(fault, lambda: getattr(disks, fault)(1))()
    refused = name in REFUSED[fault, on]
    assert call(real, name) is refused
    if refused:
        assert real.disk.content() == {LOG: b"abc"}
        assert real.disk.durable == {LOG: b"abc"}
        assert disks.touched(1, verb) == 1
    elif fault != "slow_sync":
        assert disks.touched(1, verb) == 0
    disks.heal(1, verb)
    assert disks.touched(1, verb) == 0
    if name == "truncate":
        real.written(LOG, b"abc")
    assert not call(real, name)


def test_a_failed_sync_makes_nothing_durable() -> None:
    """And the next one that passes makes all of it durable."""
    real = Directory()
    disks = SimDisks({1: [real.disk]})
    disks.io_error(1, "sync")
    real.written(LOG, b"abc")
    assert (real.disk.durable, real.errors) == ({}, ["input/output error on sync"])
    disks.heal(1, Ability.IO_ERROR)
    real.written(LOG, b"def")
    assert real.disk.durable == {LOG: b"abcdef"}


def test_a_slow_sync_takes_so_much_longer() -> None:
    """Exactly, against the same syncs without it; each waits for the one before."""

    def told_at(delay_ns: int) -> list[int]:
        real = Directory()
        disks, times = SimDisks({1: [real.disk]}), list[int]()
        if delay_ns:
            disks.slow_sync(1, delay_ns)
        for _ in range(2):
            real.disk.sync(LOG, lambda _: times.append(real.kernel.now))
        real.settle()
        assert disks.touched(1, Ability.SLOW_SYNC) == (2 if delay_ns else 0)
        return times

    assert [slow - quick for slow, quick in zip(told_at(5 * S), told_at(0), strict=True)] == [5 * S, 10 * S]


def test_refused_writes_move_no_draw() -> None:
    """The delay of a write is drawn whatever becomes of it."""

    def last_sync(*, filled: bool) -> int:
        real = Directory()
        if filled:
            SimDisks({1: [real.disk]}).fill(1)
        real.replace("meta.properties", b"x")
        real.sync()
        real.kernel.run_until(lambda: len(real.owner.told) == 2, 60 * S)
        return real.kernel.now

    assert last_sync(filled=True) == last_sync(filled=False)


def test_two_faults_of_one_verb_are_two() -> None:
    """Each is released by itself; a heal takes all of a verb away, and without a verb all there are."""
    real = Directory()
    disks = SimDisks({1: [real.disk]})
    first, second = disks.fill(1), disks.fill(1)
    first.release()
    first.release()  # once too often is nothing
    assert isinstance(real.disk.append(LOG, b"x"), IoError)
    assert (first.touched(), second.touched()) == (0, 1)
    second.release()
    assert real.disk.append(LOG, b"x") is None
    for verbs in ((Ability.FILL, Ability.READ_ONLY), (None,)):
        disks.fill(1)
        disks.fill(1)
        disks.read_only(1)
        for verb in verbs:
            disks.heal(1, verb)
        assert real.disk.append(LOG, b"x") is None


def test_an_error_that_is_mended_leaves_another_one() -> None:
    """Each knows which calls it refuses."""
    real = Directory()
    disks = SimDisks({1: [real.disk]})
    on_sync, on_read = disks.io_error(1, "sync"), disks.io_error(1, "read")
    on_read.release()
    assert (call(real, "sync"), call(real, "list")) == (True, False)
    assert (on_sync.touched(), on_read.touched()) == (1, 0)


def test_what_waits_for_a_slow_disk_is_quick_again_with_it() -> None:
    """Released, and after a power cut: nothing is left of the queue."""
    for ends_with in ("release", "power cut"):
        real, times = Directory(), list[int]()
        slow = SimDisks({1: [real.disk]}).slow_sync(1, 60 * S)
        for _ in range(10):
            real.disk.sync(LOG, lambda _, times=times, real=real: times.append(real.kernel.now))
        real.kernel.run_until(lambda: False, 1 * S)
        if ends_with == "release":
            slow.release()
        else:
            real.disk.lose_unsynced()
            slow.release()
            real.disk.sync(LOG, lambda _, times=times, real=real: times.append(real.kernel.now))
        real.kernel.run_until(lambda: False, 2 * S)
        assert len(times) == (10 if ends_with == "release" else 1)
        assert times == sorted(times)


def test_what_the_system_wrote_back_is_not_replaced_by_what_is_older() -> None:
    """A write that was on its way comes too late for a path whose newer content is durable already."""
    real = Directory()
    real.replace("a", b"older")
    real.replace("a", b"newer")
    real.disk._write_back(Always())
    real.kernel.run_until(lambda: len(real.owner.told) == 1, 60 * S)
    assert real.disk.durable["a"] == b"newer"
    real.settle()
    real.disk.lose_unsynced()
    assert real.disk.content()["a"] == b"newer"


def test_a_log_that_was_cut_and_written_back_is_durable_as_it_is_after_its_sync() -> None:
    """Also when a sync from before the cut was still on its way."""
    real = Directory()
    real.disk.append(LOG, b"AAAABBBB")
    real.sync()
    real.disk.truncate(LOG, 4)
    real.disk.append(LOG, b"CCCC")
    real.disk._write_back(Always())
    real.sync()
    real.settle()
    assert real.errors == [None, None]
    assert real.disk.durable == {LOG: b"AAAACCCC"}


def test_a_directory_that_does_not_exist_has_nothing_to_lose() -> None:
    """A controller has none, and a number may be too high."""
    disks = SimDisks({1: [Directory().disk], 4: []})
    for node, directory in ((1, 1), (4, 0), (9, 0)):
        disks.fill(node, directory)
        assert disks.touched(node, Ability.FILL, directory) == 0
        assert disks.wipe(node, directory) == disks.tear(node, directory) == disks.rot(node, directory) == ()
        disks.heal(node, Ability.FILL, directory)
