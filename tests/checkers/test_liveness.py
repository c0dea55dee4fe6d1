"""V1 to V5: what is broken is reported, what is a hair's breadth away from it is not, and what cannot be judged is counted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checkers.found import Checked, Found
from checkers.liveness import check_liveness
from checkers.run_evidence import RunEvidence
from model.cluster import Violation
from model.history import to_rows, to_table
from model.operation import Row
from model.plan import Judge, Nodes, Topic, Workload
from model.seen import Seen
from model.verdict import Witness
from tests.checkers.living import G, R, S, append, appends, change, cut, event, evidence, plan_of, registration, row

NOT_LEADER = "NOT_LEADER_OR_FOLLOWER"
TOO_FEW = "NOT_ENOUGH_REPLICAS"


def found_in(run: RunEvidence) -> list[Found]:
    return [found for checked in check_liveness(run) for found in checked.found]


def rules(run: RunEvidence) -> list[tuple[str, str | None, int]]:
    """What was found: anomaly, rule and how often."""
    return [(found.name, found.rule, found.count) for found in found_in(run)]


def told(run: RunEvidence) -> Witness:
    (found,) = found_in(run)
    return found.tell(0)


def not_judged(run: RunEvidence, rule: str) -> int:
    return sum(checked.counts.get(f"{rule} not judged", 0) for checked in check_liveness(run))


# -- the worked examples of CHECKERS 8.5 (R = 40 s, G = 5 s) ---------------------------------------------------------------


def comes_back_at(second: float) -> RunEvidence:
    """A cut from 5 to 20 s; appends fail until the first is accepted, and again and again from then on."""
    rows = [*appends(0, 0, 5), *appends(100, 5, second - 1, NOT_LEADER), *appends(200, second - 0.5, second + 10)]
    return evidence(rows, cut(5, 20, (1,)), plan=plan_of(for_ns=90 * S))


def test_v_a_an_append_that_is_accepted_five_seconds_after_the_heal_is_fine() -> None:
    assert rules(comes_back_at(25)) == []


def test_v_b_no_append_accepted_until_fifty_seconds_after_the_heal_is_unavailable() -> None:
    run = comes_back_at(70)
    assert rules(run) == [("unavailable", "V1", 1)]
    witness = told(run)
    assert witness.text == (
        "t/0 accepted no append with acks=all for 50.000 s (20.000-70.000 s); the last fault ended at 20.000 s and the bound is "
        "40.000 s. Last error: NOT_LEADER_OR_FOLLOWER."
    )
    assert witness.ops == (4, 163, 200)  # the last success before, the last failure, the first success after
    assert (witness.from_ns, witness.to_ns, witness.shape) == (20 * S, 70 * S, "")


def test_v_c_too_few_replicas_in_sync_during_a_cut_is_no_anomaly() -> None:
    changes = [change(-5, (1, 2, 3)), change(6, (1,)), change(66, (1, 2, 3))]
    rows = [*appends(0, 0, 5), *appends(100, 5, 66, TOO_FEW), *appends(200, 66, 80)]
    assert rules(evidence(rows, cut(5, 65, (1,), (2, 3)), plan=plan_of(for_ns=90 * S), changes=changes)) == []


def test_v_d_appends_that_fail_for_six_seconds_without_a_fault_are_unavailable() -> None:
    run = evidence([*appends(0, 0, 5), *appends(100, 5, 12, NOT_LEADER), *appends(200, 12, 20)])
    assert rules(run) == [("unavailable", "V2", 1)]
    assert told(run).text == (
        "t/0 accepted no append for 7.500 s (5.000-12.500 s); there had been no fault and the longest quiet gap is 5.000 s. "
        "Last error: NOT_LEADER_OR_FOLLOWER."
    )


def test_v_e_no_append_tried_for_six_seconds_is_nothing() -> None:
    assert rules(evidence([*appends(0, 0, 5), *appends(200, 12, 20)])) == []


@pytest.mark.parametrize("error", ["OPEN_AT_END", None])
def test_v_f_an_operation_open_longer_than_its_timeout_and_a_second_is_stuck(error: str | None) -> None:
    plan = plan_of(config={"profile": "brisk", "request.timeout.ms": 30_000}, judge=Judge(gap_ns=60 * S))
    run = evidence([append(0, 3, 38, error)], plan=plan)
    assert rules(run) == [("stuck", "V4", 1)]
    how = "with success" if error is None else "with OPEN_AT_END"
    text = f"p0's append on t/0 began at 3.000 s and ended 35.000 s later, {how}: its client's timeout is 30.000 s."
    assert told(run).text == text
    assert told(run).shape == "A"


def test_v_f_an_operation_that_ends_within_its_timeout_and_a_second_is_not() -> None:
    plan = plan_of(config={"profile": "brisk", "request.timeout.ms": 30_000}, judge=Judge(gap_ns=60 * S))
    assert rules(evidence([append(0, 3, 34, "TIMED_OUT")], plan=plan)) == []


def test_v_g_where_the_run_loop_may_have_stalled_nothing_is_stuck() -> None:
    plan = plan_of(cluster="local", judge=Judge(gap_ns=60 * S))
    run = evidence([append(0, 3, 38, "OPEN_AT_END")], plan=plan)
    assert rules(run) == []
    assert not_judged(run, "V4") == 1


# -- V1 ---------------------------------------------------------------------------------------------------------------------


def never_back(*events: Any, until: float = 70, **more: Any) -> RunEvidence:
    rows = [*appends(0, 0, 5), *appends(100, 5, until, NOT_LEADER)]
    return evidence(rows, *(events or (cut(5, 20, (1,)),)), **{"plan": plan_of(for_ns=15 * S), **more})


def in_halves(fired: float, healed: float | None) -> Any:
    return event("cut", fired, healed, (1, 2, 3), args={"shape": "halves"})


def test_a_partition_that_never_comes_back_is_told_once() -> None:
    """As V1, and not again as a long gap while nothing is broken."""
    assert rules(never_back(until=80)) == [("unavailable", "V1", 1)]


def test_nothing_is_known_of_a_cluster_that_was_not_asked_for_long_enough() -> None:
    run = never_back(until=59)
    assert rules(run) == []
    assert not_judged(run, "V1") == 1


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([append(100, 61, 61.5, NOT_LEADER)], id="one try"),
        pytest.param([append(100 + i, 55 + i, 62 + i, "TIMED_OUT", client=f"raw-{i}") for i in range(3)], id="one try each"),
        pytest.param(appends(100, 20, 90, NOT_LEADER, every=9), id="a try now and then"),
        pytest.param(appends(100, 20, 90, "MESSAGE_TOO_LARGE"), id="tries that deserve it"),
        pytest.param(appends(100, 20, 90, "TOPIC_AUTHORIZATION_FAILED"), id="tries that are not permitted"),
        pytest.param(appends(100, 20, 90, NOT_LEADER, acks=1), id="tries with acks=1"),
        pytest.param(appends(100, 20, 90, "NO_ACK", acks=0), id="tries that nobody answers"),
    ],
)
def test_who_did_not_really_try_proves_nothing(rows: list[Row]) -> None:
    plan = plan_of(judge=Judge(recovery_ns=R * S, gap_ns=G * S), config={"profile": "brisk", "request.timeout.ms": 30_000})
    run = evidence([*appends(0, 0, 5), *rows], cut(5, 20, (1,)), plan=plan)
    assert [each for each in rules(run) if each[1] == "V1"] == []
    assert not_judged(run, "V1") == 1


def test_an_append_without_an_offset_was_accepted_all_the_same() -> None:
    failed = [*appends(100, 20, 50, NOT_LEADER), *appends(200, 51, 75, NOT_LEADER)]
    run = evidence([*failed, append(1, 50, 51, "NO_OFFSET")], cut(5, 20, (1,)))
    assert [each for each in rules(run) if each[1] == "V1"] == []
    assert rules(evidence([*failed, append(1, 50, 51, NOT_LEADER)], cut(5, 20, (1,)))) == [("unavailable", "V1", 1)]
    rows = [append(1, 2.5, 3, "DUPLICATE_SEQUENCE_NUMBER"), *appends(100, 0, 8, NOT_LEADER, client="raw-1")]
    assert rules(evidence(rows)) == []


@pytest.mark.parametrize(
    ("events", "more"),
    [
        pytest.param((in_halves(5, None),), {}, id="a fault never healed"),
        pytest.param((cut(5, 20, (1,)), event("exit", 30, None)), {}, id="a node ended after the heal"),
        pytest.param((cut(5, 20, (1,)), event("from_elsewhere", 7, None)), {}, id="an unknown fault"),
        pytest.param((cut(5, 20, (1,)),), {"seen": Seen(excuse="beyond repair", converged=False)}, id="an excuse"),
        pytest.param((cut(5, 20, (1,)),), {"seen": Seen(converged=False)}, id="told already"),
        pytest.param((event("change_config", 5, 20, (), args={"key": "segment.bytes", "value": 99}),), {}, id="another config"),
    ],
)
def test_a_cluster_that_need_not_come_back_is_not_judged(events: tuple[Any, ...], more: Any) -> None:
    run = never_back(*events, **more)
    assert rules(run) == []
    assert not_judged(run, "V1") == 1


def violated() -> Seen:
    return Seen(violations=(Violation(number=11, name="x", text="", at_ns=0),), converged=False)


def test_a_run_that_was_stopped_at_a_violation_is_not_judged_by_what_never_came() -> None:
    run = never_back(seen=violated())
    assert ("unavailable", "V1", 1) not in rules(run)
    assert not_judged(run, "V1") == 1


def test_a_run_that_went_on_after_a_violation_is_judged() -> None:
    plan = plan_of(judge=Judge(recovery_ns=R * S, gap_ns=G * S, on_violation="note"))
    assert rules(never_back(seen=violated(), plan=plan)) == [("unavailable", "V1", 1)]


def hurt(how: str, nodes: Iterable[int], topic: str = "t", dropped: int = 1) -> Any:
    damage = [{"node": node, "topic": topic, "partition": 0, "how": how, "dropped_from": 0, "dropped": dropped} for node in nodes]
    return event(how if how in ("wipe", "rot") else "tear", 5, 20, nodes, damage=damage)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(hurt("rot", (1,)), id="C1 rot"),
        pytest.param(hurt("deep_tear", (1,)), id="C1 a tear below the synced end"),
        pytest.param(hurt("wipe", (4, 5), "__cluster_metadata"), id="Q1 most voters wiped"),
        pytest.param(hurt("rot", (4,), "__cluster_metadata"), id="Q1 a rotten voter"),
    ],
)
def test_damage_beyond_repair_excuses(fault: Any) -> None:
    assert rules(never_back(fault)) == []


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(hurt("wipe", (1, 2, 3)), id="every replica wiped"),
        pytest.param(hurt("lossy", (1,)), id="a lossy kill"),
        pytest.param(hurt("wipe", (4,), "__cluster_metadata"), id="one of three voters wiped"),
        pytest.param(event("skew", 5, 20), id="a clock that is right again"),
        pytest.param(event("change_config", 5, 20, (), args={"key": "min.insync.replicas", "value": 3}), id="another min ISR"),
        pytest.param(event("elect", 5, None), id="an election that was over at once"),
    ],
)
def test_damage_that_can_be_repaired_excuses_nothing(fault: Any) -> None:
    assert rules(never_back(fault)) == [("unavailable", "V1", 1)]


def test_half_of_the_voters_is_no_majority() -> None:
    plan = plan_of(nodes=Nodes(controllers=4, even_voters=True))
    assert rules(never_back(hurt("wipe", (4, 5), "__cluster_metadata"), plan=plan)) == []


def test_a_jump_of_the_clock_lasts_until_everything_is_put_right() -> None:
    """The plan's time is over at 30 s; so 60 s are not enough, 75 are."""
    plan = plan_of(for_ns=30 * S)
    assert rules(never_back(event("jump", 5, 5), until=69, plan=plan)) == []
    assert rules(never_back(event("jump", 5, 5), until=75, plan=plan)) == [("unavailable", "V1", 1)]


