"""tests/spark_analysis/made_up.py: rows that nobody ran, for everything that is made of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from spark_analysis.rows import Row, to_batch

LOST = "s1:lost_write:committed:C5:suffix:final:A≠F,clean"
STALE = "s1:stale_read:committed:C3:-:-:A≠R,e+"
NO_RECORD: dict[str, Any] = {"quarantined": "run.json: the file is missing"}


def run(number: int, cell: str = "c0ffee00", *, fails: Sequence[str] = (), **more: Any) -> Row:
    """One judged run: valid, unless it fails."""
    anomalies = [anomaly(signature) for signature in fails]
    return {
        "store": "/store",
        "campaign": "nightly",
        "number": number,
        "seed": 1000 + number,
        "status": "done",
        "reason": "",
        "valid": "invalid" if fails else "valid",
        "reasons": [],
        "signatures": list(fails),
        "anomalies": anomalies,
        "promises": [],
        "mutants": [],
        "cell": cell,
        "words": f"words of {cell}",
        "version": "1.0",
        "night": "2026-11-18",
        "fired": [],
        "bit": [],
        "operation_count": 100,
        **more,
    }


def anomaly(signature: str, count: int = 1, cell: str = "forbidden") -> Row:
    _, name, level, rule, *_ = signature.split(":")
    said = {"name": name, "level": level, "rule": rule, "cell": cell, "count": count}
    return {**said, "signature": signature, "partition": "t/0", "witness": f"what {name} looked like"}


def quarantined(number: int) -> Row:
    return {"store": "/store", "campaign": "nightly", "number": number, **NO_RECORD}


def batches(rows: Iterable[Row], size: int = 7) -> list[pa.RecordBatch]:
    """Pieces that are no multiple of anything."""
    every = list(rows)
    return [to_batch(every[at : at + size]) for at in range(0, len(every), size)]
