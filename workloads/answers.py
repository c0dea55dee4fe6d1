"""workloads/answers.py: what the row of an answered operation tells about the log.

In   rows of model/operation
Out  offsets, exclusive at the end
"""

from __future__ import annotations

from model.operation import Row


def end_of_read(row: Row) -> int | None:
    """One past the last record that a read returned; None when it returned nothing."""
    if not row.values:
        return None
    if row.offsets:
        return row.offsets[-1] + 1
    base = row.from_offset if row.base_offset is None else row.base_offset
    return None if base is None else base + len(row.values)


def end_as_told(row: Row, known: int) -> int:
    """Where the log ends, by this answer; `known` where it does not say. The latest answer counts, for a log may shrink."""
    if row.type != "ok":
        return known
    if row.kind == "append" and row.offset is not None:
        return row.offset + 1
    if row.kind == "end_offset" and row.offset is not None:
        return row.offset
    if row.kind == "read" and (end := end_of_read(row)) is not None:
        return end if row.at_end else max(known, end)
    return known
