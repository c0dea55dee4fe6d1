"""Leftovers: what a dead writer left is saved or tidied away, and what a living one has is never touched."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from model import history
from model.files import LocalFiles
from model.leftovers import Swept, sweep
from model.refusal import InfrastructureFailure
from model.run_writer import HEAD, STREAM
from model.store import Store
from tests.model.recording import PLAN, row
from tests.model.stored_runs import CAMPAIGN, VERDICT, children, leftovers, numbers, put_run, writers_of


def hold_a_run(store: str, number: int, ready: Connection) -> None:
    """Stream ten rows, tell when they are durable, and stay alive."""
    with Store(store).begin(CAMPAIGN, number, PLAN, clock="monotonic") as writer:
        stream = writer.stream()
        for op in range(10):
            stream.append(row(number, op))
        while stream.durable < 10:
            threading.Event().wait(0.01)
        ready.send(writer.directory.name)
        threading.Event().wait()


def test_a_living_writer_is_never_swept_and_a_killed_one_is(store: Store) -> None:
    """As long as the process lives its directory is its own; SIGKILL frees it, and its rows become a run."""
    context = children()
    ready, sender = context.Pipe(duplex=False)
    process = context.Process(target=hold_a_run, args=(store.uri, 7, sender), daemon=True)
    process.start()
    assert ready.poll(60)
    name = ready.recv()
    before = leftovers(store)
    assert before == [name, f"{name}.lock"]
    for _ in range(3):
        assert sweep(store, CAMPAIGN) == []
    assert leftovers(store) == before
    assert store.runs(CAMPAIGN) == []

    process.kill()
    process.join()
    assert sweep(store, CAMPAIGN) == [Swept(name, f"{CAMPAIGN}/00007", 10)]
    assert_killed(store, 7, rows=10)
    assert sweep(store, CAMPAIGN) == []


def assert_killed(store: Store, number: int, rows: int) -> None:
    """The run is there with these rows, says that it did not end by itself, and nothing is left beside it."""
    run = store.open(CAMPAIGN, number)
    run.verify()
    assert (run.record.status, run.record.verdict, run.record.rows) == ("killed", None, rows)
    assert run.history().about.complete is False
    assert history.to_rows(run.history().table) == [row(number, op) for op in range(rows)]
    assert run.plan() == PLAN
    assert numbers(store) == [number]
    assert leftovers(store) == []


def stream_and_fail(store: Store, number: int = 7, rows: int = 5) -> None:
    """A recorder that ends by an exception in the middle of a run."""
    with pytest.raises(ZeroDivisionError), store.begin(CAMPAIGN, number, PLAN) as writer:
        stream = writer.stream()
        for op in range(rows):
            stream.append(row(number, op))
        raise ZeroDivisionError


def test_an_exception_while_streaming_leaves_the_rows_to_the_sweep(store: Store) -> None:
    """All of them, even those that were appended a moment ago: the writer's thread ends before anybody may sweep."""
    threads = threading.active_count()
    stream_and_fail(store)
    assert threading.active_count() == threads, "nobody writes into a directory that is no longer ours"
    assert store.runs(CAMPAIGN) == []
    (swept,) = sweep(store, CAMPAIGN)
    assert (swept.run_id, swept.rows, swept.kept_because) == (f"{CAMPAIGN}/00007", 5, "")
    assert_killed(store, 7, rows=5)


class NoRename(LocalFiles):
    """A disk that fails at the last step."""

    def replace(self, source: Path, target: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")


def seal_without_publishing(store: Store, number: int = 7, rows: int = 5) -> None:
    failing = Store(store.uri, NoRename())
    with pytest.raises(InfrastructureFailure, match="cannot be stored"), failing.begin(CAMPAIGN, number, PLAN) as writer:
        stream = writer.stream()
        for op in range(rows):
            stream.append(row(number, op))
        writer.finish("done", VERDICT)


def test_a_sealed_run_is_published_by_the_sweep(store: Store) -> None:
    """It was whole but for the rename: it keeps its status and its verdict."""
    seal_without_publishing(store)
    assert store.runs(CAMPAIGN) == []
    (swept,) = sweep(store, CAMPAIGN)
    assert (swept.run_id, swept.rows) == (f"{CAMPAIGN}/00007", 5)
    run = store.open(CAMPAIGN, 7)
    run.verify()
    assert (run.record.status, run.record.verdict) == ("done", VERDICT)
    assert run.history().about.complete is True
    assert history.to_rows(run.history().table) == [row(7, op) for op in range(5)]
    assert leftovers(store) == []


@pytest.mark.parametrize("leave", [seal_without_publishing, stream_and_fail], ids=["sealed", "streamed"])
def test_a_leftover_whose_run_exists_is_removed(store: Store, leave: Callable[[Store], None]) -> None:
    """It was saved before, by a sweep that died before it could tidy up; the run stays as it is."""
    leave(store)
    put_run(store, 7, who="first")
    (swept,) = sweep(store, CAMPAIGN)
    assert (swept.run_id, swept.kept_because) == (None, "")
    assert writers_of(store.open(CAMPAIGN, 7)) == {"first"}
    assert leftovers(store) == []


def test_a_leftover_that_cannot_be_saved_now_is_kept(store: Store) -> None:
    """Rows that were durable are not thrown away because a disk fails once more."""
    stream_and_fail(store)
    (swept,) = sweep(Store(store.uri, NoRename()), CAMPAIGN)
    assert "Input/output error" in swept.kept_because
    assert [swept.directory] == leftovers(store)
    assert sweep(store, CAMPAIGN) == [Swept(swept.directory, f"{CAMPAIGN}/00007", 5)]
    assert_killed(store, 7, rows=5)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"campaign": "\xff"}'])
def test_a_leftover_that_nobody_understands_is_kept_and_told(store: Store, data: bytes) -> None:
    """One rotten head.json must not keep the others from being saved."""
    stream_and_fail(store, 7)
    (directory,) = [path for path in store.staging(CAMPAIGN).iterdir() if path.is_dir()]
    (directory / HEAD).write_bytes(data)
    stream_and_fail(store, 8)
    kept, saved = sweep(store, CAMPAIGN)
    assert (kept.directory, kept.run_id) == (directory.name, None)
    assert HEAD in kept.kept_because
    assert saved.run_id == f"{CAMPAIGN}/00008"
    assert (directory / STREAM).exists()
    assert numbers(store) == [8]


def test_what_holds_no_rows_is_tidied_away(store: Store) -> None:
    """A writer killed before its first row, and a lock without a directory."""
    staging = store.staging(CAMPAIGN)
    (staging / "00007-host-1-aabbccdd").mkdir(parents=True)
    (staging / "00007-host-1-aabbccdd" / HEAD).write_bytes(b"{")
    (staging / "00008-host-1-aabbccdd.lock").touch()
    (swept,) = sweep(store, CAMPAIGN)
    assert swept == Swept("00007-host-1-aabbccdd")
    assert leftovers(store) == []