def test_a_partition_that_the_plan_does_not_name_is_nobodys_promise() -> None:
    run = evidence(appends(0, 0, 60, NOT_LEADER, topic="other"), cut(5, 6, (1,)))
    assert rules(run) == []


# -- V1: the final read -----------------------------------------------------------------------------------------------------


def final(op: int, kind: str, start: float, end: float, error: str | None = None, **columns: Any) -> Row:
    return row(op, kind, start, end, error, final=True, **columns)


def read_again_and_again(error: str | None = "OFFSET_NOT_AVAILABLE", until: float = 80, **columns: Any) -> list[Row]:
    asked = {"from_offset": 2, "max_records": 500, **columns}
    return [final(100 + i, "read", 22 + i, 22.5 + i, error, **asked) for i in range(int(until - 22))]


FINAL_HEAD = [
    *appends(0, 0, 5),
    final(50, "end_offset", 20, 20.1, offset=4),
    final(51, "read", 20.5, 21, from_offset=0, max_records=2, values=[0, 1], at_end=False),
]
UNREAD = Seen(read_to_the_end=False)


def test_a_final_read_that_never_comes_to_its_end_is_unavailable() -> None:
    run = evidence([*FINAL_HEAD, *read_again_and_again()], cut(5, 10, (1,)), seen=UNREAD)
    assert rules(run) == [("unavailable", "V1", 1)]
    assert told(run).text == (
        "The final read of t/0 did not come to its end: nothing more was read for 58.500 s (21.000-79.500 s); the last fault "
        "ended at 10.000 s and the bound is 40.000 s. Last error: OFFSET_NOT_AVAILABLE."
    )
    assert told(run).ops == (51, 157)


