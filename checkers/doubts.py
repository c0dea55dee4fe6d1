"""checkers/doubts.py: why a run may be no better than unknown (CHECKERS 6.7, 7.2).

In     the run, its tally, what the checkers could not decide
Out    `reasons`: short, fixed phrases, each once; behind some of them the partitions they are about
Not    how weak a promise is: unknown means that evidence is missing
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from checkers.promises import Promises
from checkers.run_evidence import RunEvidence
from checkers.tally import Tally
from checkers.words import some
from model.cluster import TopicPartition
from model.seen import Seen
from model.verdict import CheckerResult

NOTHING = "nothing was checked"
REFUSED = "an event could not fire"
NOT_CONVERGED = "the cluster did not come back in time, and could not be expected to"
NOT_READ = "final read incomplete"
NOT_COMPLETE = "history incomplete"
NO_CHANGES = "changes missing although records were lost"
IN_VAIN = "none succeeded"
_MOST_NAMED: Final = 8


def doubts_of_the_run(run: RunEvidence, tally: Tally, promises: Promises) -> Iterator[str]:
    yield from _seen(run.seen)
    if not run.complete:
        yield NOT_COMPLETE
    if missing := _without_changes(run, promises):
        yield _about(NO_CHANGES, missing)
    for kind in tally.never_succeeded():
        yield f"{IN_VAIN}: {kind}"


def _seen(seen: Seen) -> Iterator[str]:
    if seen.refused:
        yield REFUSED
    if not seen.converged and seen.excuse:
        yield NOT_CONVERGED
    if not seen.read_to_the_end:
        yield NOT_READ


def _without_changes(run: RunEvidence, promises: Promises) -> list[str]:
    told = {(row["topic"], row["partition"]) for row in run.changes}
    return [_name(at) for at in promises.ledger.partitions if at not in told and promises.ledger.facts(at).lost]


def doubts_of_checkers(results: Iterable[CheckerResult]) -> list[str]:
    """Each phrase once, whatever the number of partitions; behind it what it is about."""
    about: dict[str, dict[str, None]] = {}
    for result in results:
        if result.reason is None or result.valid == "valid":
            continue
        phrase, _, details = result.reason.partition(": ")
        if not details and result.scope is not None and result.scope.partition is not None:
            details = _name((result.scope.topic, result.scope.partition))
        about.setdefault(phrase, {}).update({details: None} if details else {})
    return [_about(phrase, list(details)) for phrase, details in about.items()]


def without_repeats(doubts: Iterable[str]) -> tuple[str, ...]:
    """In order; a phrase alone says nothing beside the same phrase with its partitions."""
    kept = list(dict.fromkeys(doubts))
    return tuple(doubt for doubt in kept if not any(other.startswith(f"{doubt}: ") for other in kept))


def _about(phrase: str, names: list[str]) -> str:
    return f"{phrase}: {some(names, _MOST_NAMED)}" if names else phrase


def _name(at: TopicPartition) -> str:
    return f"{at[0]}/{at[1]}"
