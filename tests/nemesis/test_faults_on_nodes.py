"""Faults of processes, clocks and disks: injected, healed, and without teeth."""

from __future__ import annotations

import pytest

from model.cluster import Damage
from tests.nemesis.fake import MS, FakeCluster, S, one_fault

LASTING = [
    ("pause", {}, "pause 2", ""),
    ("slow", {"share": "0.25"}, "slow 2 0.25", ""),
    ("skew", {"offset": "-2ms"}, "skew 2 -2000000", ""),
    ("strobe", {"by": "3ms"}, "strobe 2 3000000 10000000", ""),
    ("drift", {"ppm": 40}, "drift 2 40", ""),
    ("fill", {"directory": 1}, "fill 2 1", "start 2"),
    ("slow_sync", {"delay": "9ms"}, "slow_sync 2 9000000 0", ""),
    ("read_only", {}, "read_only 2 0", "start 2"),
    ("io_error", {"on": "sync"}, "io_error 2 sync 0", "start 2"),
]


@pytest.mark.parametrize(("fault", "args", "begins", "then"), LASTING)
def test_a_lasting_fault_begins_ends_and_has_bitten_if_it_was_felt(
    fault: str, args: dict[str, object], begins: str, then: str
) -> None:
    """The count is asked for before the fault is taken away. A node that a refusing disk may have brought down is started."""
    run = one_fault(FakeCluster(), fault, "n2", **args)
    assert run.cluster.take() == [begins]
    run.cluster.touched = 1
    run.nemesis.heal_all()
    assert run.cluster.take() == [f"release {begins}", *then.split(", " if then else None)]
    assert run.row()["effect"] is True
    assert run.cluster.running == set(run.cluster.nodes)


@pytest.mark.parametrize(("fault", "args"), [entry[:2] for entry in LASTING])
@pytest.mark.parametrize(
    ("runs", "touched", "effect"), [(True, 0, False), (True, None, None), (False, None, False), (False, 2, True)]
)
def test_a_lasting_fault_that_nobody_felt_is_toothless(
    fault: str, args: dict[str, object], runs: bool, touched: int | None, effect: bool | None
) -> None:
    """A node that does not run feels nothing, unless it came back while the fault lasted and was counted."""
    cluster = FakeCluster()
    if not runs:
        cluster.running.remove(2)
    run = one_fault(cluster, fault, "n2", **args)
    cluster.touched = touched
    run.nemesis.heal_all()
    assert run.row()["effect"] is effect


def test_a_kill_ends_a_process_and_its_heal_starts_it() -> None:
    """An unclean restart that lost nothing is damage all the same: it counts in D."""
    run = one_fault(FakeCluster(), "kill", ("n1", "n2"))
    assert run.cluster.take() == ["kill 1", "kill 2"]
    run.nemesis.heal_all()
    assert run.cluster.take() == ["start 1", "start 2"]
    assert run.row()["effect"] is True
    assert [(one["node"], one["how"]) for one in run.row()["damage"]] == [(1, "restart"), (2, "restart")]


def test_a_kill_of_a_dead_process_is_toothless() -> None:
    """There was nothing to end."""
    cluster = FakeCluster()
    cluster.running.remove(2)
    run = one_fault(cluster, "kill", "n2")
    run.nemesis.heal_all()
    assert run.row()["effect"] is False
    assert run.row()["damage"] == []


def lost(dropped: int | None) -> tuple[Damage, ...]:
    return (Damage(2, "t", 0, "lossy", dropped_from=5, dropped=dropped),)


@pytest.mark.parametrize("fault", ["lossy_kill", "lose_unsynced", "tear", "wipe", "rot"])
@pytest.mark.parametrize("damage", [lost(3), lost(None)])
def test_a_fault_of_a_dead_disk_kills_then_hurts_then_starts_again(fault: str, damage: tuple[Damage, ...]) -> None:
    """The process first: a live one could still sync. A loss that cannot be counted is a loss."""
    cluster = FakeCluster()
    cluster.damage = damage
    run = one_fault(cluster, fault, "n2")
    assert cluster.take() == ["kill 2", f"{'lose_unsynced' if fault == 'lossy_kill' else fault} 2 0"]
    run.nemesis.heal_all()
    assert cluster.take() == ["start 2"]
    assert run.row()["effect"] is True
    assert [(one["how"], one["dropped"]) for one in run.row()["damage"]] == [("lossy", damage[0].dropped)]


@pytest.mark.parametrize("fault", ["lose_unsynced", "tear", "wipe", "rot"])
def test_a_fault_of_a_dead_disk_hurts_the_directory_that_was_named(fault: str) -> None:
    """A node has up to sixteen of them."""
    cluster = FakeCluster()
    one_fault(cluster, fault, "n2", directory=3)
    assert cluster.take() == ["kill 2", f"{fault} 2 3"]


