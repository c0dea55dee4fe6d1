"""Durability: whatever happens to the writer, every row that was called durable is read back, and no run is half there."""

from __future__ import annotations

import multiprocessing
import random
import threading
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

import pytest

from model import history
from model.leftovers import sweep
from model.operation import Row
from model.refusal import InfrastructureFailure
from model.run_writer import RunWriter
from model.store import Store
from model.stream import HistoryStream, read_stream
from tests.model.forgetful import ForgetfulFiles, PowerCutError
from tests.model.recording import ACK, CAMPAIGN, PLAN, record_until_killed, row

KILLS = 100


# -- killed -----------------------------------------------------------------------------------------------------------


def test_a_writer_killed_at_any_moment_loses_nothing_that_was_durable(tmp_path: Path) -> None:
    """SIGKILL at 100 random moments, in the middle of flushes, conversions and renames; then the next start sweeps."""
    children = multiprocessing.get_context("forkserver")
    children.set_forkserver_preload(["tests.model.recording", "pandas"])
    saved_by_sweep = rows_checked = 0
    checked: set[int] = set()
    for kill in range(KILLS):
        acks, sender = children.Pipe(duplex=False)
        child = children.Process(target=record_until_killed, args=(str(tmp_path), kill * 1_000, sender))
        child.start()
        sender.close()
        acks.poll(60)  # the first row is durable: from here on anything may happen
        time.sleep(random.Random(kill).random() * 0.5)
        child.kill()
        child.join()
        durable = dict(_told(acks))
        store = Store(tmp_path)
        rows_checked += check_runs(
            store, {entry.number for entry in store.runs(CAMPAIGN)} - checked
        )  # whole even before the sweep
        saved_by_sweep += sum(one.run_id is not None for one in sweep(store, CAMPAIGN))
        rows_checked += check_store(store, durable, already=checked)
        checked |= {entry.number for entry in store.runs(CAMPAIGN)}
    assert saved_by_sweep > KILLS // 2, "the kills hit the writer while it wrote"
    assert rows_checked > 10 * KILLS


def _told(acks: multiprocessing.connection.Connection) -> Iterator[tuple[int, int]]:
    with suppress(EOFError):
        while acks.poll(0):
            number, rows = ACK.unpack(acks.recv_bytes())
            yield number, rows


def check_store(store: Store, durable: dict[int, int], already: AbstractSet[int] = frozenset()) -> int:
    """Every listed run is whole, every durable row is in its run with its content, nothing is left in staging."""
    listed = {entry.number: entry.rows for entry in store.runs(CAMPAIGN)}
    missing = [number for number, rows in durable.items() if rows and number not in listed]
    assert not missing, f"runs {missing} had durable rows and are gone"
    for number in durable.keys() & listed.keys():
        assert listed[number] >= durable[number], f"run {number} has {listed[number]} rows, {durable[number]} were durable"
    staging = store.staging(CAMPAIGN)
    assert not staging.exists() or list(staging.iterdir()) == []
    return check_runs(store, set(listed) - already)


def check_runs(store: Store, numbers: set[int]) -> int:
    """Each of these runs is what its digests say, and holds the beginning of what was recorded. Returns the rows."""
    checked = 0
    for number in sorted(numbers):
        run = store.open(CAMPAIGN, number)
        run.verify()
        found = run.history()
        assert found.about.complete == (run.record.status == "done")
        rows = history.to_rows(found.table)
        assert rows == [row(number, op) for op in range(len(rows))], f"run {number} is not a prefix of what was recorded"
        checked += len(rows)
    return checked


# -- power lost -------------------------------------------------------------------------------------------------------


class Recording:
    """One run over a forgetful disk, stopped by the power cut, if it comes."""

    def __init__(self, files: ForgetfulFiles) -> None:
        self.store = Store(files.root, files)
        self.durable = 0
        self.completed = False

    def run(self) -> None:
        with suppress(PowerCutError, InfrastructureFailure), self.store.begin(CAMPAIGN, 7, PLAN) as writer:
            self._record(writer)
            writer.finish("done", None)
            self.completed = True

    def _record(self, writer: RunWriter) -> None:
        stream = writer.stream()
        for op in range(30):
            stream.append(row(7, op))
            if op % 10 == 9:
                _wait_for(stream, op + 1)
            self.durable = stream.durable


