"""spark_analysis/groups.py: many runs together: by config cell, kind of fault, mutant, version and night.

In     rows of runs, a batch at a time
Out    one row per group: how many runs of each verdict, which anomalies, how long nobody was served, how soon it came back, how
       fast it went, latencies over all of its runs
Keeps  pure: the same rows give the same table, whoever judged the runs. What is held grows with the number of groups, never with
       the number of runs: figures are moments and histograms that add up
Not    which failures there are (spark_analysis/failing.py), whether anything got worse (spark_analysis/comparison.py)
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from checkers.latency import BUCKETS, Latencies, bucket_of
from spark_analysis.rows import FIGURES

CLASSES: Final = ("valid", "unknown", "broken", "infrastructure", "killed", "quarantined")
QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
COLUMNS: Final = [
    *("quarantined", "status", "valid", "cell", "words", "fired", "bit", "mutants", "version", "night"),
    *("anomalies", "operation_count", *FIGURES, "append_latencies", "read_latencies"),
]
"""Of a row, what is needed here."""

_SECOND = 10**9
_Whole = npt.NDArray[np.int64]
_Fact = tuple[str, str, str, str]

_FIGURE = pa.struct({"runs": pa.int64(), **dict.fromkeys(("mean", "deviation", "p50", "p90", "most"), pa.float64())})
_LATENCY = pa.struct({"count": pa.int64(), **{f"{name}_ms": pa.float64() for name in (*QUANTILES, "max")}})
_ANOMALY = pa.struct({**dict.fromkeys(("name", "level", "rule", "cell"), pa.string()), "count": pa.int64(), "runs": pa.int64()})
_HISTOGRAM = pa.list_(pa.struct({"bucket": pa.int32(), "count": pa.int64()}))

GROUPS: Final = pa.schema(
    {
        "by": pa.string(),  # all, cell, fault, mutant, version, night
        "key": pa.string(),
        "words": pa.string(),  # of a cell
        "runs": pa.int64(),
        **dict.fromkeys(CLASSES, pa.int64()),
        "bit": pa.int64(),  # of a kind of fault: in how many runs it did something
        "operations": pa.int64(),
        "anomalies": pa.list_(_ANOMALY),
        **dict.fromkeys(FIGURES, _FIGURE),
        "append_latency": _LATENCY,
        "read_latency": _LATENCY,
        "append_latencies": _HISTOGRAM,
        "read_latencies": _HISTOGRAM,
    }
)

Keyed = tuple[_Whole, list[str]]
"""Rows of a batch, and the key of the group that each belongs to; a row may belong to several groups of one kind."""


def groups_of(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Every group there is, in order."""
    kinds = {by: _Groups() for by in KEYS}
    words: dict[str, str] = {}
    for batch in batches:
        classes = classes_of(batch)
        known = np.flatnonzero(classes != CLASSES.index("quarantined"))
        words |= zip(_texts(batch, "cell"), _texts(batch, "words"), strict=True)
        for by, keys_of in KEYS.items():
            rows, keys = keys_of(batch, known)
            kinds[by].add(batch, rows, keys, classes)
        _add_bites(kinds["fault"], batch)
    found = [row for by, groups in kinds.items() for row in groups.rows(by, words if by == "cell" else {})]
    return pa.Table.from_pylist(found, schema=GROUPS)


def classes_of(batch: pa.RecordBatch) -> _Whole:
    """Of each run the class of its verdict, as an index of CLASSES."""
    names = {"invalid": "broken"}
    found = [
        "quarantined" if why is not None else (status if status != "done" else names.get(valid, valid))
        for why, status, valid in zip(*(_texts(batch, name) for name in ("quarantined", "status", "valid")), strict=True)
    ]
    return np.array([CLASSES.index(name) for name in found], np.int64)


# -- keys ---------------------------------------------------------------------------------------------------------------


