"""replication/lifecycle_messages.py: how a broker and the active controller keep in touch (section 4); Kafka's field names."""

from __future__ import annotations

from replication.errors import Error
from replication.identity import NO_EPOCH
from replication.messages import Message


class BrokerRegistrationRequest(Message, frozen=True):
    """4.2 `previous_broker_epoch`: what the marker of a clean stop says, else -1 (4.4)."""

    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    host: str = ""
    port: int = 0
    rack: str | None = None
    log_dirs: tuple[bytes, ...] = ()
    previous_broker_epoch: int = NO_EPOCH


class BrokerRegistrationResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    broker_epoch: int = NO_EPOCH


class BrokerHeartbeatRequest(Message, frozen=True):
    """4.6"""

    broker_id: int
    broker_epoch: int
    current_metadata_offset: int
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: tuple[bytes, ...] = ()


class BrokerHeartbeatResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