def _wait_for(stream: HistoryStream, rows: int) -> None:
    while stream.durable < rows and stream._thread.is_alive():
        stream._wake.set()
        time.sleep(0.0005)


def lose_power_at_every_step(root: Path, *, luck: bool, ignore_sync: bool = False) -> int:
    """Repeat the run, cut the power one step later each time, until the run gets through. Returns the number of steps."""
    for stop_at in range(1, 1_000):
        directory = root / str(stop_at)
        directory.mkdir()
        files = ForgetfulFiles(directory, stop_at, ignore_sync=ignore_sync)
        recording = Recording(files)
        recording.run()
        files.after_power_cut(random.Random(stop_at) if luck else None)
        store = Store(directory)
        sweep(store, CAMPAIGN)
        check_store(store, {7: recording.durable})
        if recording.completed:
            assert [entry.status for entry in store.runs(CAMPAIGN)] == ["done"]
            return stop_at
    raise AssertionError("the run never got through")


@pytest.mark.parametrize("luck", [False, True], ids=["nothing unsynced survives", "names survive, content does not"])
def test_a_power_cut_at_any_step_loses_nothing_that_was_durable(tmp_path: Path, luck: bool) -> None:
    """Over a file layer that forgets unsynced bytes and unsynced directory entries, stopped after every single step."""
    assert lose_power_at_every_step(tmp_path, luck=luck) > 20


def test_without_the_fsync_the_loss_is_seen(tmp_path: Path) -> None:
    """The test above has teeth: with a sync that does nothing it finds rows that were called durable and are gone."""
    with pytest.raises(AssertionError, match=r"were durable|are gone"):
        lose_power_at_every_step(tmp_path, luck=False, ignore_sync=True)


# -- the stream itself ------------------------------------------------------------------------------------------------


def written_stream(path: Path, count: int) -> list[Row]:
    stream = HistoryStream(path)
    rows = [row(1, op) for op in range(count)]
    for one in rows:
        stream.append(one)
    stream.close()
    assert stream.durable == count
    return rows


def test_a_stream_cut_or_flipped_anywhere_gives_whole_frames(tmp_path: Path) -> None:
    """Every byte position: the reader returns the frames before the damage, exactly, and never fails."""
    path = tmp_path / "history.stream"
    rows = written_stream(path, 10)
    data = path.read_bytes()
    double = data + data  # two frames, the same rows twice
    for at in range(0, len(double), 29):
        path.write_bytes(double[:at])
        whole = at // len(data)
        recovered = read_stream(path)
        assert history.to_rows(recovered.table) == rows * whole
        assert recovered.torn_bytes == at - whole * len(data)
        flipped = bytearray(double)
        flipped[at] ^= 0x20
        path.write_bytes(flipped)
        assert history.to_rows(read_stream(path).table) == (rows if at >= len(data) else [])


def test_a_row_is_durable_within_200_ms_without_anybody_asking(tmp_path: Path) -> None:
    """One row, no further one, no close: the thread flushes by itself."""
    stream = HistoryStream(tmp_path / "history.stream")
    stream.append(row(1, 0))
    arrived = threading.Event()

    def wait() -> None:
        while stream.durable < 1:
            time.sleep(0.005)
        arrived.set()

    threading.Thread(target=wait, daemon=True).start()
    assert arrived.wait(30), "the row never became durable"
    assert read_stream(tmp_path / "history.stream").table.num_rows == 1
    stream.close()


def test_a_full_disk_is_an_infrastructure_failure_with_figures(tmp_path: Path) -> None:
    """The recorder is told at the next append, and the sentence says how much is safe."""

    class FullDisk(ForgetfulFiles):
        def step(self) -> None:
            super().step()
            if self.steps > 4:
                raise OSError(28, "No space left on device")

    stream = HistoryStream(tmp_path / "history.stream", FullDisk(tmp_path))
    with pytest.raises(InfrastructureFailure, match=r"No space left on device.*rows durable"):
        for op in range(100_000):
            stream.append(row(1, op))
            if op % 100 == 0:
                time.sleep(0.001)


def test_a_file_that_exists_is_never_written_over(tmp_path: Path) -> None:
    """Two streams in one place would mix two runs."""
    written_stream(tmp_path / "history.stream", 1)
    with pytest.raises(FileExistsError):
        HistoryStream(tmp_path / "history.stream")
