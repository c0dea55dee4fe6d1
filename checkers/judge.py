"""checkers/judge.py: the one verdict of a run.

In     what the run loop knows: crashed nodes, refused events, whether the cluster came back and was read to the end
Out    a `Verdict`. A crashed node is a broken promise; everything else is `unknown` until checkers look at histories
Keeps  a doubt never hides a failure, and what nobody looked at is never called valid (CHECKERS 7.1)
"""

from __future__ import annotations

from collections.abc import Sequence

from model.verdict import Anomaly, CheckerResult, Valid, Verdict, Witness, merge

NO_CHECKERS = "no checker has looked at the history"
REFUSED = "an event could not fire"
NOT_CONVERGED = "the cluster did not come back in time"
NOT_READ = "the final read is incomplete"
MOST_WITNESSES = 3


def judge(run_id: str, *, crashed: Sequence[str], refused: bool, converged: bool, read_to_the_end: bool) -> Verdict:
    """What can be said of a run today."""
    doubts = (NO_CHECKERS, REFUSED * refused, NOT_CONVERGED * (not converged), NOT_READ * (not read_to_the_end))
    reasons = tuple(doubt for doubt in doubts if doubt)
    crash = crashes(crashed)
    doubt: tuple[Valid, ...] = ("unknown",) if reasons else ()
    return Verdict(
        run_id=run_id,
        valid=merge((crash.valid, *doubt)),
        reasons=reasons,
        checkers=(crash,),
        signatures=("s1:crash:committed:6.6:-:-:",) if crashed else (),
    )


def crashes(crashed: Sequence[str]) -> CheckerResult:
    """CHECKERS 6.6 crash: a node process ended, and neither the schedule nor the protocol ended it."""
    if not crashed:
        return CheckerResult(name="crash", version=1, valid="valid")
    witnesses = tuple(Witness(text=text, ops=(), from_ns=0, to_ns=0) for text in crashed[:MOST_WITNESSES])
    found = Anomaly(name="crash", level="committed", count=len(crashed), rule="6.6", cell="forbidden", witnesses=witnesses)
    return CheckerResult(name="crash", version=1, valid="invalid", anomalies=(found,))
