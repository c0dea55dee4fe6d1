"""Quorums under random trouble: nothing committed is lost, nobody votes twice, and afterwards all come together again.

The judge watches invariants 18 to 25 of BUGS.md all the while; beside each claim stands a wrong rule that breaks it.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replication.events import QuorumLogTruncated, SnapshotLoaded, SnapshotTaken
from replication.rules import Rules
from tests.replication.quorum import wrong
from tests.replication.quorum.storm import Storm, complaint, weather


def how(seed: int) -> dict[str, object]:
    """Every fifth quorum is larger, in every third a voter loses its disk."""
    return {"voters": 5 if seed % 5 == 0 else 3, "wipes": seed % 3 == 0}


def run(seeds: range) -> list[Storm]:
    storms = []
    for seed in seeds:
        storm = weather(seed, **how(seed))
        assert complaint(storm) is None, f"seed {seed}: {complaint(storm)}"
        storms.append(storm)
    return storms


def test_three_hundred_storms_break_no_promise() -> None:
    """1.3, 2.2 to 2.43 One leader an epoch, one vote a voter, one history for all; and there was something to break."""
    storms = run(range(300))
    assert sum(len(storm.world.judge.history) for storm in storms) > 3_000
    for kind in (SnapshotTaken, SnapshotLoaded, QuorumLogTruncated):
        assert sum(len(storm.world.told(kind)) for storm in storms) > 50, kind
    assert sum(max(storm.world.judge.leaders) for storm in storms) > 1_000


@pytest.mark.acceptance
def test_five_thousand_storms_break_no_promise() -> None:
    """The same, longer."""
    run(range(300, 5_300))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**32),
    voters=st.sampled_from([1, 2, 3, 4, 5]),
    delay=st.floats(0.1, 120),
    sync=st.floats(0.1, 250),
    drop=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_no_weather_breaks_a_promise(seed: int, voters: int, delay: float, sync: float, drop: float) -> None:
    """2.2 to 2.43 Networks and disks of any speed, quorums of any size."""
    storm = Storm(seed, voters=voters)
    storm.world.message_delay_ms, storm.world.sync_delay_ms, storm.world.drop = (0.1, delay), (0.1, sync), drop
    storm.blow(30, 100)
    storm.came_together = storm.calm_down()
    assert complaint(storm) is None


def test_the_same_seed_is_the_same_storm() -> None:
    """What is found can be found again: every event, in order."""
    one, other = weather(7, **how(7)), weather(7, **how(7))
    assert one.world.events == other.world.events
    assert one.world.now_ns == other.world.now_ns


FOUND = [
    ("B40a", wrong.ForgetsVotes, 5, "19"),
    ("B40b", wrong.SpeaksBeforeItIsWritten, 5, "19"),
    ("B41", wrong.FreshVoteWithEveryRole, 40, "20"),
    ("B42", wrong.AnyLogWillDo, 40, ""),
    ("B42, offset first", wrong.OffsetBeforeEpoch, 200, ""),
    ("B43", wrong.CountsOldEpochs, 10, "21"),
    ("B44", wrong.AcksBeforeFlush, 10, "22"),
    ("B45", wrong.ResumesOffice, 60, ""),
    ("B46a", wrong.CountsPreVotes, 20, "18"),
    ("B48", wrong.ActsTooEarly, 10, "10"),
    ("B49a", wrong.VoterIsItsId, 300, ""),
    ("B50a", wrong.SnapshotEndsTooEarly, 20, ""),
    ("B50b", wrong.SnapshotsAboveTheHighWatermark, 20, ""),
    ("B50c", wrong.ForgetsWithoutSnapshot, 60, "25"),
    ("B56b", wrong.CountsItsOwnUnsynced, 20, "22"),
    ("2.25", wrong.CountsEveryFetch, 100, ""),
    ("2.35", wrong.AppliesWhatItHas, 100, "24"),
]


@pytest.mark.parametrize(("rules", "within", "invariant"), [case[1:] for case in FOUND], ids=[case[0] for case in FOUND])
def test_storms_find_wrong_rules(rules: type[Rules], within: int, invariant: str) -> None:
    """Each within so many seeds, by a broken invariant, a member that refuses to go on, or one that never comes back."""
    for seed in range(within):
        found = complaint(weather(seed, rules=rules(), **how(seed)))
        if found is not None and (not invariant or found.startswith(f"{invariant}:")):
            return
    raise AssertionError(f"not found within {within} storms")