def test_a_log_that_ends_before_its_end_is_never_read_to_its_end() -> None:
    """Every answer is a success, and none brings anything."""
    rows = [*FINAL_HEAD, *read_again_and_again(None, from_offset=2, values=[], at_end=True)]
    run = evidence(rows, cut(5, 10, (1,)), seen=UNREAD)
    assert rules(run) == [("unavailable", "V1", 1)]
    assert told(run).text.endswith("the bound is 40.000 s.")


@pytest.mark.parametrize(
    ("rows", "seen"),
    [
        pytest.param([*FINAL_HEAD, *read_again_and_again()], Seen(), id="whoever ran it says that it was complete"),
        pytest.param([*FINAL_HEAD, *read_again_and_again(None, values=[2, 3], at_end=True)], UNREAD, id="another is incomplete"),
        pytest.param([*FINAL_HEAD, *read_again_and_again(until=25)], UNREAD, id="it was not tried for long"),
        pytest.param(appends(0, 0, 5), UNREAD, id="it never began"),
        pytest.param([*FINAL_HEAD, *read_again_and_again()], Seen(read_to_the_end=False, converged=False), id="told already"),
        pytest.param([*FINAL_HEAD, *read_again_and_again()], Seen(read_to_the_end=False, excuse="rot"), id="an excuse"),
        pytest.param(
            [*FINAL_HEAD, *read_again_and_again()], msgspec.structs.replace(violated(), read_to_the_end=False), id="stopped"
        ),
    ],
)
def test_a_final_read_is_only_judged_where_it_could_have_ended(rows: list[Row], seen: Seen) -> None:
    assert rules(evidence(rows, cut(5, 10, (1,)), seen=seen)) == []


