"""replication/admin_messages.py: requests that any broker takes and only the active controller can carry out (3.19).

In     administrators, through any broker
Out    the same requests at the active controller; one answer each, of one shape wherever something is changed
"""

from __future__ import annotations

from replication.errors import Error
from replication.identity import NO_EPOCH, NO_LEADER
from replication.messages import Message


class ForwardedRequest(Message, frozen=True):
    """A request that any broker takes and only the active controller can carry out."""

    timeout_ms: int


class NewTopic(Message, frozen=True):
    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: tuple[tuple[int, ...], ...] = ()
    configs: tuple[tuple[str, str], ...] = ()


class CreateTopicsRequest(ForwardedRequest, frozen=True):
    topics: tuple[NewTopic, ...]


class DeleteTopicsRequest(ForwardedRequest, frozen=True):
    topics: tuple[str, ...]


class NewPartitions(Message, frozen=True):
    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] = ()


class CreatePartitionsRequest(ForwardedRequest, frozen=True):
    topics: tuple[NewPartitions, ...]


class ConfigAlteration(Message, frozen=True):
    resource_type: str
    resource_name: str
    name: str
    value: str | None
    """None removes the setting from this level."""


class IncrementalAlterConfigsRequest(ForwardedRequest, frozen=True):
    alterations: tuple[ConfigAlteration, ...]


class ElectLeadersRequest(ForwardedRequest, frozen=True):
    unclean: bool
    partitions: tuple[tuple[str, int], ...] | None


class Reassignment(Message, frozen=True):
    topic: str
    partition_index: int
    replicas: tuple[int, ...] | None
    """None cancels the running one (9.5)."""


class AlterPartitionReassignmentsRequest(ForwardedRequest, frozen=True):
    reassignments: tuple[Reassignment, ...]
    allow_replication_factor_change: bool = True


class ListPartitionReassignmentsRequest(ForwardedRequest, frozen=True):
    partitions: tuple[tuple[str, int], ...] | None = None


class UnregisterBrokerRequest(ForwardedRequest, frozen=True):
    broker_id: int


class DescribeQuorumRequest(ForwardedRequest, frozen=True):
    pass


class AdminResult(Message, frozen=True):
    """What became of one named thing of an administrative request."""

    name: str
    error_code: Error = Error.NONE
    error_message: str | None = None


class AdminResponse(Message, frozen=True):
    """The answer to every forwarded request that changes something."""

    error_code: Error = Error.NONE
    results: tuple[AdminResult, ...] = ()


class OngoingReassignment(Message, frozen=True):
    topic: str
    partition_index: int
    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


class ListPartitionReassignmentsResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    reassignments: tuple[OngoingReassignment, ...] = ()


class QuorumReplica(Message, frozen=True):
    replica_id: int
    log_end_offset: int


class DescribeQuorumResponse(Message, frozen=True):
    error_code: Error = Error.NONE
    leader_id: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    high_watermark: int = -1
    current_voters: tuple[QuorumReplica, ...] = ()
    observers: tuple[QuorumReplica, ...] = ()
