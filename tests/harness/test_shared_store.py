"""A store that several machines use: the wrong directory, or one that may not be written, is found before any run is executed."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from harness.shared_store import announce, check_here, holds
from model.refusal import InfrastructureFailure
from model.store import Store
from tests.model.stored_runs import CAMPAIGN, put_run

HOST = socket.gethostname()


def remote(path: Path) -> Store:
    """As a URI would lead to it: nothing can be renamed there."""
    store = Store(path)
    store.local = None
    return store


def everything(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*"))


def test_a_store_that_is_shared_is_found_and_left_as_it_was(tmp_path: Path) -> None:
    """Asking twice is asking once."""
    store = Store(tmp_path / "store")
    for _ in range(2):
        announce(store, CAMPAIGN)
        check_here(store, CAMPAIGN)
    assert everything(tmp_path) == ["store", f"store/{CAMPAIGN}", f"store/{CAMPAIGN}/.staging", f"store/{CAMPAIGN}/runs"]


def test_another_directory_of_the_same_name_is_not_taken_for_the_store(tmp_path: Path) -> None:
    """A store with other campaigns, or an empty place where one would be made: the host is named, and nothing is made there."""
    announce(Store(tmp_path), "another")
    with pytest.raises(InfrastructureFailure, match=f"{tmp_path} on {HOST} is not the store that is meant: it has no {CAMPAIGN}"):
        check_here(Store(tmp_path), CAMPAIGN)
    assert everything(tmp_path) == ["another", "another/runs"]


def test_a_store_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    """By the host that cannot, in the system's words."""
    store = Store(tmp_path)
    announce(store, CAMPAIGN)
    (tmp_path / CAMPAIGN / ".staging").touch()
    with pytest.raises(InfrastructureFailure, match=rf"{HOST} cannot write to {tmp_path}: .*\.staging"):
        check_here(store, CAMPAIGN)


def test_behind_a_URI_a_file_is_put_and_removed(tmp_path: Path) -> None:
    """There is no directory that could be another one; only whether it may be written is asked."""
    (tmp_path / CAMPAIGN).mkdir()
    check_here(remote(tmp_path), CAMPAIGN)
    assert everything(tmp_path) == [CAMPAIGN]
    with pytest.raises(InfrastructureFailure, match=f"{HOST} cannot write to {tmp_path}"):
        check_here(remote(tmp_path), "nowhere")


def test_a_store_holds_what_is_whole(tmp_path: Path) -> None:
    """No run.json, no run: its directory alone is a run in the making."""
    store = Store(tmp_path)
    put_run(store, 7)
    (tmp_path / CAMPAIGN / "runs" / "00008").mkdir()
    assert [number for number in range(10) if holds(store, CAMPAIGN, number)] == [7]