def test_a_final_read_of_a_run_without_faults_must_end_too() -> None:
    run = evidence([*FINAL_HEAD, *read_again_and_again()], seen=UNREAD)
    assert rules(run) == [("unavailable", "V1", 1)]


# -- V2 ---------------------------------------------------------------------------------------------------------------------


def gap(from_s: float, to_s: float, error: str = NOT_LEADER) -> list[Row]:
    return [*appends(0, 0, from_s, every=0.5), *appends(300, from_s, to_s, error, every=0.5), *appends(600, to_s, to_s + 3)]


def test_a_gap_of_g_is_not_longer_than_g() -> None:
    assert rules(evidence(gap(5, 9.5))) == []  # from 5.0 to the success that ends it, at 10.0
    assert rules(evidence(gap(5, 10))) == [("unavailable", "V2", 1)]


def test_an_append_that_hangs_is_tried_for_as_long_as_it_hangs() -> None:
    rows = [append(1, 0, 1), append(2, 1, 3, "TIMED_OUT"), append(3, 3.1, 5, "TIMED_OUT"), append(4, 5, 7), append(5, 7, 8)]
    assert rules(evidence(rows)) == [("unavailable", "V2", 1)]
    assert rules(evidence([*rows, append(6, 3, 4, client="raw-1")])) == []


def test_nobody_waits_for_an_append_with_acks_0() -> None:
    assert rules(evidence([*appends(0, 0, 5), *appends(100, 5, 15, "NO_ACK", acks=0), *appends(200, 15, 20)])) == []


PATIENT = plan_of(config={"profile": "brisk", "request.timeout.ms": 30_000})


def test_clients_that_fail_once_each_may_all_have_had_dead_connections() -> None:
    rows = [append(0, 0, 1), *[append(1 + i, 2 + i, 12 + i, "TIMED_OUT", client=f"raw-{i}") for i in range(4)]]
    assert rules(evidence(rows, plan=PATIENT)) == []
    assert rules(evidence([*rows, append(9, 13, 14, "TIMED_OUT")], plan=PATIENT)) == [("unavailable", "V2", 1)]


def test_a_failure_before_the_last_success_is_no_first_failure() -> None:
    """raw-0 fails at 1 s and again at 9 s, and between the two another client was served; raw-1 hung all the time."""
    rows = [append(0, 0.5, 1, NOT_LEADER), append(1, 0, 4, "TIMED_OUT", client="raw-1"), append(2, 1, 2, client="raw-2")]
    assert rules(evidence([*rows, append(3, 3, 9, "TIMED_OUT")], plan=PATIENT)) == []


def test_a_gap_begins_at_the_last_success_and_ends_where_a_fault_begins() -> None:
    rows = [append(0, 0, 9, "TIMED_OUT", client="raw-1"), append(1, 1, 2), *appends(100, 3, 30, NOT_LEADER)]
    rows.append(append(90, 11.8, 12.4, "TIMED_OUT", client="raw-1"))
    run = evidence(rows, cut(12, 13, (1,)), plan=plan_of(config=PATIENT.config))
    (found,) = found_in(run)
    assert (found.from_ns.tolist(), found.to_ns.tolist()) == ([2 * S], [12 * S])
    assert found.tell(0).ops == (1, 108)  # from 11.0 to 11.5 s


def test_long_enough_after_the_last_heal_nothing_may_be_silent() -> None:
    """A cut from 1 to 2 s, R = 40 s."""
    plan = plan_of(for_ns=90 * S)
    run = evidence(gap(43, 50), cut(1, 2, (1,)), plan=plan)
    assert rules(run) == [("unavailable", "V2", 1)]
    assert "the last fault had ended at 2.000 s and the longest quiet gap is 5.000 s." in told(run).text
    run = evidence(gap(36, 46), cut(1, 2, (1,)), plan=plan)
    assert rules(run) == []
    assert not_judged(run, "V2") == 1


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(cut(48, 49, (1,)), id="a fault in its middle"),
        pytest.param(event("exit", 1, None), id="a node that is down"),
        pytest.param(event("jump", 1, 1), id="a clock that is wrong"),
        pytest.param(event("rolling_restart", 1, None), id="a restart that goes on"),
        pytest.param(hurt("rot", (1,)), id="damage beyond repair"),
        pytest.param(event("change_config", 1, 2, (), args={"key": "replica.lag.time.max.ms", "value": 9}), id="another config"),
    ],
)
def test_a_gap_that_something_may_have_caused_is_not_judged(fault: Any) -> None:
    rows = gap(46, 53)
    assert rules(evidence(rows, event("elect", 1, 2), plan=plan_of(for_ns=90 * S))) == [("unavailable", "V2", 1)]
    run = evidence(rows, event("elect", 1, 2), fault, plan=plan_of(for_ns=90 * S))
    assert rules(run) == []
    assert not_judged(run, "V2") == 1


