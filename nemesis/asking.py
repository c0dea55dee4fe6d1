"""nemesis/asking.py: how an operator's fault asks the cluster for something and waits for the answer.

In   one call of model.cluster.Admin that still lacks its `done`
Out  `Fired`: it bit if the answer has no error. No answer in time: nobody knows, it may still happen
"""

from __future__ import annotations

from collections.abc import Callable

from model.cluster import AdminDone, Fired, Steps, Until

LIMIT_NS = 10 * 10**9


def asked(ask: Callable[[AdminDone], None]) -> Steps[Fired]:
    answers: list[str | None] = []
    ask(answers.append)
    if not (yield Until(lambda state: bool(answers), LIMIT_NS)):
        return Fired(bit=None, note="no answer came")
    error = answers[0]
    return Fired(bit=error is None, note=error or "")
