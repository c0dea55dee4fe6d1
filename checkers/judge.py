"""checkers/judge.py: the one verdict of a run (CHECKERS 7).

In     `RunEvidence` of a run of ours, or the history of an imported one
Out    a `Verdict`: every checker's result, every promise and whether it was seen broken, and why anything is unknown
Keeps  only a forbidden anomaly is a failure, and it stays one whatever else is unknown; what nobody looked at is never valid; an
       exception inside a checker is a doubt and hides nothing that another saw
Not    finding (the other checkers), promising (checkers/promises.py), keeping it small (checkers/bounded.py)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from checkers.anomalies import anomalies_of
from checkers.availability import Availability, stats
from checkers.bounded import bounded
from checkers.cells import seen_cells, unseen_cells
from checkers.columns import Columns
from checkers.doubts import NOT_READ, NOTHING, doubts_of_checkers, doubts_of_the_run, without_repeats
from checkers.found import Checked, Found
from checkers.history import Beside
from checkers.history import look as look_at_history
from checkers.liveness import check_liveness
from checkers.meanwhile import Meanwhile
from checkers.mode import Mode
from checkers.one_fact import one_fact_one_name
from checkers.promises import Everything, Judges, Promises
from checkers.run_evidence import RunEvidence
from checkers.run_loop import comes_back, crashes, invariants
from checkers.signature import signature
from checkers.tally import Tally
from model.damage import DamageLedger
from model.verdict import Anomaly, Cell, CheckerResult, Scope, Valid, Verdict, Witness, merge

Look = Callable[[Columns, Mode, Beside], Sequence[Checked]]
Live = Callable[[RunEvidence, DamageLedger | None], Sequence[Checked]]
_Result = TypeVar("_Result")


def judge(
    run: RunEvidence,
    *,
    look: Look = look_at_history,
    live: Live = check_liveness,
    used: Sequence[Availability] | None = None,
) -> Verdict:
    """Of a run of ours, under its own promises. `used`: how its partitions could be used, if somebody has found out already."""
    promises, meanwhile, tally = Promises(run), Meanwhile(run.events, run.changes), Tally(run.columns)
    beside = Beside(complete=run.complete, changes=run.changes, changes_complete=run.changes_complete)
    looked = list(_looked(partial(look, run.columns, Mode(freshness="fenced"), beside)))
    lived = _attempt("liveness", lambda: live(run, promises.ledger))
    seen = (crashes(run.seen, run.plan.system), *invariants(run.seen.violations), comes_back(run.seen))
    judged = tuple(_judged([*looked, *([lived] if isinstance(lived, CheckerResult) else lived)], promises, meanwhile))
    of_the_run = _attempt("promises", lambda: list(doubts_of_the_run(run, tally, promises)))
    cells = _attempt("promises", lambda: _cells(run, judged, tally, promises))
    crashed = [each for each in (of_the_run, cells) if isinstance(each, CheckerResult)]
    figures = _attempt("availability", lambda: stats(run, used))
    return _verdict(
        run.run_id,
        (*seen, *judged, *crashed[:1], *([figures] if isinstance(figures, CheckerResult) else [])),
        cells=() if isinstance(cells, CheckerResult) else cells,
        doubts=([] if looked else [NOTHING]) + ([] if isinstance(of_the_run, CheckerResult) else of_the_run),
        figures={} if isinstance(figures, CheckerResult) else figures,
    )


def judge_strict(
    run_id: str, table: pa.Table, mode: Mode, allow: frozenset[str] = frozenset(), *, look: Look = look_at_history
) -> Verdict:
    """Of somebody else's history: nothing is known of it but itself, and nothing is allowed but what its owner allows (10.1)."""
    columns = Columns(table)
    looked = _looked(partial(look, columns, mode, Beside()))
    if not columns.flag("final").any():
        looked = map(_content_without_final_read, looked)
    judged = tuple(_judged(looked, Everything(allow), Meanwhile()))
    doubts = [] if judged and Tally(columns).succeeded else [NOTHING]
    return _verdict(run_id, judged, cells=tuple(seen_cells(judged)), doubts=doubts)


