"""model/whole_run.py: one run with everything that it left behind, in memory: out of its own files, or out of a pack.

In     a store, or a pack of it
Out    `WholeRun`: the same, wherever it was read from
Keeps  every file of the run was held against its digest, also those of which nothing is kept
Not    what it means (checkers/stored.py), how packs are kept (model/pack.py)
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pyarrow as pa

from model import evidence, plan_file, run_record
from model.history import History
from model.identity import run_id
from model.look import look_of
from model.plan import Plan
from model.refusal import Refusal
from model.run_record import RunRecord
from model.store import Store


class WholeRun(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that can be asked of a run but its schedule, which stands in the plan too."""

    record: RunRecord
    plan_json: bytes = b""
    history: History | None = None
    """None: it failed before there was one."""
    tables: Mapping[evidence.Name, pa.Table] = {}
    look: str = ""
    """Of its directory, from before anything was read; nothing where the store is not local."""

    @property
    def number(self) -> int:
        return self.record.number

    def plan(self) -> Plan:
        if not self.plan_json:
            raise Refusal("this run has no plan", where=self.record.run_id)
        return plan_file.of_stored(self.plan_json, f"{self.record.run_id}: plan.json")


def read_whole(store: Store, campaign: str, number: int) -> WholeRun:
    """A run from its own files. What is wrong with one is a `Refusal` that names it."""
    look = _look(store, campaign, number)
    run = store.open(campaign, number)
    files = {name: run.bytes_of(name) for name in run.record.files}
    history = run.history_in(files["history"]) if "history" in files else None
    if history is not None and history.about.run_id != run.record.run_id:
        raise Refusal(f"this is the history of {history.about.run_id}", where=f"{run.record.run_id}: history.parquet")
    return WholeRun(
        record=run.record,
        plan_json=files.get("plan", b""),
        history=history,
        tables={name: run.table_in(name, files[name]) for name in evidence.NAMES if name in files},
        look=look,
    )


def _look(store: Store, campaign: str, number: int) -> str:
    """A local run was published whole, so one without run.json has lost it."""
    if store.local is None:
        return ""
    directory = store.directory(campaign, number)
    try:
        look = look_of(directory)
    except OSError:
        return ""  # no run at all: whoever opens it says so
    if not store.has_record(campaign, number):
        raise Refusal("the file is missing", where=f"{run_id(campaign, number)}: {run_record.FILE}")
    return look