def _everything(batch: pa.RecordBatch, known: _Whole) -> Keyed:
    """The one group of which quarantined runs are too: of them nothing else is known."""
    return np.arange(batch.num_rows), [""] * batch.num_rows


def _by(column: str) -> Callable[[pa.RecordBatch, _Whole], Keyed]:
    def keys_of(batch: pa.RecordBatch, known: _Whole) -> Keyed:
        texts = _texts(batch, column)
        return known, [texts[row] or "" for row in known]

    return keys_of


def _by_each(column: str) -> Callable[[pa.RecordBatch, _Whole], Keyed]:
    """A run is in as many groups as it has entries; one without any is in the group of none."""

    def keys_of(batch: pa.RecordBatch, known: _Whole) -> Keyed:
        lists = batch.column(column).to_pylist()
        keyed = [(row, key) for row in known.tolist() for key in (lists[row] or ["none"])]
        return np.array([row for row, _ in keyed], np.int64), [key for _, key in keyed]

    return keys_of


KEYS: Final[Mapping[str, Callable[[pa.RecordBatch, _Whole], Keyed]]] = {
    "all": _everything,
    "cell": _by("cell"),
    "fault": _by_each("fired"),
    "mutant": _by_each("mutants"),
    "version": _by("version"),
    "night": _by("night"),
}


def _texts(batch: pa.RecordBatch, column: str) -> list[Any]:
    found: list[Any] = batch.column(column).to_pylist()
    return found


def _add_bites(groups: _Groups, batch: pa.RecordBatch) -> None:
    for kind in pc.list_flatten(batch.column("bit")).to_pylist():
        groups.bites[kind] += 1


# -- adding up ----------------------------------------------------------------------------------------------------------


