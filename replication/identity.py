"""replication/identity.py: the ids that name partitions, topics and directories.

A partition is keyed by topic id, never by name: a topic created again under its old name is another topic (3.16).
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from replication.env import Chance

Key = tuple[bytes, int]
"""(topic id, partition index)."""

NO_LEADER = -1
NO_EPOCH = -1  # a broker or leader epoch that was not given
UNASSIGNED = bytes(16)
"""The directory id of a replica whose broker has not yet chosen one (10.5)."""

_RESERVED = 100  # ids below this number have a meaning of their own in Kafka


def random_id(chance: Chance) -> bytes:
    """1.13 A new id from the node's own generator, so that a simulated run repeats it and a restarted node does not."""
    while True:
        number = chance.getrandbits(128)
        name = number.to_bytes(16, "big")
        if number >= _RESERVED and not id_text(name).startswith("-"):  # a leading dash reads as an option in shells
            return name


def id_text(identifier: bytes) -> str:
    """Kafka's way to write an id: base64 for URLs, without padding."""
    return urlsafe_b64encode(identifier).decode().rstrip("=")


def id_of_text(text: str) -> bytes:
    """Raises ValueError for what is no id."""
    identifier = urlsafe_b64decode(text + "==")
    if len(identifier) != 16:
        raise ValueError(f"not an id: {text}")
    return identifier
