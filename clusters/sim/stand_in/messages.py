"""clusters/sim/stand_in/messages.py: what brokers and played controllers say to each other, under Kafka's names for gates."""

from __future__ import annotations

from typing import ClassVar

from replication.errors import Error
from replication.image import MetadataImage
from replication.messages import Message


class BrokerRegistrationRequest(Message, frozen=True):
    broker_id: int
    incarnation_id: bytes
    previous_broker_epoch: int


class BrokerRegistrationResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    broker_epoch: int = -1


class BrokerHeartbeatRequest(Message, frozen=True):
    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool = False
    want_shut_down: bool = False


class BrokerHeartbeatResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    is_fenced: bool = True
    should_shut_down: bool = False


class ImageRequest(Message, frozen=True):
    """The metadata behind `offset`, as soon as there is any: what a fetch of the metadata log will be."""

    api: ClassVar[str] = "Fetch"
    offset: int


class ImageResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    image: MetadataImage | None = None
