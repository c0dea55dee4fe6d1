"""Which failures there are, and in how many runs."""

from __future__ import annotations

from spark_analysis.failing import failures_of, name_of, signatures_of
from tests.spark_analysis.made_up import LOST, STALE, anomaly, batches, quarantined, run


def test_a_signature_counts_a_run_once_and_knows_its_cells_its_nights_and_its_first_run() -> None:
    """The most frequent first."""
    twice = run(5, fails=[LOST]) | {"anomalies": [anomaly(LOST), anomaly(LOST, 7)]}
    rows = [
        run(3),
        run(4, "0ddba115", fails=[LOST, STALE], mutants=["B11", "B36"], night="2026-11-17"),
        twice,
        run(6, fails=[LOST], night=""),
        quarantined(7),
    ]
    lost, stale = signatures_of(failures_of(batches(rows, 2)), "some/store").to_pylist()
    assert (lost["signature"], lost["name"], lost["runs"]) == (LOST, "lost_write", 3)
    assert [(each["cell"], each["runs"], each["judged"]) for each in lost["cells"]] == [("0ddba115", 1, 1), ("c0ffee00", 2, 3)]
    assert (lost["campaign"], lost["number"], lost["seed"]) == ("nightly", 4, 1004)
    assert lost["replay"] == "tidemark replay some/store/nightly/00004"
    assert lost["witness"] == "what lost_write looked like"
    assert lost["mutants"] == ["B11", "B36"]
    assert lost["nights"] == ["2026-11-17", "2026-11-18"]
    assert (stale["signature"], stale["runs"]) == (STALE, 1)


def test_nothing_failed() -> None:
    failures = failures_of(batches([run(1), run(2), quarantined(3)]))
    assert signatures_of(failures, "store").num_rows == 0
    assert (failures["c0ffee00"].judged, failures["c0ffee00"].valid) == (2, 2)


def test_a_signature_is_called_by_the_anomaly() -> None:
    assert name_of(LOST) == "lost_write"
    assert name_of("i1:clean_election:commit") == "clean_election"
    assert name_of("older") == "older"
