"""The rules of a broker's life, one by one (4.1, 4.10, 4.14, 4.17, 4.20)."""

from __future__ import annotations

import pytest

from replication.image import BrokerRegistration, MetadataImage, PartitionState
from replication.rules import Rules
from replication.rules.life import BrokerLife

RULES = Rules()
MINE, OLDER = b"m" * 16, b"o" * 16


def image(incarnation_id: bytes | None) -> MetadataImage:
    known = {} if incarnation_id is None else {1: BrokerRegistration(broker_id=1, broker_epoch=7, incarnation_id=incarnation_id)}
    return MetadataImage(brokers=known)


def test_a_broker_acts_only_on_metadata_that_knows_its_process() -> None:
    """4.10, 4.14: neither before any registration, nor on one of its earlier processes."""
    assert RULES.may_apply(image(MINE), 1, MINE)
    assert not RULES.may_apply(image(OLDER), 1, MINE)
    assert not RULES.may_apply(image(None), 1, MINE)


def test_a_broker_asks_to_be_let_serve_once_it_has_applied_such_metadata() -> None:
    """4.10"""
    assert RULES.wants_fence(applied=False)
    assert not RULES.wants_fence(applied=True)


@pytest.mark.parametrize(
    ("life", "serves"),
    [
        (BrokerLife.STARTING, False),
        (BrokerLife.RECOVERY, False),
        (BrokerLife.RUNNING, True),
        (BrokerLife.LEAVING, True),
        (BrokerLife.CLOSING, False),
    ],
)
def test_nobody_is_served_before_the_controllers_say_so(life: BrokerLife, serves: bool) -> None:
    """4.1, 4.10, 4.14: once let serve it goes on, also while it asks to be let go."""
    assert RULES.may_serve(life) is serves


def test_a_broker_on_its_way_out_follows_only_where_it_still_counts() -> None:
    """4.20: where it is out of the ISR, or nobody leads, it would only be asked back in."""
    state = PartitionState(replicas=(1, 2, 3), isr=(1, 2), leader=2, leader_epoch=4, partition_epoch=6)
    leaderless = PartitionState(replicas=(1, 2, 3), isr=(1,), leader=-1, leader_epoch=5, partition_epoch=7)
    assert RULES.fetches_while_leaving(1, state)
    assert not RULES.fetches_while_leaving(3, state)
    assert not RULES.fetches_while_leaving(1, leaderless)


def test_a_broker_that_nobody_knows_waits_for_a_session_and_then_ends() -> None:
    """4.17"""
    assert not RULES.must_exit_unknown(100, 1_099, 1_000)
    assert RULES.must_exit_unknown(100, 1_100, 1_000)
