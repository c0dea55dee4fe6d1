"""checkers/cells.py: every promise of a run, and whether it was seen broken (CHECKERS 6.7).

In     the anomalies of all partitions; the plan, the tally of operations, what was promised of the run as a whole
Out    one `Cell` for each partition, anomaly, level and rule: forbidden, allowed or not judged, with how often it was seen
Keeps  what was not seen has a cell only where it could have been: a partition without an acknowledged append has kept nothing
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from checkers.promises import Promises
from checkers.tally import Tally
from model.cluster import TopicPartition
from model.plan import Plan
from model.verdict import Anomaly, Cell, CheckerResult, Level, Promised


def seen_cells(results: Iterable[CheckerResult]) -> list[Cell]:
    """One promise may be broken in several ways: classes and kinds of evidence are counted together."""
    seen: Counter[tuple[str, int, str, Level, str, Promised]] = Counter()
    for result, anomaly in _anomalies(results):
        if result.scope is not None and result.scope.partition is not None and anomaly.rule and anomaly.cell:
            at = result.scope.topic, result.scope.partition
            seen[(*at, anomaly.name, anomaly.level, anomaly.rule, anomaly.cell)] += anomaly.count
    return [
        Cell(topic=topic, partition=partition, anomaly=name, level=level, rule=rule, promised=cell, seen=count)
        for (topic, partition, name, level, rule, cell), count in sorted(seen.items())
    ]


def unseen_cells(seen: Iterable[Cell], plan: Plan, tally: Tally, promises: Promises) -> list[Cell]:
    """The promises that were kept, and the losses that were allowed and did not happen yet."""
    there = {(cell.topic, cell.partition, cell.anomaly, cell.level) for cell in seen}
    cells = []
    for topic, partition in _partitions(plan):
        for name, level in _could_be_seen((topic, partition), tally):
            if (topic, partition, name, level) not in there:
                says = promises.whole((topic, partition), level)
                cells.append(
                    Cell(
                        topic=topic,
                        partition=partition,
                        anomaly=name,
                        level=level,
                        rule=says.rule,
                        promised=says.cell,
                        seen=0,
                    )
                )
    return cells


def _could_be_seen(at: TopicPartition, tally: Tally) -> Iterator[tuple[str, Level]]:
    if tally.acknowledged(at, -1):
        yield "lost_write", "committed"
    if tally.acknowledged(at, 1):
        yield "lost_write", "local"
    if tally.looked_at(at):
        yield "vanished_read", "committed"


def _partitions(plan: Plan) -> Iterator[TopicPartition]:
    for topic, told in plan.topics.items():
        for partition in range(told.partitions):
            yield topic, partition


def _anomalies(results: Iterable[CheckerResult]) -> Iterator[tuple[CheckerResult, Anomaly]]:
    for result in results:
        for anomaly in result.anomalies:
            yield result, anomaly