class _Groups:
    """All groups of one kind. An entry of each array is one group."""

    def __init__(self) -> None:
        self._of: dict[str, int] = {}
        self._classes = np.zeros((0, len(CLASSES)), np.int64)
        self._operations = np.zeros(0, np.int64)
        self._sums = np.zeros((0, len(FIGURES), 3))  # how many, their sum, the sum of their squares
        self._most = np.zeros((0, len(FIGURES)))
        self._figures = np.zeros((0, len(FIGURES) * BUCKETS), np.int64)
        self._latencies = {name: np.zeros((0, BUCKETS), np.int64) for name in ("append_latencies", "read_latencies")}
        self._anomalies: defaultdict[str, Counter[_Fact]] = defaultdict(Counter)
        self._runs_with: defaultdict[str, Counter[_Fact]] = defaultdict(Counter)
        self.bites: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch, rows: _Whole, keys: list[str], classes: _Whole) -> None:
        for key in keys:
            self._of.setdefault(key, len(self._of))
        self._make_room()
        group = np.array([self._of[key] for key in keys], np.int64)
        np.add.at(self._classes, (group, classes[rows]), 1)
        operations = pc.fill_null(batch.column("operation_count"), 0).to_numpy(zero_copy_only=False)
        np.add.at(self._operations, group, operations[rows])
        for index, figure in enumerate(FIGURES):
            self._add_figure(index, batch.column(figure).to_numpy(zero_copy_only=False)[rows], group)
        for name, table in self._latencies.items():
            _add_histograms(table, batch.column(name), rows, group)
        self._add_anomalies(batch, rows, keys)

    def _make_room(self) -> None:
        count = len(self._of)
        self._classes, self._operations = _grown(self._classes, count), _grown(self._operations, count)
        self._sums, self._most, self._figures = _grown(self._sums, count), _grown(self._most, count), _grown(self._figures, count)
        self._latencies = {name: _grown(table, count) for name, table in self._latencies.items()}

    def _add_figure(self, index: int, values: npt.NDArray[np.float64], group: _Whole) -> None:
        there = np.flatnonzero(~np.isnan(values))
        values, group = values[there], group[there]
        for power, summand in enumerate((np.ones(len(values)), values, values * values)):
            np.add.at(self._sums[:, index, power], group, summand)
        np.maximum.at(self._most[:, index], group, values)
        np.add.at(self._figures, (group, index * BUCKETS + bucket_of(np.rint(values * _SECOND))), 1)

    def _add_anomalies(self, batch: pa.RecordBatch, rows: _Whole, keys: list[str]) -> None:
        found = batch.column("anomalies")
        for row, key in zip(rows.tolist(), keys, strict=True):
            anomalies = found[row].as_py()
            if anomalies:
                facts = [(a["name"], a["level"], a["rule"] or "", a["cell"] or "") for a in anomalies]
                for fact, anomaly in zip(facts, anomalies, strict=True):
                    self._anomalies[key][fact] += anomaly["count"]
                self._runs_with[key].update(set(facts))

    # -- telling --------------------------------------------------------------------------------------------------------

    def rows(self, by: str, words: Mapping[str, str]) -> Iterable[dict[str, Any]]:
        for key, index in sorted(self._of.items()):
            classes = self._classes[index].tolist()
            yield {
                "by": by,
                "key": key,
                "words": words.get(key),
                "runs": sum(classes),
                **dict(zip(CLASSES, classes, strict=True)),
                "bit": self.bites[key] if by == "fault" else None,
                "operations": int(self._operations[index]),
                "anomalies": [
                    dict(zip(("name", "level", "rule", "cell"), fact, strict=True))
                    | {"count": count, "runs": self._runs_with[key][fact]}
                    for fact, count in sorted(self._anomalies[key].items())
                ],
                **{figure: self._figure(index, place) for place, figure in enumerate(FIGURES)},
                **self._told_latencies(index),
            }

    def _figure(self, group: int, figure: int) -> dict[str, float | None] | None:
        """Quantiles to within an eighth, as those of latencies."""
        runs, total, squares = self._sums[group, figure]
        if not runs:
            return None
        mean = total / runs
        spread = max(0.0, squares / runs - mean * mean) * runs / max(1.0, runs - 1)
        histogram = _latencies(self._figures[group, figure * BUCKETS : (figure + 1) * BUCKETS])
        most = float(self._most[group, figure])
        quantiles = {name: _least(histogram.quantile_ns(QUANTILES[name]), _SECOND, most) for name in ("p50", "p90")}
        return {"runs": int(runs), "mean": float(mean), "deviation": float(np.sqrt(spread)), **quantiles, "most": most}

    def _told_latencies(self, group: int) -> dict[str, Any]:
        told: dict[str, Any] = {}
        for name, table in self._latencies.items():
            histogram = _latencies(table[group])
            shares = {**QUANTILES, "max": 1.0}
            quantiles = {f"{label}_ms": _least(histogram.quantile_ns(share), 10**6) for label, share in shares.items()}
            told[name.replace("latencies", "latency")] = {"count": histogram.count, **quantiles}
            told[name] = [{"bucket": bucket, "count": count} for bucket, count in histogram.counts.items()]
        return told


def _grown(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """With room for so many groups, at least."""
    if len(array) >= count:
        return array
    more = np.zeros((max(count, 2 * len(array)) - len(array), *array.shape[1:]), array.dtype)
    return np.concatenate([array, more])


def _add_histograms(table: _Whole, column: pa.Array, rows: _Whole, group: _Whole) -> None:
    """The histograms of these rows into those of their groups."""
    chosen = column.take(pa.array(rows))
    parents = pc.list_parent_indices(chosen).to_numpy(zero_copy_only=False)
    entries = pc.list_flatten(chosen)
    np.add.at(table, (group[parents], entries.field("bucket").to_numpy()), entries.field("count").to_numpy())


def _latencies(counts: _Whole) -> Latencies:
    there = np.flatnonzero(counts)
    return Latencies(dict(zip(there.tolist(), counts[there].tolist(), strict=True)))


def _least(ns: int | None, unit: int, most: float = np.inf) -> float | None:
    """An upper edge of a bucket says at most so much, and never more than the most there was."""
    return None if ns is None else min(ns / unit, most)
