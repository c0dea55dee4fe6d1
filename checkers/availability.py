"""checkers/availability.py: how much of the time a partition could be used, in figures that fit on a page (CHECKERS 5.6).

In     a `Part` and the table of events; for `stats` a whole run
Out    `Availability`: accepted appends and answered reads over time, the longest time without either, how soon it came back,
       latencies; `stats`: a fixed set of figures of the run
Keeps  at most MOST_POINTS points, however long the run; the final read is no part of it: nobody waits for that in production
Not    whether any of it breaks a promise: checkers/liveness.py
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, Final

import msgspec
import numpy as np

from checkers.columns import READ
from checkers.disturbances import AT_ONCE, Window
from checkers.found import Flags, Numbers
from checkers.latency import Latencies, latencies
from checkers.part import Part, parts
from checkers.run_evidence import RunEvidence
from checkers.tries import accepted
from model.cluster import TopicPartition

SECOND: Final = 10**9
MOST_POINTS: Final = 600
QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "max": 1.0}

MOMENTS: Final = AT_ONCE | {"exit"}


class Silence(msgspec.Struct, frozen=True):
    """The longest time without success, as far as it lies between two boundaries of faults."""

    from_ns: int = 0
    to_ns: int = 0

    @property
    def ns(self) -> int:
        return self.to_ns - self.from_ns


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Operations of one kind on one partition."""

    tried: int
    succeeded: int
    per_point: tuple[int, ...]
    """How many succeeded in each step of the series."""
    quiet: Silence
    """Without success while no fault was active."""
    broken: Silence
    """Without success while some was."""
    latencies: Latencies
    """Of those that succeeded."""


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """One partition. Point i of a series covers `step_ns` from `from_ns + i * step_ns` on."""

    at: TopicPartition
    from_ns: int
    step_ns: int
    appends: Usage
    reads: Usage
    recovered_ns: tuple[int | None, ...]
    """After each time of faults: how soon after its end an append with acks=all was accepted. None: not before the next began."""


