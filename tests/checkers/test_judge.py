"""The one verdict of a run: what is merged into it, and what is said beside it (CHECKERS 6.7, 7, 8.6)."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from checkers.doubts import NO_CHANGES, NOT_COMPLETE, NOT_CONVERGED, NOT_READ, NOTHING, REFUSED
from checkers.found import Checked, Found
from checkers.judge import judge, judge_strict
from checkers.mode import Mode
from checkers.run_evidence import RunEvidence
from model.cluster import Violation
from model.seen import Seen
from model.verdict import Anomaly, Cell, Verdict, Witness, from_json, to_json
from tests.checkers.facts import ORDINARY, checked, fact, looks, lost, nothing_wrong, operation, run_of, table_of
from tests.model.damage_stories import AT, A, B, C, Story

LOST = Violation(
    number=1,
    name="leader_completeness",
    text="t/0: n2 leads without 7",
    at_ns=5,
    after="LeaderElected",
    beliefs=("n1: leads", "n2: follows"),
    story=((4, "n1: dies"),),
)
ALSO = Violation(number=1, name="leader_completeness", text="t/1: n2 leads without 3", at_ns=9, after="commit")
TWO = Violation(number=18, name="election_safety", text="n4 and n5 lead quorum epoch 3", at_ns=9)
ALLOWED_STORY = Story((A,), unclean=True).kill(A).elected(C, "unclean", 1)


def verdict_of(*several: Checked, run: RunEvidence | None = None, live: Any = nothing_wrong) -> Verdict:
    return judge(run_of() if run is None else run, look=looks(*several), live=live)


def seen(**more: Any) -> RunEvidence:
    return run_of(seen=Seen(**more))


def anomalies(verdict: Verdict) -> list[Anomaly]:
    return [anomaly for result in verdict.checkers for anomaly in result.anomalies]


# -- merging ------------------------------------------------------------------------------------------------------------

GOOD, BAD = checked(name="good"), checked(fact("phantom"), name="bad")
DOUBTFUL = checked(name="durability", undecided="final read incomplete: t/0: it has no leader")


@pytest.mark.parametrize(
    ("several", "valid", "reasons"),
    [
        ((GOOD,), "valid", ()),
        ((GOOD, DOUBTFUL), "unknown", ("final read incomplete: t/0: it has no leader",)),
        ((DOUBTFUL, BAD), "invalid", ("final read incomplete: t/0: it has no leader",)),
        ((), "unknown", (NOTHING,)),
        ((checked(fact("phantom"), undecided="budget exhausted"),), "invalid", ("budget exhausted: t/0",)),
    ],
)
def test_the_greatest_decides_and_a_doubt_hides_no_failure(several: Any, valid: str, reasons: Any) -> None:
    """8.6"""
    verdict = verdict_of(*several)
    assert (verdict.valid, verdict.reasons) == (valid, reasons)


def test_allowed_loss_only_is_valid_and_shown() -> None:
    """8.6, 6.7: it proves that the harness can see it."""
    verdict = verdict_of(checked(lost()), run=run_of(ALLOWED_STORY))
    assert (verdict.valid, verdict.reasons, verdict.signatures) == ("valid", (), ())
    assert [(found.name, found.rule, found.cell, found.count) for found in anomalies(verdict)] == [
        ("lost_write", "C2", "allowed", 1)
    ]


def test_what_is_not_judged_has_no_effect() -> None:
    """6.7: a note in the report."""
    verdict = verdict_of(checked(fact("stale_read", comparable=False)))
    assert (verdict.valid, anomalies(verdict)[0].cell) == ("valid", "not judged")


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (seen(refused=True), REFUSED),
        (seen(read_to_the_end=False), NOT_READ),
        (seen(converged=False, excuse="damage beyond what is promised (t/0: Q1)"), NOT_CONVERGED),
        (run_of(complete=False), NOT_COMPLETE),
        (run_of(Story(changes_complete=False).hurt(A), changes=[]), f"{NO_CHANGES}: t/0"),
        (run_of(table=table_of([*ORDINARY, operation(4, kind="poll", type="info")])), "none succeeded: poll"),
        (run_of(table=table_of([operation(1, kind="append", acks=-1, type="info")])), "none succeeded: append"),
        (run_of(table=table_of()[:0]), "none succeeded: append"),
    ],
)
def test_missing_evidence_is_unknown(run: RunEvidence, reason: str) -> None:
    """6.7: fixed phrases; and no doubt hides a failure."""
    assert (verdict_of(GOOD, run=run).valid, verdict_of(GOOD, run=run).reasons) == ("unknown", (reason,))
    assert verdict_of(BAD, run=run).valid == "invalid"


@pytest.mark.parametrize(
    "run",
    [
        run_of(Story(changes_complete=False).hurt(A)),
        run_of(Story(changes_complete=False).kill(A), changes=[]),
        run_of(table=table_of([operation(1, kind="append", acks=0, type="info")])),
    ],
)
def test_weak_promises_and_sends_that_nobody_acknowledges_are_no_missing_evidence(run: RunEvidence) -> None:
    """The near misses: sampled changes, nothing lost, acks=0."""
    assert (verdict_of(GOOD, run=run).valid, verdict_of(GOOD, run=run).reasons) == ("valid", ())


def test_many_partitions_with_one_doubt_are_one_reason() -> None:
    """7.2: short."""
    several = [
        checked(name="durability", at=("t", i), undecided=f"final read incomplete: t/{i}: nobody read it") for i in range(30)
    ]
    (reason,) = verdict_of(*several, run=seen(read_to_the_end=False)).reasons
    assert reason.startswith("final read incomplete: t/0: nobody read it, t/1: nobody read it, ")
    assert reason.endswith(" and 22 more")


def test_a_checker_that_raises_is_a_doubt_with_its_message() -> None:
    """7.1"""

    def broken(*_: Any) -> Any:
        raise ValueError("no")

    verdict = judge(run_of(), look=broken, live=nothing_wrong)
    assert (verdict.valid, verdict.reasons) == ("unknown", ("the checker history failed: ValueError: no",))
    verdict = verdict_of(BAD, live=broken)
    assert (verdict.valid, verdict.reasons) == ("invalid", ("the checker liveness failed: ValueError: no",))


def test_evidence_that_nobody_can_read_is_a_doubt() -> None:
    """7.1: what needs no promises is judged all the same."""
    run = run_of(events=[{"event": 0, "fired_ns": 1, "fault": "change_config", "args": "{"}], seen=Seen(crashed=("n1: no",)))
    verdict = verdict_of(BAD, run=run)
    assert verdict.valid == "invalid"
    assert [result.valid for result in verdict.checkers if result.name in ("crash", "bad")] == ["invalid", "unknown"]
    assert verdict.cells == ()


def test_a_witness_that_cannot_be_told_hides_no_failure() -> None:
    """7.1"""

    def untold(_: int) -> Witness:
        raise IndexError("row 7")

    found = fact("phantom")
    verdict = verdict_of(checked(Found(**{**found.__dict__, "tell": untold})))
    assert verdict.valid == "invalid"
    assert "telling it failed: IndexError: row 7" in anomalies(verdict)[0].witnesses[0].text


def test_the_figures_of_a_run_stand_in_its_verdict() -> None:
    """And where they cannot be worked out, that is a doubt."""
    assert verdict_of(GOOD).stats.keys() >= {"operations", "appends_ok_per_s", "append_p99_ms", "seconds"}
    events = [{"event": 0, "fault": "cut", "fired_ns": "yesterday", "healed_ns": None, "args": "{}"}]
    verdict = verdict_of(GOOD, run=msgspec.structs.replace(run_of(), events=events))
    assert verdict.valid == "unknown"
    assert any(reason.startswith("the checker availability failed: ") for reason in verdict.reasons)


# -- what the run loop saw ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "signature"),
    [
        (seen(crashed=("n1: ValueError: no",)), "s1:crash:committed:6.6:-:-:"),
        (seen(violations=(LOST, ALSO)), "i1:leader_completeness:LeaderElected"),
        (seen(violations=(TWO,)), "i1:election_safety:-"),
        (seen(converged=False), "s1:stuck:committed:V1:-:-:"),
    ],
)
def test_a_crash_a_broken_invariant_and_a_cluster_that_stays_away_are_broken_promises(run: RunEvidence, signature: str) -> None:
    """6.6, 6.8 V1, 7.2: each with its signature."""
    verdict = verdict_of(GOOD, run=run)
    assert (verdict.valid, verdict.signatures) == ("invalid", (signature,))


def test_a_crash_of_somebody_elses_system_is_a_note() -> None:
    """6.6"""
    run = seen(crashed=("n1: OutOfMemoryError",))
    run = msgspec.structs.replace(run, plan=msgspec.structs.replace(run.plan, system="kafka"))
    assert (verdict_of(GOOD, run=run).valid, anomalies(verdict_of(GOOD, run=run))[0].cell) == ("valid", "not judged")


def test_a_run_that_a_violation_has_stopped_is_not_also_stuck() -> None:
    """It was not given the time to come back."""
    verdict = verdict_of(GOOD, run=seen(violations=(LOST,), converged=False, read_to_the_end=False))
    assert verdict.signatures == ("i1:leader_completeness:LeaderElected",)


def test_every_invariant_has_a_result_of_its_own_and_tells_what_everybody_believed() -> None:
    """7.2: with its number, its time, and the story, a line each."""
    verdict = verdict_of(GOOD, run=seen(violations=(LOST, ALSO, TWO)))
    results = [result for result in verdict.checkers if result.name.startswith("invariant")]
    assert [(each.name, each.anomalies[0].count, each.anomalies[0].rule) for each in results] == [
        ("invariant:leader_completeness", 2, "invariant 1"),
        ("invariant:election_safety", 1, "invariant 18"),
    ]
    assert results[0].anomalies[0].witnesses[0].text.splitlines() == [
        "invariant 1, leader completeness, at 0.000000 s: t/0: n2 leads without 7",
        "    n1: leads",
        "    n2: follows",
        "       0.000000  n1: dies",
    ]


# -- what is said of an anomaly -----------------------------------------------------------------------------------------


def test_instances_that_are_judged_alike_are_one_anomaly_and_others_are_not() -> None:
    """7.2: by name, level, class, evidence, rule and cell; the forbidden first."""
    several = (lost(count=5), lost(loss_class="prefix"), lost("local", write_epoch=0), lost(evidence="across"))
    verdict = verdict_of(checked(*several), run=run_of(ALLOWED_STORY))
    assert [(each.level, each.loss_class, each.evidence, each.rule, each.cell, each.count) for each in anomalies(verdict)] == [
        ("committed", "prefix", "final", "C2+bound", "forbidden", 1),
        ("committed", "suffix", "final", "C2", "allowed", 5),
        ("local", "suffix", "final", "W0", "allowed", 1),
        ("committed", "suffix", "across", "C2", "allowed", 1),
    ]


def test_what_is_counted_and_not_enumerated_keeps_its_count() -> None:
    """3.6: one entry stands for all of them."""
    holes = Found(**{**fact("unfillable_hole").__dict__, "total": 2**60 - 1})
    verdict = verdict_of(checked(holes))
    assert (anomalies(verdict)[0].count, verdict.cells[0].seen) == (2**60 - 1, 2**60 - 1)


def test_an_offset_that_changed_again_and_again_is_counted_once() -> None:
    """5.6: distinct offsets; of two writes that were lost at one offset each counts."""
    offsets = np.array([4, 7, 4])
    changed, gone = fact("inconsistent_offset", count=3, offset=offsets), lost(count=3, offset=offsets)
    assert [each.count for each in anomalies(verdict_of(checked(changed, gone)))] == [2, 3]


def test_the_three_earliest_proofs_are_shown_then_the_shortest_then_by_operation() -> None:
    """7.3"""
    late = fact("phantom", count=9, proof_ns=np.array([9, 8, 7, 3, 3, 3, 2, 9, 9]), ops=(5, 7))
    (anomaly,) = anomalies(verdict_of(checked(late)))
    assert [witness.ops for witness in anomaly.witnesses] == [(11, 13), (8, 10), (9, 11)]
    ops = {0: (1, 2, 3), 1: (4, 5), 2: (2, 3), 3: (9,)}
    tied = fact("phantom", count=4)
    tied = Found(**{**tied.__dict__, "tell": lambda i: Witness(text="", ops=ops[i], from_ns=0, to_ns=0)})
    (anomaly,) = anomalies(verdict_of(checked(tied)))
    assert [witness.ops for witness in anomaly.witnesses] == [(9,), (2, 3), (4, 5)]


def test_a_witness_names_the_last_faults_of_its_window() -> None:
    """7.4: fired or active in it, the latest first, at most three."""
    story = Story().kill(B).restart(B).kill(A).hurt(C).kill(B)
    (anomaly,) = anomalies(verdict_of(checked(lost(to_ns=10**6)), run=run_of(story)))
    witness = anomaly.witnesses[0]
    assert witness.faults == (3, 2, 1)
    assert witness.text == "lost_write 0. Between: kill n2 (0.000 s), lossy_kill n3 (0.000 s), kill n1 (0.000 s)."
    before = anomalies(verdict_of(checked(lost(to_ns=3)), run=run_of(story)))[0].witnesses[0]
    assert (before.faults, before.text) == ((), "lost_write 0.")


def test_a_fault_that_healed_before_the_window_is_not_between() -> None:
    """7.4: its near miss is active when the window begins."""
    for healed_ns, faults in ((99, ()), (100, (4,)), (None, (4,))):
        sides = {"args": '{"sides": [[-1, -2], [3]]}', "resolved": [-1, -2, 3]}
        events = [{"event": 4, "fault": "cut", "target": "clients | leader", "fired_ns": 50, "healed_ns": healed_ns, **sides}]
        (anomaly,) = anomalies(verdict_of(checked(fact("phantom", from_ns=100)), run=run_of(events=events)))
        assert anomaly.witnesses[0].faults == faults
        assert anomaly.witnesses[0].text == "phantom 0." + " Between: cut c1+c2 | n3 (0.000 s)." * bool(faults)


def stale_beside(*better: Found, at: Any = AT) -> list[str]:
    """Names of what is told, where a final read ended at offset 1."""
    stale = fact("stale_read", evidence="final", offset=1)
    return [each.name for each in anomalies(verdict_of(checked(stale), checked(*better, name="durability", at=at)))]


@pytest.mark.parametrize("better", [lost(), lost(offset=7), lost(offset=-1), fact("vanished_read", offset=1)])
def test_a_short_final_read_is_not_told_twice(better: Found) -> None:
    """5.4: beside what it lacks, which lies at its end or behind it, or nobody knows where."""
    assert stale_beside(better) == [better.name]
    earlier = fact("stale_read", evidence="", offset=1, proof_ns=5)
    names = [each.name for each in anomalies(verdict_of(checked(earlier), checked(better, name="durability")))]
    assert names == ["stale_read", better.name]


def test_a_short_final_read_is_told_beside_what_it_does_not_lack() -> None:
    """5.4: nothing, what another partition lost, what only a leader had, what lies before its end."""
    assert stale_beside() == ["stale_read"]
    assert stale_beside(lost(at=("t", 1)), at=("t", 1)) == ["stale_read", "lost_write"]
    assert stale_beside(lost("local")) == ["stale_read", "lost_write"]
    assert stale_beside(lost(offset=0)) == ["stale_read", "lost_write"]
    assert stale_beside(lost(offset=0), lost("local", offset=7)) == ["stale_read", "lost_write", "lost_write"]


# -- cells --------------------------------------------------------------------------------------------------------------


def cell(anomaly: str, level: Any, rule: str, promised: Any, times: int) -> Cell:
    return Cell(topic=AT[0], partition=AT[1], anomaly=anomaly, level=level, rule=rule, promised=promised, seen=times)


def test_promises_that_were_kept_have_cells_too() -> None:
    """6.7: forbidden and not seen: kept; allowed and not seen: not seen yet."""
    assert verdict_of(GOOD).cells == (
        cell("lost_write", "committed", "C3", "forbidden", 0),
        cell("lost_write", "local", "W1", "forbidden", 0),
        cell("vanished_read", "committed", "C3", "forbidden", 0),
    )
    assert verdict_of(GOOD, run=run_of(ALLOWED_STORY)).cells == (
        cell("lost_write", "committed", "C2", "allowed", 0),
        cell("lost_write", "local", "W0", "allowed", 0),
        cell("vanished_read", "committed", "C2", "allowed", 0),
    )
    moved = Story().change(A, B, C, election="preferred", leader=B, epoch_start=0)
    assert cell("lost_write", "local", "W3", "allowed", 0) in verdict_of(GOOD, run=run_of(moved)).cells


def test_who_acknowledged_nothing_has_kept_nothing() -> None:
    """6.7"""
    assert verdict_of(GOOD, run=run_of(table=table_of(ORDINARY[:1]))).cells == (
        cell("lost_write", "committed", "C3", "forbidden", 0),
    )


def test_a_promise_that_was_seen_broken_in_two_ways_is_one_cell() -> None:
    """6.7: classes and evidence are ways."""
    cells = verdict_of(checked(lost(count=2), lost(loss_class="middle", count=3))).cells
    assert [each for each in cells if each.seen] == [cell("lost_write", "committed", "C3", "forbidden", 5)]
    assert not [each for each in cells if each.seen == 0 and (each.anomaly, each.level) == ("lost_write", "committed")]


# -- imports ------------------------------------------------------------------------------------------------------------


def strict(*several: Checked, rows: Any = ORDINARY, **more: Any) -> Verdict:
    return judge_strict("theirs", table_of(rows), Mode(), look=looks(*several), **more)


def test_of_an_imported_history_everything_is_forbidden_that_its_owner_does_not_allow() -> None:
    """10.1"""
    found = checked(fact("duplicate", resent=True), fact("stale_read", comparable=True))
    assert (strict(found).valid, {each.rule for each in strict(found).cells}) == ("invalid", {"strict"})
    assert strict(found, allow=frozenset({"duplicate"})).valid == "invalid"
    assert strict(found, allow=frozenset({"duplicate", "stale_read"})).valid == "valid"


def test_an_imported_history_in_which_nothing_succeeded_says_nothing() -> None:
    """10.3"""
    nothing = [operation(1, kind="append", acks=-1, type="info")]
    assert (strict(GOOD).valid, strict(GOOD, rows=nothing).reasons, strict().reasons) == ("valid", (NOTHING,), (NOTHING,))


def test_who_never_meant_to_read_everything_once_more_is_not_asked_why_it_did_not() -> None:
    """Its near miss: a final read that was begun."""
    begun = [*ORDINARY, operation(9, kind="read", type="info", final=True)]
    assert (strict(DOUBTFUL).valid, strict(DOUBTFUL, rows=begun).valid) == ("valid", "unknown")


def test_a_verdict_is_data() -> None:
    """7.2: it survives its file."""
    verdict = verdict_of(checked(lost()), DOUBTFUL, run=run_of(ALLOWED_STORY))
    assert from_json(to_json(verdict)) == verdict
