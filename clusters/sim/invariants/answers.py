"""clusters/sim/invariants/answers.py: answers, in the moment in which they leave a node.

In     the life that answers, what was asked, what is answered
Out    what clients were promised and shown, in truth.py; the invariants that are about answers
Keeps  the event that makes an answer is not over: what is true is read from the nodes, not from what was last seen of them
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.sim.invariants.catalogue import asked_at
from clusters.sim.invariants.clients import Promise, note_served
from clusters.sim.invariants.findings import THE_QUORUM, Findings
from clusters.sim.invariants.rooms import every_invariant
from clusters.sim.invariants.truth import Acked
from clusters.sim.invariants.world import Life, World
from replication.errors import Error
from replication.messages import (
    CONSUMER,
    AlterPartitionRequest,
    AlterPartitionResponse,
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
)
from replication.quorum_messages import VoteResponse
from replication.rules.produce import ACKS_ALL


class Answers:
    """Listens to what nodes answer."""

    def __init__(self, world: World, findings: Findings) -> None:
        self._world, self._findings = world, findings
        self._of_promises = tuple(each for each in every_invariant() if each.of == "promise")
        self.by_kind: Mapping[Any, Callable[[Life, Any, Any], None]] = {
            ProduceResponse: self._on_produced,
            FetchResponse: self._on_fetched,
            AlterPartitionResponse: self._on_altered,
            VoteResponse: self._on_voted,
        }

    def _on_produced(self, life: Life, asked: ProduceRequest, answer: ProduceResponse) -> None:
        """Whoever waits is told that a write is committed."""
        if asked.acks != ACKS_ALL:
            return
        alone = len(answer.responses) == 1
        for produced, result in zip(asked.partitions, answer.responses, strict=True):
            replica = life.replicas.get((result.topic_id, result.index))
            if result.error_code is not Error.NONE or replica is None:
                continue
            promise, truth = Promise(produced, result, alone=alone), replica.truth
            for each in self._of_promises:
                for text in each.check(self._world, replica, promise):
                    self._findings.found(each, truth, text)
            if truth.loss_forbidden:
                truth.acked.append(Acked(promise.base, promise.end, promise.stored_crc(replica), life.node))
                truth.acked_end = max(truth.acked_end, promise.end)

    def _on_fetched(self, life: Life, asked: FetchRequest, answer: FetchResponse) -> None:
        if asked.replica_id != CONSUMER:
            return
        for fetched in answer.responses:
            replica = life.replicas.get((fetched.topic_id, fetched.partition_index))
            if fetched.records and replica is not None and replica.truth.loss_forbidden:
                note_served(replica.truth, replica, fetched.records, fetched.high_watermark)

    def _on_altered(self, life: Life, asked: Any, answer: AlterPartitionResponse) -> None:
        if not isinstance(asked, AlterPartitionRequest) or not answer.partitions:
            return
        first = answer.partitions[0]
        truth = self._world.partitions.get((first.topic_id, first.partition_index))
        for each in asked_at(AlterPartitionResponse):
            self._findings.ask(each, truth or f"n{life.node}", each.check(self._world, asked, answer))

    def _on_voted(self, life: Life, asked: Any, answer: VoteResponse) -> None:
        if life.member is not None:
            for each in asked_at(VoteResponse):
                self._findings.ask(each, THE_QUORUM, each.check(self._world.quorum, life.member, asked, answer))
