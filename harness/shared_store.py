"""harness/shared_store.py: one store, used from several machines.

In     a store and a campaign, where runs are asked for and where they are executed
Out    `announce`: the campaign's directory is there. `check_here`: an executor sees that directory and may write into it, or a
       sentence says which host cannot. `holds`: whether a run is there
Why    a path is only a name: elsewhere it may lead to another directory, in which runs would be stored and never found
"""

from __future__ import annotations

import os
import socket

import pyarrow as pa
import pyarrow.fs as pafs

from model import run_record
from model.files import make_directories
from model.identity import written_number
from model.leftovers import sweep
from model.refusal import InfrastructureFailure
from model.staging import Claim
from model.store import RUNS, Store


def announce(store: Store, campaign: str) -> None:
    """Nothing to do for a URI: it means the same everywhere."""
    if store.local is not None:
        make_directories(store.files, store.local / campaign / RUNS)


def check_here(store: Store, campaign: str) -> None:
    """As a writer would: in the staging directory, and for a URI in the store as well."""
    host = socket.gethostname()
    if store.local is not None and not (store.local / campaign / RUNS).is_dir():
        raise InfrastructureFailure(f"{store.local} on {host} is not the store that is meant: it has no {campaign}")
    try:
        if store.local is None:
            sweep(store, campaign)  # what was staged here and not sent is nobody else's to find
            _put_and_remove(store, f"{store.base}/{campaign}/.check-{host}-{os.getpid()}")
        Claim(store.staging(campaign), "check", store.files).release()
    except (pa.ArrowException, OSError) as error:
        raise InfrastructureFailure(f"{host} cannot write to {store.uri}: {error}") from None


def _put_and_remove(store: Store, path: str) -> None:
    with store.filesystem.open_output_stream(path) as file:
        file.write(b"")
    store.filesystem.delete_file(path)


def holds(store: Store, campaign: str, number: int) -> bool:
    path = f"{store.base}/{campaign}/{RUNS}/{written_number(number)}/{run_record.FILE}"
    return bool(store.filesystem.get_file_info(path).type == pafs.FileType.File)
