"""checkers/bounded.py: a verdict that stays small whatever the history (CHECKERS 7.3).

In     a verdict with everything in it; at most three witnesses per anomaly and partition
Out    the same below 64 KB: at most 24 witnesses, at most 32 partitions, the others summarised; less if that is too much
Keeps  whether the run is valid, every count, and what failed: first the forbidden, then the allowed, then the rest. The earliest
       witness of each anomaly goes before anybody's second
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from model.verdict import Anomaly, Cell, CheckerResult, Scope, Verdict, Witness, merge, to_json

MOST_BYTES: Final = 64 * 1024
MOST_WITNESSES: Final = 24
_RANK: Final = {"forbidden": 0, "allowed": 1, "not judged": 2, None: 3}
_VALID_RANK: Final = {"invalid": 0, "unknown": 1, "valid": 2}
Partition = tuple[str, int | None]


class Room(msgspec.Struct, frozen=True):
    """How much is shown: of partitions, of letters in one text, of entries in one list."""

    partitions: int
    letters: int
    entries: int


ROOMS: Final = (
    Room(32, 4_000, 1_000),
    Room(32, 1_000, 200),
    Room(16, 600, 100),
    Room(8, 400, 50),
    Room(3, 300, 25),
    Room(0, 200, 16),
    Room(0, 100, 8),
)


def bounded(verdict: Verdict) -> Verdict:
    """In the first room that it fits into. The last one is too small for anything to be too large for it."""
    for room in ROOMS:
        smaller = _in(room, verdict)
        if len(to_json(smaller)) < MOST_BYTES:
            break
    return smaller


def _in(room: Room, verdict: Verdict) -> Verdict:
    shown = _shown_partitions(verdict.checkers, room.partitions)
    results = _most_important(_summarised(verdict.checkers, shown), room.entries)
    results = [msgspec.structs.replace(each, anomalies=_first_anomalies(each.anomalies, room)) for each in results]
    cells = sorted(_summarised_cells(verdict.cells, shown), key=lambda cell: (_RANK[cell.promised], cell.seen == 0))
    return msgspec.structs.replace(
        verdict,
        reasons=tuple(_cut(reason, room) for reason in verdict.reasons[: room.entries]),
        checkers=tuple(_with_short_texts(each, room) for each in _with_few_witnesses(results)),
        cells=tuple(msgspec.structs.replace(cell, topic=_cut(cell.topic, room)) for cell in cells[: room.entries]),
        signatures=tuple(_cut(each, room) for each in verdict.signatures[: room.entries]),
    )


# -- partitions ---------------------------------------------------------------------------------------------------------


def _shown_partitions(results: Iterable[CheckerResult], most: int) -> set[Partition]:
    """Those that failed, those that somebody doubts, those in which anything was seen; the others by name."""
    rank: dict[Partition, tuple[int, bool]] = {}
    for result in results:
        if result.scope is not None:
            at = result.scope.topic, result.scope.partition
            mine = _VALID_RANK[result.valid], not result.anomalies
            rank[at] = min(mine, rank.get(at, mine))
    return set(sorted(rank, key=lambda at: (rank[at], at[0], -1 if at[1] is None else at[1]))[:most])


def _summarised(results: Sequence[CheckerResult], shown: set[Partition]) -> list[CheckerResult]:
    """The results of all other partitions, one for each checker."""
    kept: list[CheckerResult] = []
    others: dict[str, list[CheckerResult]] = {}
    for result in results:
        if result.scope is None or (result.scope.topic, result.scope.partition) in shown:
            kept.append(result)
        else:
            others.setdefault(result.name, []).append(result)
    return [*kept, *(_together(mine) for mine in others.values())]


def _together(results: list[CheckerResult]) -> CheckerResult:
    counts: Counter[str] = Counter()
    for result in results:
        counts.update(result.counts)
    return CheckerResult(
        name=results[0].name,
        version=results[0].version,
        valid=merge(result.valid for result in results),
        anomalies=_anomalies_together([anomaly for result in results for anomaly in result.anomalies]),
        counts=dict(counts),
        seconds=sum(result.seconds for result in results),
        reason=f"{len({_scope(result.scope) for result in results})} partitions that are not listed, together",
    )


def _anomalies_together(anomalies: Iterable[Anomaly]) -> tuple[Anomaly, ...]:
    kinds: dict[tuple[str | None, ...], list[Anomaly]] = {}
    for each in anomalies:
        kinds.setdefault((each.name, each.level, each.loss_class, each.evidence, each.rule, each.cell), []).append(each)
    return tuple(
        msgspec.structs.replace(
            mine[0],
            count=sum(each.count for each in mine),
            witnesses=tuple(sorted((witness for each in mine for witness in each.witnesses), key=_proven)[:3]),
        )
        for mine in kinds.values()
    )


def _summarised_cells(cells: Iterable[Cell], shown: set[Partition]) -> list[Cell]:
    kept: list[Cell] = []
    others: dict[Cell, int] = {}
    for cell in cells:
        if (cell.topic, cell.partition) in shown:
            kept.append(cell)
        else:
            alike = msgspec.structs.replace(cell, partition=None, seen=min(cell.seen, 1))
            others[alike] = others.get(alike, 0) + cell.seen
    return [*kept, *(msgspec.structs.replace(alike, seen=seen) for alike, seen in others.items())]


def _scope(scope: Scope | None) -> Partition | None:
    return None if scope is None else (scope.topic, scope.partition)


# -- witnesses and texts ------------------------------------------------------------------------------------------------


def _most_important(results: Iterable[CheckerResult], most: int) -> list[CheckerResult]:
    """In the order in which they came."""
    numbered = sorted(enumerate(results), key=lambda each: (_VALID_RANK[each[1].valid], not each[1].anomalies, each[0]))
    return [result for _, result in sorted(numbered[:most], key=lambda each: each[0])]


def _first_anomalies(anomalies: Sequence[Anomaly], room: Room) -> tuple[Anomaly, ...]:
    return tuple(sorted(anomalies, key=lambda each: _RANK[each.cell])[: room.entries])


def _with_few_witnesses(results: Sequence[CheckerResult]) -> list[CheckerResult]:
    """Forbidden ones first; of each anomaly the first before anybody's second; the earliest first."""
    ranked: list[tuple[tuple[int, int, int, tuple[int, ...]], int, int, int]] = []
    for i, result in enumerate(results):
        for j, anomaly in enumerate(result.anomalies):
            for k, witness in enumerate(anomaly.witnesses):
                ranked.append(((_RANK[anomaly.cell], k, *_proven(witness)), i, j, k))
    chosen = {(i, j, k) for _, i, j, k in sorted(ranked)[:MOST_WITNESSES]}
    return [
        msgspec.structs.replace(
            result,
            anomalies=tuple(
                msgspec.structs.replace(
                    anomaly, witnesses=tuple(w for k, w in enumerate(anomaly.witnesses) if (i, j, k) in chosen)
                )
                for j, anomaly in enumerate(result.anomalies)
            ),
        )
        for i, result in enumerate(results)
    ]


def _proven(witness: Witness) -> tuple[int, tuple[int, ...]]:
    return witness.to_ns, witness.ops


def _with_short_texts(result: CheckerResult, room: Room) -> CheckerResult:
    def shortened(witness: Witness) -> Witness:
        return msgspec.structs.replace(witness, text=_cut(witness.text, room), shape=_cut(witness.shape, room))

    return msgspec.structs.replace(
        result,
        reason=None if result.reason is None else _cut(result.reason, room),
        counts=dict(list(result.counts.items())[: room.entries]),
        anomalies=tuple(
            msgspec.structs.replace(anomaly, witnesses=tuple(map(shortened, anomaly.witnesses))) for anomaly in result.anomalies
        ),
    )


def _cut(text: str, room: Room) -> str:
    return text if len(text) <= room.letters else text[: room.letters - 1] + "…"
