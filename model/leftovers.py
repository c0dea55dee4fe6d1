"""model/leftovers.py: what the next start does with runs whose writers died.

In    a store and a campaign
Out   runs of status `killed` with every row that was durable, and the staging directory empty of dead writers' things
Keeps a writer that lives is never touched: it holds its lock (model/staging.py)
"""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from model import run_record
from model.refusal import Refusal, TidemarkError
from model.run_record import RunRecord
from model.run_writer import HEAD, STREAM, Head, drop_stream, put_file, put_history, seal
from model.staging import Claim, ownerless
from model.store import RunExists, Store
from model.stream import read_stream


class Swept(msgspec.Struct, frozen=True):
    """One leftover: the run that was made of it, if there was anything to save; or why it had to stay."""

    directory: str
    run_id: str | None = None
    rows: int = 0
    kept_because: str = ""


def sweep(store: Store, campaign: str) -> list[Swept]:
    """Save what was durable of every dead writer's run, and remove the rest. What cannot be saved now is kept for later."""
    swept = []
    with ownerless(store.staging(campaign)) as directories:
        for directory in directories:
            try:
                swept.append(_save(store, campaign, directory))
                shutil.rmtree(directory, ignore_errors=True)
            except (TidemarkError, OSError) as error:
                swept.append(Swept(directory.name, kept_because=str(error)))
    return swept


def _save(store: Store, campaign: str, directory: Path) -> Swept:
    """Publish a run that was whole but for its last step, or make one of status `killed` from its rows."""
    try:
        if sealed := _sealed(directory):
            drop_stream(store.files, directory)
            store.publish(directory, sealed)
            return Swept(directory.name, sealed.run_id, sealed.rows)
        if (directory / HEAD).exists() and (directory / STREAM).exists():
            return _save_rows(store, campaign, directory)
    except RunExists:
        pass  # it was saved before, by a sweep that died before it could tidy up
    return Swept(directory.name)


def _sealed(directory: Path) -> RunRecord | None:
    """The record of a run that was whole when its writer died, if it was."""
    try:
        record = run_record.from_json((directory / run_record.FILE).read_bytes(), directory.name)
    except (OSError, Refusal):
        return None
    whole = all((directory / stored.path).exists() for stored in record.files.values())
    return record if whole else None


def _save_rows(store: Store, campaign: str, directory: Path) -> Swept:
    """In a directory of our own: were we killed now, the rows would still lie where they were."""
    head = _head(directory)
    table = read_stream(directory / STREAM).table
    claim = Claim(store.staging(campaign), directory.name.partition("-")[0], store.files)
    try:
        about = msgspec.structs.replace(head.about, complete=False)
        stored = {
            "history": put_history(store.files, claim.directory, table, about),
            "plan": put_file(store.files, claim.directory / "plan.json", bytes(head.plan)),
        }
        record = head.record("killed", rows=table.num_rows, files=stored, reason="the writer of this run was killed")
        seal(store.files, claim.directory, record)
        store.publish(claim.directory, record)
    finally:
        claim.release()
    return Swept(directory.name, record.run_id, table.num_rows)


def _head(directory: Path) -> Head:
    try:
        return msgspec.json.decode((directory / HEAD).read_bytes(), type=Head)
    except ValueError as error:  # msgspec's own errors, and UnicodeDecodeError
        raise Refusal(f"not the head of a run: {error}", where=f"{directory.name}/{HEAD}") from None
