"""checkers/run_evidence.py: everything that one run left behind, as it is judged.

In     the run loop, or a store: the plan, the history, and what metadata and faults told beside it (CHECKERS 1.7, 1.8)
Out    `RunEvidence`: plain data. Times of all of it count from the start of the run, on one clock
Not    what follows from it (checkers/judge.py); an imported history, which has no such evidence (`judge_strict`)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import msgspec
import pyarrow as pa

from checkers.columns import Columns
from model.plan import Plan
from model.seen import Seen

EvidenceRow = Mapping[str, Any]


class RunEvidence(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run of ours."""

    run_id: str
    plan: Plan
    table: pa.Table
    """The history, in the canonical schema."""
    complete: bool = True
    """The run ended by itself, so that no operation lacks its row (1.6)."""
    events: Sequence[EvidenceRow] = ()
    changes: Sequence[EvidenceRow] = ()
    registrations: Sequence[EvidenceRow] = ()
    changes_complete: bool = True
    """Nothing is missing in `changes`."""
    seen: Seen = Seen()

    @cached_property
    def columns(self) -> Columns:
        """Of the history, converted once for everybody who looks at it."""
        return Columns(self.table)