@pytest.mark.parametrize(
    ("changes", "complete", "expected"),
    [
        pytest.param([change(-5, (1, 2, 3))], True, 1, id="enough are in sync"),
        pytest.param([change(-5, (1, 2, 3)), change(4, (1,))], True, 0, id="too few are in sync"),
        pytest.param([change(-5, (1, 2, 3)), change(4, (1, 2))], True, 1, id="just enough"),
        pytest.param([change(-5, (1, 2, 3)), change(4, (1,)), change(4.5, (1, 2))], True, 0, id="enough again, not for R"),
        pytest.param([change(-5, (1,), replicas=(1,))], True, 1, id="as many as there are"),
        pytest.param([change(-5, (1, 2, 3))], False, 0, id="changes were only sampled"),
        pytest.param([], True, 0, id="nothing is known"),
    ],
)
def test_refusing_is_right_while_too_few_are_in_sync(changes: list[Any], complete: bool, expected: int) -> None:
    run = evidence(gap(5, 12, TOO_FEW), changes=changes, changes_complete=complete)
    assert len(rules(run)) == expected


def test_a_higher_min_isr_may_have_been_in_force() -> None:
    raised = event("change_config", -60, -50, (), args={"key": "min.insync.replicas", "value": 3, "topic": "t"})
    run = evidence(gap(5, 12, TOO_FEW), raised, changes=[change(-5, (1, 2))], plan=plan_of(for_ns=0))
    assert rules(run) == []


def test_each_gap_counts() -> None:
    rows = [*gap(5, 12), *[msgspec.structs.replace(r, op=r.op + 1000, start_ns=r.start_ns + 20 * S) for r in gap(5, 12)]]
    (found,) = found_in(evidence(rows))
    assert found.count == 2
    assert found.from_ns.tolist() == [5 * S, 25 * S]


# -- V3 ---------------------------------------------------------------------------------------------------------------------


def outage_in_a_cut(*events: Any, **more: Any) -> RunEvidence:
    """Nothing is accepted from 5 to 65 s; n1, who leads, is isolated the whole time."""
    rows = [*appends(0, 0, 5), *appends(100, 5, 65, NOT_LEADER), *appends(200, 66, 80)]
    return evidence(rows, *(events or (cut(5, 65, (1,)),)), **{"plan": plan_of(for_ns=90 * S), **more})


def test_those_whom_a_fault_does_not_touch_must_go_on() -> None:
    run = outage_in_a_cut()
    assert rules(run) == [("unavailable", "V3", 1)]
    assert told(run).text == (
        "t/0 accepted no append for 60.000 s (5.000-65.000 s); no fault came or went since 5.000 s, n2, n3, n4, n5, n6 were up "
        "and connected with each other and with clients, and the bound is 40.000 s. Last error: NOT_LEADER_OR_FOLLOWER."
    )


def test_progress_within_r_is_enough_however_long_the_fault_lasts() -> None:
    rows = [*appends(0, 0, 5), *appends(100, 5, 40, NOT_LEADER), append(150, 42, 43), *appends(200, 43, 80, NOT_LEADER)]
    assert rules(evidence(rows, cut(5, 85, (1,)), plan=plan_of(for_ns=90 * S))) == []


def wiped_voter(at: float) -> Any:
    """n4 of n4, n5 and n6."""
    return {**hurt("wipe", (4,), "__cluster_metadata"), "fired_ns": int(at * S), "healed_ns": int((at + 10) * S)}


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((cut(5, 65, (1, 2)),), id="too few replicas"),
        pytest.param((cut(5, 65, (1,)), event("pause", 5, 65, (2,))), id="one of them stands still"),
        pytest.param((cut(5, 65, (1,)), event("lose_unsynced", 5, 65, (2,))), id="one of them is down"),
        pytest.param((cut(5, 65, (4, 5)),), id="too few voters"),
        pytest.param((cut(5, 65, (-1,), (1, 2, 3)), cut(5, 65, (-2,), (1, 2, 3))), id="no client"),
        pytest.param((cut(5, 65, (-1,), (1, 2, 3)),), id="only clients that do not try"),
        pytest.param((cut(5, 65, (1, 2, 3), (4, 5, 6)),), id="brokers and controllers apart"),
        pytest.param((cut(5, 65, (1,)), event("skew", 5, 65, (6,))), id="a clock is wrong"),
        pytest.param((cut(5, 65, (1,), (-1, -2)),), id="a leader whom only clients cannot reach"),
        pytest.param((cut(5, 65, (1,), (2, 3)),), id="a leader whom only followers cannot reach"),
        pytest.param((event("cut", 5, 65, (1,), args={"sides": [[1]], "one_way": True}),), id="a leader who can still dial"),
        pytest.param((event("gate", 5, 65, (1,), args={"sides": [[1]], "message": "Produce"}),), id="a leader who is not gone"),
        pytest.param((cut(5, 65, (1,)), event("delay", 20, 21, (2, 4))), id="something else came and went"),
        pytest.param((event("cut", 5, 65, (1, 2, 3, 4, 5, 6), args={"shape": "halves"}),), id="who knows which links"),
        pytest.param((event("exit", 5, None, (4,)), cut(5, 65, (5,))), id="a voter ended by itself"),
        pytest.param((event("change_config", 5, 65, (), args={"key": "min.insync.replicas", "value": 3}),), id="another config"),
        pytest.param((hurt("rot", (1,)), cut(5, 65, (1,))), id="damage beyond repair"),
        pytest.param((wiped_voter(-60), cut(5, 65, (1, 5))), id="a wiped voter does not count"),
        pytest.param((event("cut", 5, 65, (1,), args={"sides": [[1]], "streams": "answers"}),), id="a leader who can still ask"),
        pytest.param((event("cut", 5, 65, (1,), args={"sides": [[1]], "shape": "ring"}),), id="links that were drawn"),
    ],
)
def test_who_is_not_surely_up_and_connected_need_not_go_on(events: tuple[Any, ...]) -> None:
    assert rules(outage_in_a_cut(*events)) == []


