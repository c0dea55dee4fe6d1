"""replication/quorum/settings.py: what a node may be told about the quorum, by Kafka's names (section 11).

In     properties: text by name, from the node's file
Out    `QuorumSettings`: numbers, read once
Not    who the voters are: they are the same on all nodes and handed over apart
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from replication.env import NANOSECONDS
from replication.settings import UNLIMITED, TopicSettings


class QuorumSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The field is Kafka's name with underscores."""

    controller_quorum_election_timeout_ms: int = 1_000
    controller_quorum_fetch_timeout_ms: int = 2_000
    controller_quorum_election_backoff_max_ms: int = 1_000
    controller_quorum_request_timeout_ms: int = 2_000
    controller_quorum_retry_backoff_ms: int = 20
    controller_quorum_fetch_max_bytes: int = 1_048_576
    controller_quorum_fetch_snapshot_max_bytes: int = 1_048_576
    metadata_log_segment_bytes: int = 1_073_741_824
    metadata_log_max_record_bytes_between_snapshots: int = 20_971_520
    metadata_log_max_snapshot_interval_ms: int = 3_600_000
    metadata_max_retention_bytes: int = 104_857_600
    metadata_max_retention_ms: int = 604_800_000
    tidemark_quorum_fetch_wait_ms: int = 500
    """How long a leader may keep an up-to-date fetch waiting. In Kafka it is no setting."""
    tidemark_lag_clock: str = "monotonic"
    """1.12 The clock behind the timeouts: Kafka's is `wall`, and jumps with it."""

    @property
    def fetch_timeout_ns(self) -> int:
        return self.controller_quorum_fetch_timeout_ms * NANOSECONDS

    @property
    def election_timeout_ns(self) -> int:
        return self.controller_quorum_election_timeout_ms * NANOSECONDS

    @property
    def request_timeout_ns(self) -> int:
        return self.controller_quorum_request_timeout_ms * NANOSECONDS

    @property
    def of_the_log(self) -> TopicSettings:
        """The metadata log is rolled by size alone, and flushed by the quorum when the quorum needs it."""
        return TopicSettings(segment_bytes=self.metadata_log_segment_bytes, segment_ms=UNLIMITED)


def quorum_settings(properties: Mapping[str, str]) -> QuorumSettings:
    """Names that do not concern the quorum pass by unread; a value of the wrong type raises ValueError."""
    fields = QuorumSettings.__struct_fields__
    found = {field: properties[name] for field in fields if (name := field.replace("_", ".")) in properties}
    try:
        return msgspec.convert(found, QuorumSettings, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"a setting of the quorum cannot be read: {error}") from None
