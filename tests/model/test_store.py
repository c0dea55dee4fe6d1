"""The store: a run is there whole or not at all, whoever writes beside it; and what is not what was written is refused."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from model import history, run_record
from model.evidence import NAMES
from model.files import AppendFile, LocalFiles
from model.leftovers import sweep
from model.refusal import ExitCode, Refusal
from model.store import INDEX, RunExists, Store, StoredRun
from tests.model.recording import PLAN, row
from tests.model.stored_runs import CAMPAIGN, SCHEDULE, VERDICT, children, fill, leftovers, numbers, put_run, rows_of, writers_of
from tests.model.test_evidence import full

# -- one run ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["{}", "file://{}"], ids=["path", "file URI"])
def test_a_finished_run_is_listed_and_read_back(tmp_path: Path, uri: str) -> None:
    """Plan, schedule, history, every table and the verdict are what was put, through a path and through a URI alike."""
    store = Store(uri.format(tmp_path / "store"))
    assert store.campaigns() == []
    assert store.runs(CAMPAIGN) == []
    record = put_run(store, 7)

    again = Store(tmp_path / "store")
    assert again.campaigns() == [CAMPAIGN]
    (entry,) = again.runs(CAMPAIGN)
    assert (entry.number, entry.status, entry.rows, entry.valid, entry.signatures) == (
        7,
        "done",
        3,
        "invalid",
        ("lost_write/suffix",),
    )
    run = again.open(CAMPAIGN, 7)
    run.verify()
    assert run.record == record
    assert run.record.verdict == VERDICT
    assert run.plan() == PLAN
    assert run.schedule() == SCHEDULE
    found = run.history()
    assert history.to_rows(found.table) == rows_of(7)
    assert (found.about.run_id, found.about.run_tag, found.about.complete) == (f"{CAMPAIGN}/00007", 77, True)
    assert (found.about.started, found.about.clock) == ("2026-11-18T01:02:03Z", "virtual")
    for name in NAMES:
        assert run.table(name).to_pylist() == full(name)
        assert run.table(name).schema.metadata[b"record"] == b"complete"
    assert [one.record for one in again.open_all(CAMPAIGN)] == [record]


def test_a_streamed_run_is_read_back(store: Store) -> None:
    """Rows that were recorded one by one end in the same history, and the stream does not stay."""
    with store.begin(CAMPAIGN, 7, PLAN, clock="monotonic") as writer:
        stream = writer.stream()
        for op in range(10):
            stream.append(row(7, op))
        writer.finish("done", None)
    run = store.open(CAMPAIGN, 7)
    run.verify()
    assert history.to_rows(run.history().table) == [row(7, op) for op in range(10)]
    assert (run.record.rows, run.history().about.clock, run.history().about.complete) == (10, "monotonic", True)
    assert sorted(path.name for path in Path(run.path).iterdir()) == ["history.parquet", "plan.json", "run.json"]
    assert leftovers(store) == []


def test_a_run_in_the_making_is_not_listed(store: Store) -> None:
    """Neither while its files are written, nor when it is abandoned; and then nothing is left of it."""
    with store.begin(CAMPAIGN, 7, PLAN) as writer:
        fill(writer, 7)
        assert store.runs(CAMPAIGN) == []
        with pytest.raises(Refusal, match="no such run"):
            store.open(CAMPAIGN, 7)
        writer.abandon()
    assert store.runs(CAMPAIGN) == []
    assert leftovers(store) == []


def test_an_exception_before_the_end_leaves_nothing(store: Store) -> None:
    """Rows that nobody was told to be durable are not worth a sweep."""
    with pytest.raises(ZeroDivisionError), store.begin(CAMPAIGN, 7, PLAN) as writer:
        fill(writer, 7)
        raise ZeroDivisionError
    assert store.runs(CAMPAIGN) == []
    assert leftovers(store) == []
    assert sweep(store, CAMPAIGN) == []


@pytest.mark.parametrize("name", ["..", ".", "a/b", "", ".x", "a\\b", "x" * 101, "a\n"])
def test_a_campaign_name_that_is_no_directory_name_is_refused(store: Store, tmp_path: Path, name: str) -> None:
    """Wherever a campaign can be named, and before anything is made."""
    for attempt in (
        lambda: store.begin(name, 1, PLAN),
        lambda: store.runs(name),
        lambda: store.open(name, 1),
        lambda: store.record(name, 1),
        lambda: store.directories(name, "packs"),
        lambda: sweep(store, name),
    ):
        with pytest.raises(Refusal, match="not a campaign name"):
            attempt()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_does_not_exist_is_refused_by_its_id(store: Store) -> None:
    """The sentence names the store and the run."""
    put_run(store, 7)
    with pytest.raises(Refusal, match=rf"^{store.uri}: no such run: {CAMPAIGN}/00008$"):
        store.open(CAMPAIGN, 8)


def test_a_table_that_the_run_does_not_have_is_refused(store: Store) -> None:
    """The sentence names the run and the tables that it has."""
    with store.begin(CAMPAIGN, 7, PLAN) as writer:
        writer.put_history(history.to_table([]))
        writer.finish("done", None)
    with pytest.raises(Refusal, match=rf"^{CAMPAIGN}/00007: events: this run has no events\n  allowed here: history, plan$"):
        store.open(CAMPAIGN, 7).table("events")


@pytest.mark.parametrize("uri", ["nonsense://x/y", "file://host/x"])
def test_a_uri_that_cannot_be_opened_is_refused(uri: str) -> None:
    """A mistake of the user, not a failure of the machine: exit code 3, and what may be written instead."""
    with pytest.raises(Refusal, match="allowed here: a path, or a URI such as s3://bucket/store") as refused:
        Store(uri)
    assert refused.value.exit_code == ExitCode.REFUSED == 3
    assert refused.value.where == uri


# -- damage -----------------------------------------------------------------------------------------------------------


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "flipped": (flip, "its digest differs"),
    "truncated": (truncate, "bytes instead of"),
    "missing": (Path.unlink, "the file is missing"),
}
FILES = {"plan": "plan.json", "schedule": "schedule.parquet", "history": "history.parquet"} | {n: f"{n}.parquet" for n in NAMES}


def read(run: StoredRun, name: str) -> object:
    return run.table(name) if name in NAMES else getattr(run, name)()


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_refused_by_name(store: Store, how: str, name: str) -> None:
    """Whoever verifies or reads it learns which file of which run; the other files are still read."""
    damage, finding = DAMAGE[how]
    put_run(store, 7)
    run = store.open(CAMPAIGN, 7)
    damage(Path(run.path) / FILES[name])
    for attempt in (run.verify, lambda: read(run, name)):
        with pytest.raises(Refusal, match=finding) as refused:
            attempt()
        assert refused.value.where == f"{CAMPAIGN}/00007: {FILES[name]}"
    for other in FILES.keys() - {name}:
        read(run, other)


def test_a_file_that_nobody_wrote_is_refused_by_name(store: Store) -> None:
    """A run is what run.json says and nothing else; its own tables can still be read."""
    put_run(store, 7)
    run = store.open(CAMPAIGN, 7)
    (Path(run.path) / "notes.txt").write_text("hello")
    with pytest.raises(Refusal, match=f"^{CAMPAIGN}/00007: notes.txt: "):
        run.verify()
    assert run.history().table.num_rows == 3


@pytest.mark.parametrize("data", [b"", b"{", b'{"schema": 2}', b"[]", b'{"campaign": "\xff"}'])
def test_a_record_that_cannot_be_read_is_refused_by_name(store: Store, data: bytes) -> None:
    """run.json itself: one sentence with its path."""
    put_run(store, 7)
    path = Path(store.open(CAMPAIGN, 7).path) / run_record.FILE
    path.write_bytes(data)
    with pytest.raises(Refusal, match=f"^{path}: not a run record"):
        store.open(CAMPAIGN, 7)


def test_a_directory_without_run_json_is_no_run(store: Store) -> None:
    """Whatever else lies in it."""
    put_run(store, 7)
    put_run(store, 8)
    (Path(store.open(CAMPAIGN, 7).path) / run_record.FILE).unlink()
    assert numbers(store) == [8]
    with pytest.raises(Refusal, match="no such run"):
        store.open(CAMPAIGN, 7)


def test_one_rotten_run_does_not_hide_the_others(store: Store) -> None:
    """DESIGN 11.8: it is quarantined alone, by number and with the reason; a directory with an odd name is no run at all."""
    for number in (1, 2, 3):
        put_run(store, number)
    (Path(store.open(CAMPAIGN, 2).path) / run_record.FILE).write_bytes(b"{")
    shutil.copytree(store.open(CAMPAIGN, 3).path, Path(store.open(CAMPAIGN, 3).path).with_name("3"))
    listing = store.listing(CAMPAIGN)
    assert [entry.number for entry in listing.runs] == [1, 3]
    ((number, reason),) = listing.unreadable
    assert (number, "not a run record" in reason) == (2, True)


def test_runs_are_numbered_from_0(store: Store) -> None:
    """A negative number would be stored and never listed."""
    with pytest.raises(ValueError, match="numbered from 0"):
        store.begin(CAMPAIGN, -1, PLAN)


# -- the index --------------------------------------------------------------------------------------------------------


def test_a_listing_opens_only_what_is_new(store: Store, records_read: list[int]) -> None:
    """What the index knows is not read again, by this process or the next."""
    for number in (3, 1, 2):
        put_run(store, number)
    assert numbers(store) == [1, 2, 3]
    assert sorted(records_read) == [1, 2, 3]
    records_read.clear()
    put_run(store, 4)
    first = Store(store.uri).runs(CAMPAIGN)
    assert records_read == [4]
    assert Store(store.uri).runs(CAMPAIGN) == first
    assert records_read == [4]


def _swap_index_for(data: bytes) -> Callable[[Path], None]:
    def swap(index: Path) -> None:
        index.write_bytes(data)

    return swap


def _cut_index(index: Path) -> None:
    index.write_bytes(index.read_bytes()[:-20])


def _reverse_index(index: Path) -> None:
    index.write_bytes(b"".join(reversed(index.read_bytes().splitlines(keepends=True))))


def _repeat_index(index: Path) -> None:
    index.write_bytes(index.read_bytes() * 2)


SPOILT_INDEX: dict[str, Callable[[Path], None]] = {
    "missing": Path.unlink,
    "empty": _swap_index_for(b""),
    "nonsense": _swap_index_for(b"\xff\x00nonsense\n"),
    "not UTF-8": _swap_index_for(b'{"number": 1, "status": "\xff\xfe"}\n'),
    "another JSON": _swap_index_for(b'{"number": "one"}\n[]\n'),
    "half a line": _cut_index,
    "blank lines": _swap_index_for(b"\n\n"),
    "other order": _reverse_index,
    "repeated": _repeat_index,
}


@pytest.mark.parametrize("spoil", SPOILT_INDEX.values(), ids=SPOILT_INDEX)
def test_a_spoilt_index_is_replaced(store: Store, records_read: list[int], spoil: Callable[[Path], None]) -> None:
    """It is only a cache: the listing is right at once, and the next one is quick again."""
    for number in (1, 2, 3):
        put_run(store, number)
    before = store.runs(CAMPAIGN)
    index = Path(store.base) / CAMPAIGN / INDEX
    spoil(index)
    assert Store(store.uri).runs(CAMPAIGN) == before
    records_read.clear()
    assert Store(store.uri).runs(CAMPAIGN) == before
    assert records_read == []
    assert [path.name for path in index.parent.iterdir() if path.is_file()] == [INDEX]


def test_an_index_of_runs_that_changed_is_not_believed(store: Store, records_read: list[int]) -> None:
    """A replaced run.json is read again, a removed run is gone, and the index says so afterwards."""
    for number in (1, 2, 3):
        put_run(store, number)
    store.runs(CAMPAIGN)
    shutil.rmtree(store.open(CAMPAIGN, 1).path)
    again = msgspec.structs.replace(store.record(CAMPAIGN, 2), status="infrastructure", reason="the proxy died")
    (Path(store.open(CAMPAIGN, 2).path) / run_record.FILE).write_bytes(run_record.to_json(again))
    records_read.clear()
    assert [(entry.number, entry.status) for entry in store.runs(CAMPAIGN)] == [(2, "infrastructure"), (3, "done")]
    assert records_read == [2]
    assert [(entry.number, entry.status) for entry in Store(store.uri).runs(CAMPAIGN)] == [(2, "infrastructure"), (3, "done")]
    assert records_read == [2]


class ReadOnlyFiles(LocalFiles):
    """A disk on which nothing can be made."""

    def create(self, path: Path) -> AppendFile:
        raise OSError(errno.EROFS, "Read-only file system", str(path))


def test_a_store_that_may_only_be_read_is_listed(store: Store, records_read: list[int]) -> None:
    """Without an index, with an old one and with a broken one; nothing is written."""
    put_run(store, 1)
    reader = Store(store.uri, ReadOnlyFiles())
    index = Path(store.base) / CAMPAIGN / INDEX
    assert numbers(reader) == [1]
    assert not index.exists()
    numbers(store)
    put_run(store, 2)
    old = index.read_bytes()
    records_read.clear()
    assert numbers(reader) == [1, 2]
    assert records_read == [2]
    assert index.read_bytes() == old
    index.write_bytes(b"broken")
    assert numbers(reader) == [1, 2]
    assert index.read_bytes() == b"broken"


# -- several writers --------------------------------------------------------------------------------------------------

RACES = 30


def write_in_a_race(store: str, who: str, start: Any, won: Connection) -> None:
    """Make every run up to its last step, wait for the rival, then publish."""
    for number in range(RACES):
        with Store(store).begin(CAMPAIGN, number, PLAN) as writer:
            fill(writer, number, rows=2 + len(who), who=who)
            start.wait(60)
            try:
                writer.finish("done", None)
            except RunExists:
                continue
            won.send(number)
    won.close()


def received(pipe: Connection) -> list[int]:
    found = []
    try:
        while pipe.poll(60):
            found.append(pipe.recv())
    except EOFError:
        return found
    raise AssertionError("a writer is stuck")


def test_of_two_writers_of_one_number_one_succeeds(store: Store) -> None:
    """Two processes, thirty numbers, each published at the same moment: the loser is told, no run is a mixture."""
    context = children()
    start = context.Barrier(2)
    won: dict[str, Connection] = {}
    processes = []
    for who in ("left", "right-hand"):
        won[who], sender = context.Pipe(duplex=False)
        processes.append(context.Process(target=write_in_a_race, args=(store.uri, who, start, sender), daemon=True))
        processes[-1].start()
        sender.close()
    winners = {who: received(pipe) for who, pipe in won.items()}
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    assert sorted(winners["left"] + winners["right-hand"]) == list(range(RACES)), "exactly one winner for each number"
    assert numbers(store) == list(range(RACES))
    for who, won_numbers in winners.items():
        for number in won_numbers:
            run = store.open(CAMPAIGN, number)
            assert writers_of(run) == {who}
            assert run.record.rows == run.history().table.num_rows == 2 + len(who)
    assert leftovers(store) == []


def test_the_second_writer_of_a_number_is_told_and_changes_nothing(store: Store) -> None:
    """A failure of the infrastructure (two campaigns in one place), never a verdict."""
    put_run(store, 7, who="first")
    with pytest.raises(RunExists, match=f"the run {CAMPAIGN}/00007 exists already") as refused:
        put_run(store, 7, who="second")
    assert refused.value.exit_code == ExitCode.INFRASTRUCTURE
    assert writers_of(store.open(CAMPAIGN, 7)) == {"first"}
    assert leftovers(store) == []
