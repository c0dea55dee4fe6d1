"""Many runs together: against a slow and obvious way to add them up."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.latency import Latencies
from spark_analysis.groups import CLASSES, GROUPS, groups_of
from spark_analysis.rows import Row
from tests.spark_analysis.made_up import LOST, STALE, anomaly, batches, quarantined, run

histograms = st.dictionaries(st.integers(0, 487), st.integers(1, 10**6), max_size=4)
figures = st.one_of(st.none(), st.integers(0, 10**15).map(lambda ns: ns / 10**9))


@st.composite
def rows(draw: st.DrawFn) -> Row:
    number = draw(st.integers(0, 10**4))
    kind = draw(st.sampled_from(["done", "done", "done", "infrastructure", "killed", "quarantined"]))
    if kind == "quarantined":
        return quarantined(number)
    failing = draw(st.sampled_from([(), (LOST,), (LOST, STALE)]))
    row = run(number, draw(st.sampled_from(["c0ffee00", "0ddba115"])), fails=failing)
    fired = draw(st.sets(st.sampled_from(["kill", "cut", "skew"])))
    row |= {"fired": sorted(fired), "bit": sorted(fired)[:1], "mutants": draw(st.sampled_from([[], ["B11"], ["B11", "B36"]]))}
    row |= {"version": draw(st.sampled_from(["1.0", "1.1"])), "night": draw(st.sampled_from(["", "2026-11-18"]))}
    if kind != "done":
        return row | {"status": kind, "valid": None, "anomalies": None, "operation_count": None}
    drawn = {name: draw(histograms) for name in ("append_latencies", "read_latencies")}
    row |= {name: [{"bucket": b, "count": c} for b, c in sorted(counts.items())] for name, counts in drawn.items()}
    return row | {"recovery_s": draw(figures), "appends_per_s": draw(figures)}


def slowly(every: list[Row], by: str, key: str) -> dict[str, Any]:
    """One group, added up run by run."""
    column = {"cell": "cell", "version": "version", "night": "night"}.get(by)
    known = [row for row in every if not row.get("quarantined")]
    if by == "all":
        mine = every
    elif column:
        mine = [row for row in known if row[column] == key]
    else:
        field = {"fault": "fired", "mutant": "mutants"}[by]
        mine = [row for row in known if key in (row[field] or ["none"])]
    classes: Counter[str] = Counter()
    anomalies: Counter[str] = Counter()
    merged = Latencies()
    for row in mine:
        broken = {"invalid": "broken"}
        status = row.get("status")
        classes[
            "quarantined" if row.get("quarantined") else status if status != "done" else broken.get(row["valid"], row["valid"])
        ] += 1
        anomalies.update({each["name"]: each["count"] for each in row.get("anomalies") or []})
        merged = merged.merge(Latencies({each["bucket"]: each["count"] for each in row.get("append_latencies") or []}))
    return {
        "runs": len(mine),
        "classes": {name: classes[name] for name in CLASSES},
        "anomalies": dict(anomalies),
        "operations": sum(row.get("operation_count") or 0 for row in mine),
        "recovery": [row["recovery_s"] for row in mine if row.get("recovery_s") is not None],
        "latencies": merged,
    }


@settings(max_examples=60)
@given(st.lists(rows(), max_size=30), st.integers(1, 9))
def test_groups_are_what_adding_up_run_by_run_gives(every: list[Row], size: int) -> None:
    """Whatever the rows, and however they come in batches."""
    found = groups_of(batches(every, size))
    assert found.schema.equals(GROUPS)
    for row in found.to_pylist():
        slow = slowly(every, row["by"], row["key"])
        assert row["runs"] == slow["runs"] > 0
        assert {name: row[name] for name in CLASSES} == slow["classes"]
        assert {each["name"]: each["count"] for each in row["anomalies"]} == slow["anomalies"]
        assert row["operations"] == slow["operations"]
        counts = {each["bucket"]: each["count"] for each in row["append_latencies"]}
        assert counts == slow["latencies"].counts
        assert row["append_latency"]["count"] == slow["latencies"].count
        assert_figure(row["recovery_s"], slow["recovery"])
    seen = {(row["by"], row["key"]) for row in found.to_pylist()}
    known = [row for row in every if not row.get("quarantined")]
    assert {key for by, key in seen if by == "cell"} == {row["cell"] for row in known}
    assert {key for by, key in seen if by == "fault"} == {key for row in known for key in (row["fired"] or ["none"])}


def assert_figure(found: dict[str, float] | None, values: list[float]) -> None:
    if not values:
        assert found is None
        return
    assert found is not None
    assert found["runs"] == len(values)
    assert found["mean"] == pytest.approx(statistics.fmean(values), rel=1e-9)
    assert found["most"] == max(values)
    ordered = sorted(values)
    assert found["p90"] >= ordered[-(-9 * len(values) // 10) - 1] * (1 - 1e-9)
    assert found["p90"] <= max(values)
    if len(values) > 1:
        assert found["deviation"] == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-4 * max(values))


def test_a_quarantined_run_is_counted_with_all_and_nowhere_else() -> None:
    """Of its cell, night and faults nothing is known."""
    found = groups_of(batches([run(1), quarantined(2)])).to_pylist()
    runs = {row["by"]: (row["runs"], row["quarantined"]) for row in found}
    assert runs == {"all": (2, 1), "cell": (1, 0), "fault": (1, 0), "mutant": (1, 0), "version": (1, 0), "night": (1, 0)}


def test_a_fault_says_in_how_many_runs_it_did_something() -> None:
    """A run is in the group of each of its faults; a cell carries its words."""
    every = [run(1, fired=["cut", "kill"], bit=["kill"]), run(2, fired=["kill"], bit=["kill"]), run(3)]
    found = groups_of(batches(every)).to_pylist()
    assert {row["key"]: (row["runs"], row["bit"]) for row in found if row["by"] == "fault"} == {
        "cut": (1, 0),
        "kill": (2, 2),
        "none": (1, 0),
    }
    assert [row["words"] for row in found if row["by"] == "cell"] == ["words of c0ffee00"]


def test_an_anomaly_knows_its_instances_and_its_runs() -> None:
    """Two partitions of one run are one run."""
    twice = run(1) | {"anomalies": [anomaly(LOST, 3), anomaly(LOST, 4), anomaly(STALE, 1, "allowed")]}
    (everything,) = [row for row in groups_of(batches([twice, run(2, fails=[LOST])])).to_pylist() if row["by"] == "all"]
    told = [(each["name"], each["rule"], each["cell"], each["count"], each["runs"]) for each in everything["anomalies"]]
    assert told == [("lost_write", "C5", "forbidden", 8, 2), ("stale_read", "C3", "allowed", 1, 1)]


def test_no_runs_make_no_groups() -> None:
    assert groups_of([]).num_rows == 0
