"""Which combinations of a matrix need no runs, and which one stands for them. That it is sound: tests/harness/test_pruning.py."""

from __future__ import annotations

import pytest

from model import document, matrix
from model.pruning import SAME_PLAN, Dropped, prune
from model.refusal import Refusal

UNCLEAN = "topics/t/config/unclean.leader.election.enable"
MIN_ISR = "topics/t/config/min.insync.replicas"
ONE_REPLICA = "topics: {t: {replicas: 1}}\n"


def dropped(*texts: str) -> tuple[Dropped, ...]:
    found = [cell for text in texts for cell in matrix.combinations(document.parse("tidemark: 1\n" + text, "some.yaml"))]
    return prune(found)


def test_what_cannot_be_is_dropped_and_what_it_would_have_been_stands_for_it() -> None:
    """5.30: of min.insync.replicas no more counts than there are replicas."""
    few, many = dropped(f"matrix: {{topics/t/replicas: [1, 2, 3], {MIN_ISR}: [1, 2]}}"), ()
    assert [(each.number, each.stands_for_it) for each in few] == [(1, 0)]
    assert (
        few[0].reason == "min.insync.replicas 2 can never be met with 1 replicas of 't', and counts as many as there are (P 5.30)"
    )
    assert dropped(f"matrix: {{topics/t/replicas: [2, 3], {MIN_ISR}: [1, 2]}}") == many


def test_what_cannot_be_may_have_nobody_to_stand_for_it() -> None:
    """Then it says no more than why."""
    (each,) = dropped("matrix: {schedule: [swarm, none], faults: [all, [network]]}")
    assert (each.number, each.stands_for_it) == (3, None)
    assert each.reason == "it cannot be: only the swarm draws faults"
    by_cluster = dropped(
        "topics: {t: {replicas: 2}, u: {replicas: 3}}\nmatrix: {config/min.insync.replicas: [2, 3], topics/t/replicas: [2, 3]}"
    )
    assert [(each.number, each.stands_for_it) for each in by_cluster] == [(2, None)]  # with 2, u would ask for less


@pytest.mark.parametrize(
    "text", [f"matrix: {{{MIN_ISR}: [1, 4]}}", f"topics: {{t: {{replicas: 2}}}}\nmatrix: {{{MIN_ISR}: [3]}}"]
)
def test_a_value_that_nothing_can_have_is_a_mistake_and_no_combination(text: str) -> None:
    """It is refused where somebody wrote it, as everywhere."""
    with pytest.raises(Refusal, match="can never be met"):
        dropped(text)


def test_the_same_plan_twice_is_run_once() -> None:
    """Two files may overlap; the first one stands."""
    assert dropped("matrix: {workload/acks: [all, 1]}", "matrix: {workload/acks: [0, 1]}") == (Dropped(3, SAME_PLAN, 1),)


def test_the_same_faults_under_other_names() -> None:
    """A family and all of its faults; all families and `all`."""
    clock = dropped("matrix: {faults: [[clock], [strobe, drift, jump, skew], [skew]]}")
    assert clock == (Dropped(1, "its faults are the same", 0),)
    assert len(dropped("matrix: {faults: [all, [network, process, clock, disk, operator]]}")) == 1


def test_what_nobody_asks_for() -> None:
    """Of batches in flight and retries only idempotent producers know."""
    (each,) = dropped("matrix: {workload/in_flight: [1, 5]}")
    assert (each.number, each.stands_for_it) == (1, 0)
    assert "the workload idempotent alone" in each.reason
    assert dropped("workload: {name: idempotent}\nmatrix: {workload/in_flight: [1, 5]}") == ()


def test_two_reasons_are_both_told() -> None:
    """Each without which the two would differ, and no other."""
    (each,) = dropped("faults: [clock]\nworkload: {retries: 1}", "faults: [strobe, drift, jump, skew]\nworkload: {retries: 1}")
    assert each.reason == "its faults are the same"
    (each,) = dropped("faults: [clock]\nworkload: {retries: 2}", "faults: [strobe, drift, jump, skew]\nworkload: {retries: 1}")
    assert each.reason.startswith("its faults are the same; in_flight, retries")


def test_a_replica_that_is_alone_needs_no_unclean_election() -> None:
    """8.3, 8.8: it is elected cleanly, or as the last known leader, whenever it may lead."""
    for elr in (0, 1):
        config = f"config: {{eligible.leader.replicas.version: {elr}}}\n"
        (each,) = dropped(f"{ONE_REPLICA}{config}faults: [process, disk]\nmatrix: {{{UNCLEAN}: [false, true]}}")
        assert (each.number, each.stands_for_it) == (1, 0)
        assert "P 8.3, 8.8, 8.9" in each.reason
    by_cluster = f"{ONE_REPLICA}faults: [disk]\nmatrix: {{config/unclean.leader.election.enable: [false, true]}}"
    assert len(dropped(by_cluster)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "faults: [process, reassign]",  # it does not stay alone
        "faults: [change_config, kill]",
        "faults: [operator]",
        "faults: all",
        "faults: [process]\nmutants: [B36]",  # wrong rules elect whom they like
        "faults: [process]\ncluster: local",  # changes may be missing, and then the permission is an excuse by itself
        "topics: {t: {replicas: 1}, u: {replicas: 2}}\nfaults: [process]",
    ],
)
def test_in_doubt_a_combination_stays(text: str) -> None:
    """Whatever might make a difference does."""
    plan = text if "topics" in text else ONE_REPLICA + text
    assert dropped(plan if "matrix" in plan else f"{plan}\nmatrix: {{{UNCLEAN}: [false, true]}}") == ()


def test_acks_of_one_leave_min_isr_its_meaning() -> None:
    """5.28: the high watermark waits for it, and with it all who read; 8.6: it decides who is in the ELR."""
    assert dropped(f"matrix: {{workload/acks: [0, 1, all], {MIN_ISR}: [1, 2, 3]}}") == ()


def test_one_replica_keeps_its_elr() -> None:
    """After a crash it is elected cleanly without, and with it as the last known leader: C9 and C7."""
    matrix_of_elr = "matrix: {config/eligible.leader.replicas.version: [0, 1]}"
    assert dropped(f"{ONE_REPLICA}faults: [process, disk]\n{matrix_of_elr}") == ()
