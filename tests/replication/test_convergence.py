"""Two logs that diverged, however often, become one again, and it is the leader's (5.16, 5.24, 5.25)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replication.events import Truncated
from replication.messages import EpochEndOffset
from replication.rules import Rules
from replication.state import Epochs
from tests.replication.scripted import Story

RULES = Rules()

Tenures = list[tuple[int, int, bool]]
"""Per leader epoch: who leads (1 or 2), how many records it appends, whether the other can fetch them."""

tenures = st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(0, 4), st.booleans()), min_size=1, max_size=9)


def diverge(story: Story, history: Tenures) -> None:
    """Let leaders come and go as told, each free to ignore the other: elections here are as unclean as can be."""
    for leader, records, connected in history:
        story.world.cut = set() if connected else {(1, 2), (2, 1)}
        story.controller.fail_over(leader, (leader,))
        story.controller.publish()
        for number in range(records):
            story.produce(leader, f"{story.controller.state().leader_epoch}:{number}", acks=1)
        story.world.advance(50)


@given(tenures, st.sampled_from([1, 2]))
def test_diverged_brokers_converge_to_the_leaders_log(history: Tenures, last_leader: int) -> None:
    """5.25: the follower ends with the leader's bytes and epochs, after no more cuts than it had epochs."""
    story = Story((1, 2), replica_fetch_wait_max_ms="20", replica_socket_timeout_ms="40", replica_fetch_backoff_ms="10")
    story.controller.create("t", (1, 2))
    story.controller.publish()
    diverge(story, history)
    follower = 3 - last_leader
    epochs_before, leader_before = story.log(follower).epochs, contents(story, last_leader)
    cuts_before = len(story.world.told(Truncated))
    story.world.cut = set()
    story.controller.fail_over(last_leader, (last_leader,))
    story.controller.publish()
    story.world.advance(500)
    assert contents(story, last_leader) == leader_before
    assert contents(story, follower) == leader_before
    assert story.log(follower).leo == story.log(last_leader).leo
    assert records_epochs(story, follower) == records_epochs(story, last_leader)
    cuts = story.world.told(Truncated)[cuts_before:]
    assert len(cuts) <= len(epochs_before)
    assert all(cut.now < cut.was for cut in cuts)


def contents(story: Story, node: int) -> bytes:
    return bytes(story.nodes[node].disks[0].files["t-0/00000000000000000000.log"])


def records_epochs(story: Story, node: int) -> list[int]:
    log = story.log(node)
    return [log.epoch_of(offset) for offset in range(log.log_start, log.leo)]


# -- the rules alone ------------------------------------------------------------------------------------------------------


@st.composite
def two_logs(draw: st.DrawFn) -> tuple[list[int], list[int]]:
    """The epochs of each offset in two logs of one partition: a common beginning, then what different leaders wrote.

    One epoch has one leader, so where both have records of an epoch at an offset, they are the same record.
    """
    epochs = draw(st.lists(st.integers(0, 12), unique=True, max_size=8).map(sorted))
    logs: list[list[int]] = [[], []]
    for epoch in epochs:
        writer = draw(st.integers(0, 1))
        logs[writer] += [epoch] * draw(st.integers(0, 4))
        other = 1 - writer
        if draw(st.booleans()):  # the other follows: it has some prefix of what the writer has, and nothing else
            logs[other] = logs[writer][: draw(st.integers(0, len(logs[writer])))]
    return logs[0], logs[1]


def cache(log: list[int]) -> Epochs:
    epochs: Epochs = ()
    for offset, epoch in enumerate(log):
        epochs = RULES.epochs_with(epochs, epoch, offset)
    return epochs


def common_prefix(a: list[int], b: list[int]) -> int:
    """How far two logs agree: epoch for epoch, since one (offset, epoch) is one record."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(two_logs(), st.integers(13, 20))
def test_rounds_of_fetching_find_the_common_prefix(logs: tuple[list[int], list[int]], office: int) -> None:
    """5.16, 5.24, 5.25: every round cuts, lowers the last epoch or ends, and never cuts into what both have."""
    leader, follower = logs
    leader_epochs = RULES.epochs_with(cache(leader), office, len(leader))  # 5.8: recorded at once
    shared = common_prefix(leader, follower)
    distinct = len(set(follower))
    rounds = 0
    while follower:
        epochs = cache(follower)
        verdict = RULES.judge_divergence(leader_epochs, len(leader), epochs[-1][0], len(follower))
        if verdict is None:
            break
        assert isinstance(verdict, EpochEndOffset)
        own_end = RULES.end_offset_for(epochs, verdict.epoch, len(follower))
        cut = RULES.truncation_point(verdict, own_end, len(follower))
        assert cut < len(follower)
        assert cut >= shared
        last_epoch, follower = follower[-1], follower[:cut]
        rounds += 1
        assert not follower or follower[-1] <= last_epoch
        assert rounds <= distinct
    assert follower == leader[: len(follower)]
