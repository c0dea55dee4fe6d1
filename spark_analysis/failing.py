"""spark_analysis/failing.py: which failures there are, in which config cells, how often; and the figures of the runs that kept
every promise.

In     rows of runs, a batch at a time
Out    `Failures`: per cell how many runs were judged, how many of them had which signature, sums of figures; a table of them
Keeps  pure; what is held grows with cells and signatures, never with runs. A run counts for a signature once, however often it
       failed so
Not    what is new (spark_analysis/comparison.py)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from checkers.signature import short_name
from model.identity import run_id
from spark_analysis.intervals import Sums

COMPARED: Final = ("recovery_s", "append_p99_ms", "appends_per_s")
LEAST: Final = 1e-6
"""Figures are compared by their logarithms, so that one slow run does not hide the others; nothing is less than this."""

COLUMNS: Final = [
    *("quarantined", "valid", "signatures", "campaign", "number", "seed", "store", "cell", "words", "mutants", "night"),
    *("anomalies", *COMPARED),
]
"""Of a row, what is needed here."""


class First(msgspec.Struct, frozen=True):
    """The first run that failed so."""

    store: str
    campaign: str
    number: int
    seed: int
    witness: str

    @property
    def run(self) -> str:
        return run_id(self.campaign, self.number)


class Failing(msgspec.Struct):
    """One signature in one cell."""

    first: First
    runs: int = 0
    mutants: set[str] = msgspec.field(default_factory=set)
    nights: set[str] = msgspec.field(default_factory=set)


class Cell(msgspec.Struct):
    """One config cell."""

    words: str
    judged: int = 0
    valid: int = 0
    broken: int = 0
    failing: dict[str, Failing] = msgspec.field(default_factory=dict)
    figures: dict[str, Sums] = msgspec.field(default_factory=lambda: {name: Sums() for name in COMPARED})
    """Logarithms, of valid runs only: one that was stopped by its failure is no slower for it."""


Failures = dict[str, Cell]


def failures_of(batches: Iterable[pa.RecordBatch]) -> Failures:
    """By cell."""
    cells: Failures = {}
    for batch in batches:
        for row in batch.to_pylist():
            if row["quarantined"] is None and row["valid"] is not None:
                _add(cells.setdefault(row["cell"], Cell(row["words"])), row)
    return cells


def _add(cell: Cell, row: Mapping[str, Any]) -> None:
    cell.judged += 1
    cell.broken += row["valid"] == "invalid"
    if row["valid"] == "valid":
        cell.valid += 1
        for name, sums in cell.figures.items():
            if row[name] is not None:
                sums.add(math.log(max(row[name], LEAST)))
    for signature in dict.fromkeys(row["signatures"]):
        failing = cell.failing.setdefault(signature, Failing(_first(row, signature)))
        failing.runs += 1
        failing.mutants |= set(row["mutants"])
        failing.nights |= {row["night"]} - {""}


def _first(row: Mapping[str, Any], signature: str) -> First:
    told = [anomaly["witness"] for anomaly in row["anomalies"] if anomaly["signature"] == signature]
    return First(row["store"], row["campaign"], row["number"], row["seed"], (told or [""])[0] or "")


def name_of(signature: str) -> str:
    """What a person calls the failure: `lost_write`."""
    return signature.split(":")[1] if ":" in signature else signature


def replay(store: str, first: First) -> str:
    """The command that shows it again."""
    return f"tidemark replay {store}/{first.run}"


# -- the table ----------------------------------------------------------------------------------------------------------

_IN_CELL = pa.struct({"cell": pa.string(), "words": pa.string(), "runs": pa.int64(), "judged": pa.int64()})
SIGNATURES: Final = pa.schema(
    {
        "signature": pa.string(),
        "short": pa.string(),
        "name": pa.string(),
        "runs": pa.int64(),
        "cells": pa.list_(_IN_CELL),
        "mutants": pa.list_(pa.string()),
        "nights": pa.list_(pa.string()),
        "campaign": pa.string(),  # of the first run, as the next three
        "number": pa.int64(),
        "seed": pa.int64(),
        "replay": pa.string(),
        "witness": pa.string(),
    }
)


def signatures_of(cells: Failures, store: str) -> pa.Table:
    """Every way to fail, the most frequent first. `store`: as people write it."""
    found = {signature for cell in cells.values() for signature in cell.failing}
    rows = [_signature_row(signature, cells, store) for signature in sorted(found)]
    return pa.Table.from_pylist(sorted(rows, key=lambda row: -row["runs"]), schema=SIGNATURES)


def _signature_row(signature: str, cells: Failures, store: str) -> dict[str, Any]:
    here = {name: (cell, cell.failing[signature]) for name, cell in sorted(cells.items()) if signature in cell.failing}
    each = [failing for _, failing in here.values()]
    first = min((failing.first for failing in each), key=lambda first: (first.campaign, first.number))
    return {
        "signature": signature,
        "short": short_name(signature),
        "name": name_of(signature),
        "runs": sum(failing.runs for failing in each),
        "cells": [
            {"cell": name, "words": cell.words, "runs": failing.runs, "judged": cell.judged}
            for name, (cell, failing) in here.items()
        ],
        "mutants": sorted(set().union(*(failing.mutants for failing in each))),
        "nights": sorted(set().union(*(failing.nights for failing in each))),
        "campaign": first.campaign,
        "number": first.number,
        "seed": first.seed,
        "replay": replay(store, first),
        "witness": first.witness,
    }
