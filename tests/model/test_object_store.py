"""A store where no directory can be renamed: runs still appear whole, and two writers do not mix."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from model import history
from model.leftovers import sweep
from model.refusal import InfrastructureFailure, Refusal
from model.store import RunExists, Store
from tests.model.recording import PLAN, row
from tests.model.stored_runs import CAMPAIGN, SCHEDULE, VERDICT, fill, leftovers, numbers, put_run, rows_of, writers_of


class ObjectStore(pafs.FileSystemHandler):
    """A directory as a bucket: files are put and read whole, nothing can be moved. It has `room` for so many files more."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.local = pafs.SubTreeFileSystem(self.root, pafs.LocalFileSystem())
        self.room = 1_000
        self.meanwhile: Callable[[], object] | None = None  # happens once, in the middle of the next file

    def get_type_name(self) -> str:
        return "object-store"

    def normalize_path(self, path: str) -> str:
        return path

    def get_file_info(self, paths: list[str]) -> list[pafs.FileInfo]:
        return list(self.local.get_file_info(paths))

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        return list(self.local.get_file_info(selector))

    def create_dir(self, path: str, recursive: bool) -> None:
        self.local.create_dir(path, recursive=recursive)

    def open_input_file(self, path: str) -> Any:
        return self.local.open_input_file(path)

    def open_input_stream(self, path: str) -> Any:
        return self.local.open_input_stream(path)

    def open_output_stream(self, path: str, metadata: object) -> Any:
        if self.room == 0:
            raise OSError(errno.ENOSPC, "the bucket is full")
        self.room -= 1
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile:
            meanwhile()
        return self.local.open_output_stream(path)

    def _never(self, *_: object) -> Any:
        raise NotImplementedError("an object store cannot do this")

    move = copy_file = delete_dir = delete_dir_contents = delete_root_dir_contents = delete_file = open_append_stream = _never


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """What `bucket://` leads to; local staging stays in the test's own directory."""
    (tmp_path / "bucket").mkdir()
    (tmp_path / "tmp").mkdir()
    handler = ObjectStore(tmp_path / "bucket")

    class FileSystem:
        @staticmethod
        def from_uri(uri: str) -> tuple[pafs.FileSystem, str]:
            return pafs.PyFileSystem(handler), uri.removeprefix("bucket://")

    monkeypatch.setattr("model.store.pafs.FileSystem", FileSystem)
    monkeypatch.setattr("model.store.tempfile.tempdir", str(tmp_path / "tmp"))
    return handler


@pytest.fixture
def remote(bucket: ObjectStore) -> Store:
    store = Store("bucket://store")
    assert store.local is None
    return store


def test_a_run_in_an_object_store_is_listed_and_read_back(remote: Store, records_read: list[int]) -> None:
    """The same as on a disk, the index included."""
    assert remote.runs(CAMPAIGN) == []
    put_run(remote, 7)
    put_run(remote, 8, rows=0)
    again = Store("bucket://store")
    assert again.campaigns() == [CAMPAIGN]
    assert [(entry.number, entry.rows) for entry in again.runs(CAMPAIGN)] == [(7, 3), (8, 0)]
    records_read.clear()
    assert numbers(again) == [7, 8]
    assert records_read == []
    run = again.open(CAMPAIGN, 7)
    assert writers_of(run) == {"raw-0"}
    assert (run.plan(), run.schedule(), run.record.verdict) == (PLAN, SCHEDULE, VERDICT)
    assert history.to_rows(run.history().table) == rows_of(7)
    assert leftovers(remote) == []
    with pytest.raises(Refusal, match=f"no such run: {CAMPAIGN}/00009"):
        again.open(CAMPAIGN, 9)


def test_in_an_object_store_the_second_writer_is_told(remote: Store) -> None:
    """Both staged the same number; the first to publish stands, and its run is wholly its own."""
    with remote.begin(CAMPAIGN, 7, PLAN) as first, remote.begin(CAMPAIGN, 7, PLAN) as second:
        fill(first, 7, who="first")
        fill(second, 7, rows=9, who="second")
        second.finish("done", None)
        with pytest.raises(RunExists, match=f"the run {CAMPAIGN}/00007 exists already"):
            first.finish("done", None)
    assert numbers(remote) == [7]
    assert writers_of(remote.open(CAMPAIGN, 7)) == {"second"}
    assert leftovers(remote) == []


def test_in_an_object_store_two_writers_at_once_do_not_mix(remote: Store, bucket: ObjectStore) -> None:
    """One publishes while the other is copying its files: the slower one is told, and none of its files is in the run."""
    with remote.begin(CAMPAIGN, 7, PLAN) as slow, remote.begin(CAMPAIGN, 7, PLAN) as quick:
        fill(slow, 7, who="slow")
        fill(quick, 7, rows=9, who="quick")
        bucket.meanwhile = lambda: quick.finish("done", None)
        with pytest.raises(RunExists):
            slow.finish("done", None)
    assert numbers(remote) == [7]
    assert writers_of(remote.open(CAMPAIGN, 7)) == {"quick"}


def test_in_an_object_store_files_of_a_writer_that_lost_do_no_harm(remote: Store, bucket: ObjectStore) -> None:
    """Half of a run that was never published lies beside the one that stands."""
    bucket.room = 3
    with pytest.raises(InfrastructureFailure):
        put_run(remote, 7, who="first")
    bucket.room = 1_000
    put_run(remote, 7, who="second")
    assert writers_of(remote.open(CAMPAIGN, 7)) == {"second"}


def test_in_an_object_store_a_run_without_run_json_is_not_listed(remote: Store, bucket: ObjectStore) -> None:
    """However many of its files are there already; the sweep of the same machine puts the rest."""
    for room in range(3):  # history, plan, run.json
        bucket.room = room
        with (
            pytest.raises(InfrastructureFailure, match=r"the run cannot be stored: .*the bucket is full"),
            remote.begin(CAMPAIGN, room, PLAN) as writer,
        ):
            writer.stream().append(row(room, 0))
            writer.finish("done", None)
        assert remote.runs(CAMPAIGN) == []
        with pytest.raises(Refusal, match="no such run"):
            remote.open(CAMPAIGN, room)
    bucket.room = 1_000
    assert [swept.run_id for swept in sweep(remote, CAMPAIGN)] == [f"{CAMPAIGN}/0000{number}" for number in range(3)]
    assert numbers(remote) == [0, 1, 2]
    for run in remote.open_all(CAMPAIGN):
        run.verify()
        assert (run.record.status, run.record.rows) == ("done", 1)
    assert leftovers(remote) == []


def test_an_object_store_that_may_only_be_read_is_listed(remote: Store, bucket: ObjectStore) -> None:
    """The index cannot be put, and nobody needs it."""
    put_run(remote, 7)
    bucket.room = 0
    assert numbers(remote) == [7]
    assert numbers(remote) == [7]
