"""replication/controller/producer_id_blocks.py: blocks of producer ids for brokers (6.15).

In     AllocateProducerIds, perhaps twice
Out    a fresh block each time, and the record that it is taken: ids of an answer that got lost are never used
"""

from __future__ import annotations

from replication.controller.draft import Draft
from replication.errors import Error
from replication.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from replication.records import ProducerIdsRecord
from replication.rules import Rules


def allocate(draft: Draft, asked: AllocateProducerIdsRequest, rules: Rules) -> AllocateProducerIdsResponse:
    if not rules.is_registered_process(draft.image.brokers.get(asked.broker_id), asked.broker_epoch):
        return AllocateProducerIdsResponse(Error.STALE_BROKER_EPOCH)
    start, count = rules.producer_id_block(draft.image.next_producer_id)
    draft.add(ProducerIdsRecord(asked.broker_id, asked.broker_epoch, start + count))
    return AllocateProducerIdsResponse(Error.NONE, start, count)