def availability(part: Part, events: Iterable[Mapping[str, Any]]) -> Availability:
    """Pure. Of thousands of times of faults only the last MOST_POINTS recoveries are kept."""
    took = part.number("took_ns")
    end = part.start + took
    busy = _times_of_faults(events)
    from_ns, step_ns, points = _scale(part.start, end)
    kinds = (part.is_append & (part.acks != 0), accepted(part)), ((part.kind == READ), (part.kind == READ) & part.is_ok)

    def usage(tried: Flags, succeeded: Flags) -> Usage:
        tried, succeeded = tried & ~part.final, succeeded & ~part.final
        ends = np.sort(end[succeeded])
        quiet, broken = _silences(ends, _span_of(part.start[tried], end[tried]), busy)
        return Usage(
            tried=int(tried.sum()),
            succeeded=len(ends),
            per_point=tuple(np.bincount((ends - from_ns) // step_ns, minlength=points).tolist()),
            quiet=quiet,
            broken=broken,
            latencies=latencies(took[succeeded]),
        )

    appends, reads = (usage(*each) for each in kinds)
    by_all = np.sort(end[accepted(part) & (part.acks == -1)])
    recovered = _recoveries(by_all, busy)
    return Availability(at=part.at, from_ns=from_ns, step_ns=step_ns, appends=appends, reads=reads, recovered_ns=recovered)


# -- series ---------------------------------------------------------------------------------------------------------------


def _scale(start: Numbers, end: Numbers) -> tuple[int, int, int]:
    """Where the series begins, its step and the number of its points: by the second, or by as many as it takes."""
    first, last = (int(start.min()), int(end.max())) if len(start) else (0, 0)
    step = SECOND
    while last // step - first // step >= MOST_POINTS:
        step *= 2
    return first // step * step, step, last // step - first // step + 1


# -- silences -------------------------------------------------------------------------------------------------------------


def _times_of_faults(events: Iterable[Mapping[str, Any]]) -> list[tuple[int, int | None]]:
    """When some fault was active; until None: to the end. What is over at once is a moment, and so is an exit: how long that node
    stayed down nobody tells."""
    times: list[tuple[int, int | None]] = []
    for row in sorted((row for row in events if row.get("fired_ns") is not None), key=lambda row: int(row["fired_ns"])):
        from_ns, to_ns = row["fired_ns"], row.get("healed_ns")
        if to_ns is None and row["fault"] in MOMENTS:
            to_ns = from_ns
        if times and (times[-1][1] is None or from_ns <= times[-1][1]):
            last = times[-1][1]
            times[-1] = times[-1][0], None if last is None or to_ns is None else max(last, to_ns)
        else:
            times.append((from_ns, to_ns))
    return times


def _span_of(start: Numbers, end: Numbers) -> Window | None:
    """From the first try to the end of the last: before and after it nobody asked for anything."""
    return (int(start.min()), int(end.max())) if len(start) else None


def _silences(ends: Numbers, span: Window | None, busy: Sequence[tuple[int, int | None]]) -> tuple[Silence, Silence]:
    """The longest without a fault, and the longest with one: times without success, split where faults began or were over."""
    if span is None:
        return Silence(), Silence()
    edges = np.array([edge for from_ns, to_ns in busy for edge in (from_ns, span[1] if to_ns is None else to_ns)], np.int64)
    cuts = np.sort(np.clip(np.concatenate([ends, edges, span]), *span))
    lengths = np.diff(cuts)
    is_broken = np.searchsorted(edges, cuts[:-1], "right") % 2 == 1
    return _longest(cuts, np.where(is_broken, 0, lengths)), _longest(cuts, np.where(is_broken, lengths, 0))


def _longest(cuts: Numbers, lengths: Numbers) -> Silence:
    if not lengths.any():
        return Silence()
    at = int(np.argmax(lengths))
    return Silence(int(cuts[at]), int(cuts[at + 1]))


def _recoveries(accepted_ns: Numbers, busy: Sequence[tuple[int, int | None]]) -> tuple[int | None, ...]:
    recovered: list[int | None] = []
    following: list[int | None] = [*(from_ns for from_ns, _ in busy[1:]), None]
    for (_, healed_ns), next_ns in list(zip(busy, following, strict=False))[-MOST_POINTS:]:
        if healed_ns is None:
            continue
        index = int(np.searchsorted(accepted_ns, healed_ns))
        first = int(accepted_ns[index]) if index < len(accepted_ns) else None
        in_time = first is not None and (next_ns is None or first < next_ns)
        recovered.append(first - healed_ns if first is not None and in_time else None)
    return tuple(recovered)


# -- a whole run ----------------------------------------------------------------------------------------------------------


def used(run: RunEvidence) -> list[Availability]:
    """Every partition of a run."""
    return [availability(part, run.events) for part in parts(run.columns)]


def stats(run: RunEvidence, each: Sequence[Availability] | None = None) -> dict[str, float]:
    """The figures of a verdict: over all partitions, of silences and recoveries the worst. What is not known is absent."""
    each = used(run) if each is None else each
    figures = {"operations": float(run.table.num_rows), "partitions": float(len(each))}
    seconds = _seconds_of(run)
    for name, usages in (("append", [one.appends for one in each]), ("read", [one.reads for one in each])):
        figures |= _figures(name, usages, seconds)
    recovered = [ns for one in each for ns in one.recovered_ns if ns is not None]
    return figures | ({"recovery_s": max(recovered) / SECOND} if recovered else {})


def _seconds_of(run: RunEvidence) -> float:
    """How long operations went on that were not the final read."""
    columns = run.columns
    kept = ~columns.flag("final")
    start, took = columns.start[kept], columns.number("took_ns")[kept]
    span = _span_of(start, start + took)
    return (span[1] - span[0]) / SECOND if span else 0.0


def _figures(name: str, usages: Sequence[Usage], seconds: float) -> dict[str, float]:
    succeeded = sum(usage.succeeded for usage in usages)
    figures = {f"{name}s_tried": float(sum(usage.tried for usage in usages)), f"{name}s_ok": float(succeeded)}
    if seconds:
        figures[f"{name}s_ok_per_s"] = succeeded / seconds
    figures[f"longest_without_{name}_quiet_s"] = max((usage.quiet.ns for usage in usages), default=0) / SECOND
    figures[f"longest_without_{name}_broken_s"] = max((usage.broken.ns for usage in usages), default=0) / SECOND
    merged = reduce(Latencies.merge, (usage.latencies for usage in usages), Latencies())
    quantiles = {label: merged.quantile_ns(share) for label, share in QUANTILES.items()}
    return figures | {f"{name}_{label}_ms": ns / 10**6 for label, ns in quantiles.items() if ns is not None}