def _verdict(
    run_id: str,
    results: Sequence[CheckerResult],
    *,
    cells: Sequence[Cell],
    doubts: Sequence[str],
    figures: Mapping[str, float] | None = None,
) -> Verdict:
    reasons = without_repeats((*doubts, *doubts_of_checkers(results)))
    doubt: tuple[Valid, ...] = ("unknown",) if reasons else ()
    return bounded(
        Verdict(
            run_id=run_id,
            valid=merge((*(result.valid for result in results), *doubt)),
            reasons=reasons,
            checkers=tuple(results),
            cells=tuple(cells),
            signatures=tuple(dict.fromkeys(_signatures(results))),
            stats={**(figures or {}), "seconds": round(sum(result.seconds for result in results), 6)},
        )
    )


def _cells(run: RunEvidence, judged: Sequence[CheckerResult], tally: Tally, promises: Promises) -> tuple[Cell, ...]:
    seen = seen_cells(judged)
    return (*seen, *unseen_cells(seen, run.plan, tally, promises))


# -- checkers -----------------------------------------------------------------------------------------------------------


def _looked(look: Callable[[], Sequence[Checked]]) -> Iterator[Checked | CheckerResult]:
    looked = _attempt("history", look)
    if isinstance(looked, CheckerResult):
        yield looked
    else:
        yield from one_fact_one_name(looked)


def _content_without_final_read(looked: Checked | CheckerResult) -> Checked | CheckerResult:
    """Where nobody meant to read everything once more, that nobody did is no doubt."""
    if isinstance(looked, Checked) and looked.undecided.startswith(NOT_READ):
        return replace(looked, undecided="")
    return looked


def _attempt(name: str, what: Callable[[], _Result]) -> _Result | CheckerResult:
    """7.1 An exception inside a checker is unknown, with its message."""
    try:
        return what()
    except Exception as error:  # noqa: BLE001 - any, for a doubt must not hide a failure
        return CheckerResult(
            name=name, version=1, valid="unknown", reason=f"the checker {name} failed: {type(error).__name__}: {error}"
        )


def _judged(checked: Iterable[Checked | CheckerResult], judges: Judges, meanwhile: Meanwhile) -> Iterator[CheckerResult]:
    for each in checked:
        yield each if isinstance(each, CheckerResult) else _result(each, judges, meanwhile)


def _result(checked: Checked, judges: Judges, meanwhile: Meanwhile) -> CheckerResult:
    """What could be judged of it stays judged, also beside something that could not."""
    anomalies: list[Anomaly] = []
    reason = checked.undecided
    for found in checked.found:
        judged = _attempt(checked.name, partial(_anomalies, found, judges, meanwhile))
        if isinstance(judged, CheckerResult):
            reason = judged.reason or reason
        else:
            anomalies += judged
    doubt: Valid = "unknown" if reason else "valid"
    return CheckerResult(
        name=checked.name,
        version=checked.version,
        scope=None if checked.at is None else Scope(topic=checked.at[0], partition=checked.at[1]),
        valid="invalid" if any(anomaly.cell == "forbidden" for anomaly in anomalies) else doubt,
        mode=checked.mode,
        anomalies=tuple(anomalies),
        counts=checked.counts,
        seconds=checked.seconds,
        reason=reason or None,
    )


def _anomalies(found: Found, judges: Judges, meanwhile: Meanwhile) -> list[Anomaly]:
    return list(anomalies_of(found, judges.of(found), meanwhile))


# -- signatures ---------------------------------------------------------------------------------------------------------


def _signatures(results: Iterable[CheckerResult]) -> list[str]:
    """7.5 Of each kind of failure one: that of its first witness, in whatever partition."""
    first: dict[tuple[str | None, ...], Anomaly] = {}
    for result in results:
        for anomaly in result.anomalies:
            if anomaly.cell == "forbidden":
                kind = anomaly.name, anomaly.level, anomaly.rule, anomaly.loss_class, anomaly.evidence
                if kind not in first or _proven(anomaly) < _proven(first[kind]):
                    first[kind] = anomaly
    return [signature(anomaly) for anomaly in first.values()]


def _proven(anomaly: Anomaly) -> tuple[int, tuple[int, ...]]:
    witness = anomaly.witnesses[0] if anomaly.witnesses else Witness(text="", ops=(), from_ns=0, to_ns=0)
    return witness.to_ns, witness.ops