@pytest.mark.parametrize(
    "events",
    [
        pytest.param((cut(5, 65, (1,), (4, 5, 6)),), id="a leader without controllers"),
        pytest.param((wiped_voter(-60), cut(5, 65, (1,))), id="a wiped voter, and two others"),
        pytest.param((cut(5, 65, (1, 2, 3), (4,)),), id="one voter apart"),
        pytest.param((cut(5, 65, (-2,), (1, 2, 3)),), id="the other clients apart"),
        pytest.param((event("kill", 5, 65, (1,)),), id="one replica down"),
        pytest.param((event("exit", 5, None, (4,)), cut(5, 90, (1,))), id="a voter and a replica"),
        pytest.param((cut(5, 65, (1,)), cut(5, 65, (1,), (2,))), id="two cuts around one node"),
    ],
)
def test_a_fault_that_leaves_enough_untouched_excuses_nothing(events: tuple[Any, ...]) -> None:
    assert rules(outage_in_a_cut(*events)) == [("unavailable", "V3", 1)]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"changes": [change(-50, (1, 2))]}, id="one of two in sync is apart"),
        pytest.param({"changes": [change(-50, (1, 2, 3)), change(30, (1, 3))]}, id="one of them left the ISR"),
        pytest.param({"changes_complete": False}, id="who was in sync is not known"),
        pytest.param({"registrations": [registration(-9, 2), registration(4, 2)]}, id="one has just come back"),
        pytest.param({"seen": Seen(excuse="rot", converged=False)}, id="an excuse"),
    ],
)
def test_replicas_that_may_not_be_in_sync_need_not_go_on(more: Any) -> None:
    run = outage_in_a_cut(**{"changes": [change(-50, (1, 2, 3))], **more})
    assert rules(run) == []
    assert not_judged(run, "V3") == 1


def test_a_leader_that_was_started_again_meanwhile_is_not_gone() -> None:
    killed = event("kill", 5, 65, (1,))
    assert rules(outage_in_a_cut(killed)) == [("unavailable", "V3", 1)]
    assert rules(outage_in_a_cut(killed, registrations=[registration(-9, 1), registration(10, 1)])) == []


def test_the_first_registration_of_a_broker_is_no_return() -> None:
    begun = [registration(-3, node) for node in (1, 2, 3)]
    assert rules(outage_in_a_cut(registrations=begun)) == [("unavailable", "V3", 1)]


def test_a_client_of_which_nobody_knows_where_it_is_proves_nothing() -> None:
    run = outage_in_a_cut()
    rows = [msgspec.structs.replace(each, client="somebody") for each in to_rows(run.table)]
    assert rules(msgspec.structs.replace(run, table=to_table(rows))) == []


# -- V4 ---------------------------------------------------------------------------------------------------------------------


def test_a_read_that_does_not_end_is_stuck_as_well() -> None:
    run = evidence([row(0, "read", 1, 5, "TIMED_OUT", from_offset=0, max_records=1)])
    assert rules(run) == [("stuck", "V4", 1)]
    assert told(run).shape == "R"


@pytest.mark.parametrize("attempts", [None, 3])
def test_how_long_a_resent_append_may_take_is_not_known(attempts: int | None) -> None:
    run = evidence([append(0, 1, 5, attempts=attempts)])
    assert rules(run) == []
    assert not_judged(run, "V4") == 1


# -- V5 ---------------------------------------------------------------------------------------------------------------------

READ_AT_LAST = final(900, "read", 90, 91, from_offset=0, max_records=99, values=[0, 1, 2, 3, 4], at_end=True)