@pytest.mark.parametrize(
    ("fault", "damage", "effect"),
    [
        ("lossy_kill", lost(0), False),
        ("lose_unsynced", lost(0), False),
        ("tear", lost(0), False),
        ("tear", (), False),
        ("wipe", (), False),
        ("rot", (), False),
        ("wipe", lost(0), True),
        ("rot", lost(0), True),
    ],
)
def test_a_fault_of_a_dead_disk_that_lost_no_record_is_toothless(fault: str, damage: tuple[Damage, ...], effect: bool) -> None:
    """For a power cut a record must be gone; of a wipe or rot any damage tells. The kill itself is still recorded."""
    cluster = FakeCluster()
    cluster.damage = damage
    run = one_fault(cluster, fault, "n2")
    run.nemesis.heal_all()
    assert run.row()["effect"] is effect
    assert [one["how"] for one in run.row()["damage"]] == (["lossy"] if damage else ["restart"])


def test_a_stop_waits_until_the_process_has_ended() -> None:
    """It takes its time, and only then it has bitten."""
    run = one_fault(FakeCluster(), "stop", "n2")
    assert run.cluster.take() == ["stop 2"]
    run.run(1 * S).nemesis.heal_all()
    assert run.cluster.take() == ["start 2"]
    assert run.row()["effect"] is True


@pytest.mark.parametrize("why", ["it does not run", "it does not stop"])
def test_a_stop_of_what_does_not_stop_is_toothless(why: str) -> None:
    """It was dead before, or it is still there after the limit; its heal asks it to run all the same."""
    cluster = FakeCluster()
    cluster.stop_takes_ns = None
    if why == "it does not run":
        cluster.running.remove(2)
    run = one_fault(cluster, "stop", "n2").run(60 * S)
    run.nemesis.heal_all()
    assert run.row()["effect"] is False
    assert cluster.take() == ["stop 2", "start 2"]


def test_a_stop_that_is_healed_too_early_says_so() -> None:
    """The heal cuts the wait short; the processes are asked to run."""
    run = one_fault(FakeCluster(), "stop", ("n2", "n3"))
    run.nemesis.heal_all()
    assert run.told[-1] == ("heals", 0, "it had no effect: 2 of 2 did not stop in time")
    assert run.cluster.take() == ["stop 2", "stop 3", "start 2", "start 3"]


def test_a_restart_loop_goes_on_until_it_is_healed() -> None:
    """Every round is damage of its own, and the last thing that happens is a start."""
    run = one_fault(FakeCluster(), "restart_loop", "n2", every="1s").run(2500 * MS)
    run.nemesis.heal_all()
    assert run.cluster.take() == ["kill 2", "start 2"] * 3 + ["start 2"]
    assert len(run.row()["damage"]) == 3
    assert run.row()["effect"] is True
    run.run(10 * S)
    assert run.cluster.take() == []


def test_a_restart_loop_of_a_node_that_never_ran_is_toothless_in_its_first_round() -> None:
    """Healed at once, it ended no process."""
    cluster = FakeCluster()
    cluster.running.remove(2)
    run = one_fault(cluster, "restart_loop", "n2", every="1s")
    run.nemesis.heal_all()
    assert run.row()["effect"] is False


def test_a_restart_loop_has_bitten_if_it_did_so_in_any_round() -> None:
    """That the node was down when the last round came takes nothing back."""
    run = one_fault(FakeCluster(), "restart_loop", "n2", every="1s").run(500 * MS)
    run.cluster.running.remove(2)
    run.run(1 * S).nemesis.heal_all()
    assert run.row()["effect"] is True


def test_a_rolling_restart_has_one_node_down_at_a_time() -> None:
    """Stop, wait until it ended, start, wait for the gap; then the next, and then it is over."""
    run = one_fault(FakeCluster(), "rolling_restart", "brokers", gap="1s")
    down = []
    for _ in range(40):
        run.run(100 * MS)
        down.append(len(run.cluster.nodes) - len(run.cluster.running))
    assert run.cluster.take() == ["stop 1", "start 1", "stop 2", "start 2", "stop 3", "start 3"]
    assert max(down) <= 1
    assert run.row()["effect"] is True
    assert run.row()["healed_ns"] == 3 * (50 * MS + 1 * S)


def test_a_rolling_restart_that_the_end_of_the_run_cuts_short_leaves_nobody_down() -> None:
    """The node on its way down is asked to run, and no further one is touched."""
    run = one_fault(FakeCluster(), "rolling_restart", "brokers", gap="1s").run(10 * MS)
    run.nemesis.heal_all()
    assert run.cluster.take() == ["stop 1", "start 1"]
    assert run.row()["effect"] is False
    run.run(10 * S)
    assert run.cluster.take() == []


@pytest.mark.parametrize("runs", [True, False])
def test_a_jump_bites_a_node_that_runs(runs: bool) -> None:
    """It is over at once, and nothing takes it back."""
    cluster = FakeCluster()
    if not runs:
        cluster.running.remove(2)
    run = one_fault(cluster, "jump", "n2", by="-1s")
    run.nemesis.heal_all()
    assert cluster.take() == ["jump 2 -1000000000"]
    assert run.row()["effect"] is runs
    assert run.row()["healed_ns"] == 0
