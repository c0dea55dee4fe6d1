"""Committed metadata becomes rows: the kind of every election from two states alone, and what nodes tell later (CHECKERS 1.8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import evidence
from model.changes import Commit, CommittedPartition, Election, MetadataRows, election
from tests.model.played_elections import START, PlayedController

AT = "t", 0


def state(**given: Any) -> CommittedPartition:
    """As at the creation, but for what is given."""
    return msgspec.structs.replace(START, **given)


def after(before: CommittedPartition, **given: Any) -> CommittedPartition:
    """One change later; a leader that is given begins a leader epoch."""
    epochs = {"partition_epoch": before.partition_epoch + 1, "leader_epoch": before.leader_epoch + ("leader" in given)}
    return msgspec.structs.replace(before, **{**epochs, **given})


LEADERLESS = state(leader=None, isr=(), elr=(2, 3), last_known=(1,))
LOST = state(leader=None, isr=(), elr=(), last_known=(1,))
RECOVERING = state(leader=1, isr=(1,), recovering=True)
MOVING = state(replicas=(4, 2, 3, 1), adding=(4,), removing=(1,))
SHRINKING = state(replicas=(2, 3, 1), removing=(1,), isr=(1, 2, 3))

# Before, what the change gives, the kind; and a word about it.
CASES: dict[str, tuple[CommittedPartition | None, dict[str, Any], Election]] = {
    "8.3 the leader is fenced, the next in the ISR leads": (START, {"leader": 2, "isr": (2, 3)}, "clean"),
    "8.3 near miss: it goes on leading": (START, {"isr": (1, 2)}, "none"),
    "8.3 one comes back into a leaderless partition whose ISR it is": (state(leader=None, isr=(2,)), {"leader": 2}, "clean"),
    "8.3 the same one leads again": (state(leader=None, isr=(1,)), {"leader": 1}, "clean"),
    "8.1 nobody can lead": (state(isr=(1,)), {"leader": None, "isr": (), "elr": (1,), "last_known": (1,)}, "none"),
    "8.6 a member of the ELR leads": (LEADERLESS, {"leader": 3, "isr": (3,), "elr": (2,), "last_known": ()}, "elr"),
    "8.6 in the change that fences the last of the ISR": (
        state(isr=(1,), elr=(3,)),
        {"leader": 3, "isr": (3,), "elr": (1,)},
        "elr",
    ),
    "8.6 near miss: it joins the ISR, and another leads": (
        state(isr=(1, 2), elr=(3,)),
        {"leader": 2, "isr": (2, 3), "elr": ()},
        "clean",
    ),
    "8.8 the last known leader": (LOST, {"leader": 1, "isr": (1,), "last_known": (), "recovering": True}, "last_known"),
    "8.8 near miss: another one": (LOST, {"leader": 2, "isr": (2,), "last_known": (), "recovering": True}, "unclean"),
    "8.8 near miss: the ELR was not empty": (
        LEADERLESS,
        {"leader": 1, "isr": (1,), "elr": (), "last_known": (), "recovering": True},
        "unclean",
    ),
    "8.8 near miss: it is not remembered": (
        state(leader=None, isr=(), elr=()),
        {"leader": 1, "isr": (1,), "recovering": True},
        "unclean",
    ),
    "8.8 after an unclean one that never recovered": (
        state(leader=None, isr=(), last_known=(1,), recovering=True),
        {"leader": 1, "isr": (1,), "last_known": ()},
        "last_known",
    ),
    "8.8 what left the ELR is no replica any more": (
        state(leader=None, isr=(), elr=(4,), last_known=(1,)),
        {"leader": 1, "isr": (1,), "elr": (), "last_known": (), "recovering": True},
        "last_known",
    ),
    "8.9 ELR off: ISR and leader are another's": (state(isr=(1,)), {"leader": 3, "isr": (3,), "recovering": True}, "unclean"),
    "8.9 a second one before the first recovered": (RECOVERING, {"leader": 2, "isr": (2,)}, "unclean"),
    "8.9 near miss: RECOVERING outlives a clean election": (
        state(leader=None, isr=(1,), recovering=True),
        {"leader": 1},
        "clean",
    ),
    "8.9 near miss: and one from the ELR": (
        state(leader=None, isr=(), elr=(2,), recovering=True),
        {"leader": 2, "isr": (2,), "elr": ()},
        "elr",
    ),
    "5.10 it has recovered, with no election": (RECOVERING, {"recovering": False, "isr": (1, 2)}, "none"),
    "8.11 the preferred one leads, the old one stays in sync": (state(leader=2), {"leader": 1}, "preferred"),
    "8.11 near miss: the old one leaves the ISR": (state(leader=2), {"leader": 1, "isr": (1, 3)}, "clean"),
    "8.12 the min ISR changes": (state(isr=(1,), elr=(2,)), {"elr": ()}, "none"),
    "9.1 a reassignment begins": (START, {"replicas": (4, 2, 3, 1), "adding": (4,), "removing": (1,)}, "none"),
    "9.2 it is complete, and the same one leads on, stamped": (
        state(leader=2, replicas=(4, 2, 3, 1), adding=(4,), removing=(1,)),
        {"leader": 2, "isr": (2, 3, 4), "replicas": (4, 2, 3), "adding": (), "removing": ()},
        "none",
    ),
    "9.2 it is complete, and who led is no replica any more": (
        MOVING,
        {"leader": 4, "isr": (2, 3, 4), "replicas": (4, 2, 3), "adding": (), "removing": ()},
        "clean",
    ),
    "9.2 the same while RECOVERING": (
        msgspec.structs.replace(MOVING, isr=(1,), recovering=True),
        {"leader": 4, "isr": (4,), "replicas": (4, 2, 3), "adding": (), "removing": ()},
        "clean",
    ),
    "9.2 who joins by that change had been in the ELR": (
        msgspec.structs.replace(SHRINKING, isr=(1, 3), elr=(2,)),
        {"leader": 2, "isr": (3, 2), "elr": (), "replicas": (2, 3), "removing": ()},
        "clean",
    ),
    "9.2 near miss: it completes while none of its ISR can lead": (
        msgspec.structs.replace(MOVING, leader=None, isr=(4,), recovering=True),
        {"leader": 3, "isr": (3,), "replicas": (4, 2, 3), "adding": (), "removing": ()},
        "unclean",
    ),
    "9.4 it is cancelled, and nobody of the old replicas was in sync": (
        msgspec.structs.replace(MOVING, leader=4, isr=(4,), recovering=True),
        {"leader": 2, "isr": (2,), "replicas": (2, 3, 1), "adding": (), "removing": ()},
        "unclean",
    ),
    "3.9 a creation": (None, {}, "none"),
}


@pytest.mark.parametrize("name", CASES)
def test_two_states_tell_how_a_leader_came_into_office(name: str) -> None:
    """Section 8 and 9.2, each with its near miss."""
    before, given, kind = CASES[name]
    assert election(before, START if before is None else after(before, **given)) == kind


def test_who_left_the_elr_by_registering_anew_in_the_same_commit_was_nobody_to_elect() -> None:
    """4.3, 8.6, 8.8: the last one of the ELR comes back uncleanly, so the last known leader, who had been waiting, leads."""
    before = state(leader=None, isr=(), elr=(2,), last_known=(1,))
    new = after(before, leader=1, isr=(1,), elr=(), last_known=(), recovering=True)
    assert election(before, new, gone=(2,)) == "last_known"
    assert election(before, new, gone=(3,)) == "unclean"


def test_the_same_leader_two_epochs_later_lost_its_office_in_between() -> None:
    """1.6, where a change was missed: one epoch is a stamp, two are an election."""
    assert election(START, msgspec.structs.replace(START, leader_epoch=1, partition_epoch=1)) == "none"
    assert election(START, msgspec.structs.replace(START, leader_epoch=2, partition_epoch=2)) == "clean"


Word = Callable[[PlayedController, int], None]
Seen = tuple[CommittedPartition, Election, frozenset[int]]
WORDS: tuple[Word, ...] = (
    PlayedController.fence,
    PlayedController.register_uncleanly,
    PlayedController.unfence,
    PlayedController.unfence,
    PlayedController.join,
    PlayedController.leave,
    PlayedController.prefer,
    PlayedController.ask_uncleanly,
    PlayedController.move,
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.integers(1, 4)), max_size=40), st.booleans(), st.booleans(), st.integers(1, 3)
)
def test_the_kind_is_the_branch_that_the_controller_took(
    said: list[tuple[Word, int]], elr: bool, unclean: bool, min_isr: int
) -> None:
    """Section 8 as PROTOCOL 15 has it, played at random: what it chose is found again from the states before and after."""
    seen: list[Seen] = []
    controller = PlayedController(lambda *one: seen.append(one), elr=elr, unclean=unclean, min_isr=min_isr)
    for word, node in said:
        word(controller, node)
    require_the_same(seen)


def test_long_walks_reach_every_kind_of_election() -> None:
    """The same with many more steps than a search for a small example takes; what was never elected was never tested."""
    found: Counter[Election] = Counter()
    for seed in range(5_000):
        chance, seen = Random(seed), list[Seen]()
        elr, unclean = chance.random() < 0.6, chance.random() < 0.4
        controller = PlayedController(lambda *one: seen.append(one), elr=elr, unclean=unclean, min_isr=chance.choice((1, 2, 3)))  # noqa: B023
        for _ in range(40):
            chance.choice(WORDS)(controller, chance.randint(1, 4))
        require_the_same(seen)
        found.update(kind for _, kind, _ in seen)
    assert all(found[kind] >= 50 for kind in ("preferred", "clean", "elr", "last_known", "unclean")), found


def require_the_same(seen: Sequence[Seen]) -> None:
    """A clean election that lets the old leader stay in the ISR is what a preferred one is."""
    before = START
    for new, kind, gone in seen:
        found = election(before, new, gone)
        stayed = before.leader is not None and before.leader != new.leader and before.leader in new.isr
        assert found == ("preferred" if kind == "clean" and stayed else kind), (before, new)
        before = new


# -- rows ---------------------------------------------------------------------------------------------------------------


class Tail:
    """Commits of one partition and its brokers, ten nanoseconds apart."""

    def __init__(self) -> None:
        self.rows = MetadataRows()
        self.now = 0
        self.epochs: dict[int, int] = {}
        self.register(1, 2, 3)
        self.state = START
        self.commit()

    def register(self, *nodes: int) -> None:
        self.now += 10
        self.epochs = {**self.epochs, **{node: self.now + node for node in nodes}}
        self.rows.on_commit(Commit(at_ns=self.now, broker_epochs=self.epochs))

    def commit(self, **given: Any) -> dict[str, Any]:
        self.now += 10
        self.state = after(self.state, **given) if given else self.state
        commit = Commit(at_ns=self.now, steps=((AT, self.state),), broker_epochs=self.epochs)
        return self.rows.on_commit(commit).changes[0]


def test_a_change_is_a_row_with_the_broker_epochs_of_its_isr() -> None:
    """1.8, and the table takes it as it is."""
    tail = Tail()
    row = tail.commit(leader=None, isr=(2,), elr=(3,), last_known=(1,))
    assert row == {
        "at_ns": 30,
        "topic": "t",
        "partition": 0,
        "leader": None,
        "leader_epoch": 1,
        "partition_epoch": 1,
        "replicas": [1, 2, 3],
        "isr": [2],
        "elr": [3],
        "isr_epochs": [12],
        "last_known": 1,
        "election": "none",
        "epoch_start": None,
    }
    assert evidence.to_table("changes", tail.rows.changes).to_pylist() == tail.rows.changes
    assert list(row) == evidence.SCHEMAS["changes"].names


def test_several_last_known_are_none_and_an_unregistered_member_has_no_epoch() -> None:
    """1.8: one number or null (P 8.8 keeps one)."""
    row = Tail().commit(isr=(1, 4), last_known=(1, 2))
    assert (row["last_known"], row["isr_epochs"]) == (None, [11, None])


def test_every_new_broker_epoch_is_a_registration() -> None:
    """1.8: none for an epoch that stays, none for a broker that goes."""
    tail = Tail()
    assert [(row["node"], row["broker_epoch"]) for row in tail.rows.registrations] == [(1, 11), (2, 12), (3, 13)]
    tail.register(2)
    added = tail.rows.on_commit(Commit(at_ns=40, broker_epochs={1: 11, 2: tail.epochs[2]}))
    assert added.registrations == ()
    assert tail.rows.registrations[3:] == [{"at_ns": 30, "node": 2, "broker_epoch": 32, "clean": None}]
    assert evidence.to_table("registrations", tail.rows.registrations).to_pylist() == tail.rows.registrations


def test_a_commit_that_registers_anew_whom_it_takes_out_is_seen_as_one() -> None:
    """8.8, as above, through the fold: it compares the broker epochs around the commit."""
    for epochs, kind in (
        ({1: 11, 2: 99, 3: 13}, "last_known"),
        ({1: 11, 3: 13}, "last_known"),
        ({1: 11, 2: 12, 3: 13}, "unclean"),
    ):
        tail = Tail()
        tail.commit(leader=None, isr=(), elr=(2,), last_known=(1,))
        tail.epochs = epochs
        assert tail.commit(leader=1, isr=(1,), elr=(), last_known=(), recovering=True)["election"] == kind


def test_a_leader_tells_where_its_epoch_starts_and_every_row_of_that_epoch_learns_it() -> None:
    """11.6: rows before its word and after it. Other nodes, other epochs and a second word change nothing."""
    tail = Tail()
    tail.commit(leader=2, isr=(2, 3))
    tail.commit(isr=(2,))
    told = [tail.rows.on_epoch_start(*word) for word in ((1, AT, 0, 3), (3, AT, 1, 5), (2, AT, 1, 17), (2, AT, 1, 99))]
    tail.commit(isr=(2, 3))
    tail.commit(leader=3)
    assert told == [False, False, True, False]
    assert [row["epoch_start"] for row in tail.rows.changes] == [None, 17, 17, 17, None]
    assert not tail.rows.on_epoch_start(2, ("u", 0), 1, 17)


def test_a_process_that_says_how_its_predecessor_stopped_says_it_of_its_own_registration() -> None:
    """11.6: told before it registers, or with its broker epoch afterwards; of the newest process that told, and once."""
    tail = Tail()
    tail.rows.on_process_start(2, clean=False)
    tail.rows.on_process_start(2, clean=True)
    tail.register(2)
    tail.register(2)
    tail.rows.on_registered_as(2, 32, clean=False)
    tail.rows.on_registered_as(2, 42, clean=False)
    tail.rows.on_registered_as(2, 77, clean=False)
    assert [(row["broker_epoch"], row["clean"]) for row in tail.rows.registrations[3:]] == [(32, True), (42, False)]


def test_a_missed_change_is_noticed() -> None:
    """11.6: a gap makes the record a sampled one, for good."""
    tail = Tail()
    tail.commit(isr=(1, 2))
    assert tail.rows.complete
    tail.state = after(tail.state, partition_epoch=3)
    tail.commit(isr=(1,))
    tail.commit(isr=(1, 2))
    assert not tail.rows.complete
    late = MetadataRows()
    late.on_commit(Commit(at_ns=1, steps=((AT, state(partition_epoch=7)),), broker_epochs={}))
    assert not late.complete


def test_one_commit_may_change_a_partition_twice() -> None:
    """3.6: two records of one batch are two rows, and nothing is missed."""
    tail = Tail()
    first = after(START, isr=(1, 2))
    second = after(first, leader=2, isr=(2,))
    rows = tail.rows.on_commit(Commit(at_ns=30, broker_epochs=tail.epochs, steps=((AT, first), (AT, second)))).changes
    assert [(row["partition_epoch"], row["election"]) for row in rows] == [(1, "none"), (2, "clean")]
    assert tail.rows.complete


def test_a_topic_created_again_begins_anew() -> None:
    """3.16: epochs start at 0 again, and its first leader was not elected."""
    tail = Tail()
    tail.commit(leader=2, isr=(2, 3))
    tail.rows.on_epoch_start(2, AT, 1, 5)
    tail.state = START
    assert (tail.commit()["election"], tail.rows.complete) == ("none", True)
    assert tail.rows.on_epoch_start(1, AT, 0, 0)
    assert [row["epoch_start"] for row in tail.rows.changes] == [None, 5, 0]