def late_answer(kind: str = "end_offset", at: float = 70, final_read: Row | None = READ_AT_LAST, **columns: Any) -> RunEvidence:
    """Five writes before a cut from 5 to 20 s, and an answer long after."""
    asked = {"offset": 4} if kind == "end_offset" else {"from_offset": 4, "max_records": 9, "values": [], "at_end": True}
    rows = [*appends(0, 0, 5), row(800, kind, at, at + 0.5, **{**asked, **columns})]
    return evidence([*rows, *([] if final_read is None else [final_read])], cut(5, 20, (1,)), plan=plan_of(for_ns=15 * S))


@pytest.mark.parametrize("kind", ["end_offset", "read"])
def test_a_write_that_cannot_be_read_long_after_the_heal_is_unavailable(kind: str) -> None:
    run = late_answer(kind)
    assert rules(run) == [("unavailable", "V5", 1)]
    assert told(run).text == (
        "p4's append of 4 was acknowledged at offset 4 (acks=all, 4.500 s) and the final read returned it, yet p800 was told "
        "that the log ends at 4 (70.000-70.500 s); the last fault ended at 20.000 s and the bound is 40.000 s."
    )
    assert (told(run).ops, told(run).offset, told(run).value) == ((4, 800), 4, 4)


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(late_answer(offset=5), id="the whole log"),
        pytest.param(late_answer(at=60), id="no later than R"),
        pytest.param(late_answer("read", at_end=False), id="an answer that was cut by its limit"),
        pytest.param(late_answer("read", values=[4]), id="the write itself"),
        pytest.param(late_answer(final_read=None), id="nobody knows whether the write is there"),
        pytest.param(late_answer(final_read=msgspec.structs.replace(READ_AT_LAST, values=[0, 1, 2, 3])), id="the write is lost"),
        pytest.param(
            late_answer(final_read=msgspec.structs.replace(READ_AT_LAST, values=[0, 1, 2, 3, 9, 4])), id="only a copy is there"
        ),
        pytest.param(late_answer("end_offset", final=True), id="the final read's own answers"),
    ],
)
def test_an_answer_that_hides_no_write_is_fine(run: RunEvidence) -> None:
    assert rules(run) == []


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"changes": [change(-5, (1, 2, 3)), change(40, (1, 2, 3), leader=2)]}, id="a leader who is new"),
        pytest.param({"changes_complete": False}, id="leaders that are not known"),
        pytest.param({"seen": Seen(converged=False)}, id="told already"),
        pytest.param({"seen": Seen(converged=False, excuse="rot")}, id="an excuse"),
    ],
)
def test_a_write_is_only_expected_of_a_cluster_that_had_time_to_come_back(more: dict[str, Any]) -> None:
    assert rules(msgspec.structs.replace(late_answer(), **more)) == []


# -- whatever the history ---------------------------------------------------------------------------------------------------


def test_every_partition_is_judged_alone() -> None:
    good = appends(1000, 0, 20, partition=1)
    run = evidence([*gap(5, 12), *good], changes=[change(-5, (1, 2, 3)), change(-5, (1, 2, 3), partition=1)])
    run = msgspec.structs.replace(run, plan=plan_of(topics={"t": Topic(partitions=2)}))
    assert [(checked.at, len(checked.found)) for checked in check_liveness(run)] == [(("t", 0), 1), (("t", 1), 0)]


def test_a_history_without_operations_has_nothing_to_say() -> None:
    assert check_liveness(evidence([])) == []


