"""clusters/sim/admin.py: what an operator does, through any broker (`model.cluster.Admin`).

In     elections, reassignments, settings, topics
Out    requests of a client whose links no fault touches; `done` with None, or with Kafka's name of the error
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from model.cluster import AdminDone, NodeId, TopicPartition
from model.plan import Topic
from replication.admin_messages import ConfigAlteration, NewTopic, Reassignment
from replication.client import Client
from replication.client_results import SUCCESS, Answered
from replication.image import BROKER, CLUSTER_WIDE, TOPIC


class SimAdmin:
    """An operator with a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.on_unclean_request: Callable[[str, int], None] = _nobody
        """Told when somebody asks for an unclean election: from then on it may happen."""

    def create_topic(self, name: str, topic: Topic, done: AdminDone) -> None:
        config = tuple((key, written(value)) for key, value in topic.config.items())
        new = NewTopic(name, topic.partitions, topic.replicas, configs=config)
        self._client.create_topics([new], _telling(done))

    def elect(self, at: TopicPartition, kind: Literal["preferred", "unclean"], done: AdminDone) -> None:
        if kind == "unclean":
            self.on_unclean_request(*at)
        self._client.elect_leaders([at], _telling(done), unclean=kind == "unclean")

    def reassign(self, at: TopicPartition, replicas: tuple[NodeId, ...] | None, done: AdminDone) -> None:
        self._client.reassign([Reassignment(*at, replicas)], _telling(done))

    def change_config(self, topic: str | None, key: str, value: str | None, done: AdminDone) -> None:
        resource = (BROKER, CLUSTER_WIDE) if topic is None else (TOPIC, topic)
        self._client.alter_configs([ConfigAlteration(*resource, key, value)], _telling(done))


def written(value: object) -> str:
    """A setting as Kafka's files and requests have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _telling(done: AdminDone) -> Callable[[Answered], None]:
    def then(answer: Answered) -> None:
        done(None if answer.fact == SUCCESS else answer.fact)

    return then


def _nobody(topic: str, partition: int) -> None:
    """Nobody wants to know."""
