"""replication/producer_ids.py: fresh producer ids, from blocks that the controllers hand out (6.15).

In     InitProducerId
Out    an id that no producer had before; while there is no block at hand, COORDINATOR_LOAD_IN_PROGRESS
Keeps  the rest of one block; what is left of it when the process ends is never used
"""

from __future__ import annotations

from replication.broker_state import BrokerState
from replication.controller_channel import RETRY_MS, ControllerChannel
from replication.env import NANOSECONDS, Request
from replication.errors import Error
from replication.messages import AllocateProducerIdsRequest, AllocateProducerIdsResponse, InitProducerIdResponse


class ProducerIds:
    """The ids of one broker."""

    def __init__(self, broker: BrokerState, channel: ControllerChannel) -> None:
        self.broker, self.channel = broker, channel
        self._next = self._end = 0
        self._asking = False

    def on_init_producer_id(self, request: Request) -> None:
        if self._next < self._end:
            answer = InitProducerIdResponse(Error.NONE, self._next, 0)
            self._next += 1
        else:
            answer = InitProducerIdResponse(Error.COORDINATOR_LOAD_IN_PROGRESS)
            self._ask()
        self.broker.env.reply(request, answer)

    def _ask(self) -> None:
        if not self._asking:
            self._asking = True
            request = AllocateProducerIdsRequest(self.broker.node_id, self.broker.broker_epoch)
            self.channel.send("forward", request, self._on_block)

    def _on_block(self, answer: AllocateProducerIdsResponse) -> None:
        if answer.error_code is Error.NONE:
            self._asking = False
            self._next, self._end = answer.producer_id_start, answer.producer_id_start + answer.producer_id_len
        else:
            self.broker.env.after(RETRY_MS * NANOSECONDS, self._ask_again)

    def _ask_again(self) -> None:
        self._asking = False
        self._ask()