errors = st.sampled_from([None, None, NOT_LEADER, TOO_FEW, "TIMED_OUT", "NOT_SENT", "MESSAGE_TOO_LARGE", "NO_OFFSET"])
nodes = st.lists(st.sampled_from([-2, -1, 1, 2, 3, 4, 5, 6]), min_size=1, max_size=3, unique=True)


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Well-formed rows with times on a coarse grid, so that they often touch."""
    rows = []
    for op in range(draw(st.integers(0, 25))):
        kind: Any = draw(st.sampled_from(["append", "append", "append", "read", "end_offset", "start_offset"]))
        start, took, error = draw(st.integers(0, 60)), draw(st.integers(0, 8)), draw(errors)
        shared = {"client": f"raw-{draw(st.integers(0, 3))}", "partition": draw(st.integers(0, 1))}
        if kind == "append":
            rows.append(append(op, start, start + took, error, acks=draw(st.sampled_from([-1, -1, 1])), **shared))
            continue
        asked: dict[str, Any] = {"final": draw(st.booleans())}
        if kind == "read":
            values = draw(st.lists(st.integers(0, 25), max_size=3, unique=True)) if error is None else None
            asked |= {"from_offset": draw(st.integers(0, 5)), "max_records": 3, "values": values, "at_end": draw(st.booleans())}
        elif error is None:
            asked["offset"] = draw(st.integers(0, 5))
        rows.append(row(op, kind, start, start + took, error, **shared, **asked))
    return rows


@st.composite
def faults(draw: st.DrawFn) -> Any:
    fired = draw(st.integers(0, 50))
    healed = draw(st.none() | st.integers(fired, 60))
    if draw(st.booleans()):
        return cut(fired, healed, *draw(st.lists(nodes, min_size=1, max_size=2)))
    kinds = ["kill", "pause", "skew", "jump", "exit", "elect", "wipe", "gate", "rolling_restart"]
    return event(draw(st.sampled_from(kinds)), fired, healed, draw(nodes))


@st.composite
def runs(draw: st.DrawFn) -> RunEvidence:
    isr = st.lists(st.integers(1, 3), max_size=3, unique=True)
    changes = [change(at, draw(isr), partition=at % 2) for at in sorted(draw(st.lists(st.integers(-5, 60), max_size=4)))]
    judge = Judge(recovery_ns=draw(st.sampled_from([3, 10, R])) * S, gap_ns=draw(st.sampled_from([1, 2, G])) * S)
    plan = plan_of(topics={"t": Topic(partitions=2)}, judge=judge, for_ns=draw(st.integers(0, 60)) * S)
    return evidence(
        draw(histories()),
        *draw(st.lists(faults(), max_size=3)),
        plan=plan,
        changes=changes,
        registrations=[registration(at, 1 + at % 3) for at in draw(st.lists(st.integers(0, 60), max_size=2))],
        changes_complete=draw(st.booleans()),
        seen=Seen(read_to_the_end=draw(st.booleans()), converged=draw(st.booleans())),
    )


def everything(checked: list[Checked]) -> list[Any]:
    return [
        (
            each.at,
            dict(each.counts),
            [(found.name, found.rule, found.from_ns.tolist(), found.to_ns.tolist()) for found in each.found],
        )
        for each in checked
    ]


@settings(max_examples=300, deadline=None)
@given(runs())
def test_no_history_is_too_strange_and_every_witness_can_be_told(run: RunEvidence) -> None:
    for checked in check_liveness(run):
        ops = {each.op for each in to_rows(run.table) if (each.topic, each.partition) == checked.at}
        for found in checked.found:
            for index in range(found.count):
                witness = found.tell(index)
                assert set(witness.ops) <= ops
                assert witness.from_ns <= witness.to_ns
                assert witness.text.endswith(".")


@settings(max_examples=150, deadline=None)
@given(runs(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_neither_the_order_of_rows_nor_names_matter(run: RunEvidence, random: Any, by: int) -> None:
    """Processes are numbered otherwise; clients keep the group that they are in."""
    rows = to_rows(run.table)
    random.shuffle(rows)
    groups = run.plan.client_groups
    renamed = [
        msgspec.structs.replace(each, process=1000 - each.process, client=f"raw-{int(each.client[4:]) + by * groups}")
        for each in rows
    ]
    other = msgspec.structs.replace(run, table=to_table(renamed))
    assert everything(check_liveness(other)) == everything(check_liveness(run))


def shifted(run: RunEvidence, by_ns: int) -> RunEvidence:
    """The same run by another clock, its plan's end included."""
    rows = [msgspec.structs.replace(each, start_ns=each.start_ns + by_ns) for each in to_rows(run.table)]

    def moved(each: Any) -> Any:
        times = {name: each[name] + by_ns for name in ("at_ns", "fired_ns", "healed_ns") if each.get(name) is not None}
        return {**each, **times}

    return msgspec.structs.replace(
        run,
        table=to_table(rows),
        plan=msgspec.structs.replace(run.plan, for_ns=run.plan.for_ns + by_ns),
        events=[moved(each) for each in run.events],
        changes=[moved(each) for each in run.changes],
        registrations=[moved(each) for each in run.registrations],
    )


@settings(max_examples=150, deadline=None)
@given(runs(), st.integers(0, 10**15))
def test_the_origin_of_the_clock_does_not_matter(run: RunEvidence, by_ns: int) -> None:
    before, after = everything(check_liveness(run)), everything(check_liveness(shifted(run, by_ns)))
    back = [
        (at, counts, [(name, rule, [ns - by_ns for ns in since], [ns - by_ns for ns in to]) for name, rule, since, to in found])
        for at, counts, found in after
    ]
    assert back == before


@settings(max_examples=150, deadline=None)
@given(runs(), st.integers(0, 24))
def test_one_more_accepted_append_makes_nothing_worse(run: RunEvidence, index: int) -> None:
    """Of a try that failed: had it been accepted, the partition would have been no less available."""
    rows = to_rows(run.table)
    if index >= len(rows) or rows[index].kind != "append":
        return
    better = [
        msgspec.structs.replace(each, type="ok", error=None, offset=each.op) if i == index else each
        for i, each in enumerate(rows)
    ]
    other = msgspec.structs.replace(run, table=to_table(better))

    def count(of: RunEvidence) -> int:
        return sum(found.rule == "V1" for found in found_in(of))

    assert count(other) <= count(run)


def test_a_plan_with_many_processes_deals_them_out_to_its_groups() -> None:
    """raw-1 is of the second group, which the cut left alone."""
    rows = [*appends(0, 0, 5, client="raw-1"), *appends(100, 5, 65, NOT_LEADER, client="raw-1")]
    plan = plan_of(for_ns=90 * S, workload=Workload(processes=4))
    assert rules(evidence(rows, cut(5, 65, (-1,), (1, 2, 3)), plan=plan)) == [("unavailable", "V3", 1)]
