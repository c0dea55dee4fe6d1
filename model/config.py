"""model/config.py: the settings a plan may give, by Kafka's names, and what follows from them.

In   a plan's `config` and a topic's `config`
Out  for each setting its type, where it may stand, its value in both profiles; the recovery bound R (CHECKERS 6.8)
Why  `brisk` scales Kafka's long timers down together, so that a run of 30 seconds sees what takes Kafka's defaults minutes.
     With another system than ours unknown names pass through and are recorded; with ours they are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from model.reading import whole

Value = bool | int | float | str | None
LONG = 2**63 - 1


class Setting(msgspec.Struct, frozen=True):
    """One setting: its type, Kafka's default, the brisk value (None = the same), and whether a topic may have its own."""

    kind: Any
    default: Value
    brisk: Value = None
    topic: bool = False


def _ms(default: int, brisk: int | None = None, *, topic: bool = False) -> Setting:
    return Setting(Annotated[int, whole(1, LONG)], default, brisk, topic)


def _count(default: int | None, low: int = 1, *, topic: bool = False) -> Setting:
    return Setting(Annotated[int, whole(low, LONG)], default, topic=topic)


SETTINGS: Mapping[str, Setting] = {
    # replication
    "replica.lag.time.max.ms": _ms(30_000, 1_500),
    "replica.fetch.wait.max.ms": _ms(500, 100),
    "replica.fetch.min.bytes": _count(1),
    "replica.fetch.max.bytes": _count(1_048_576),
    "replica.fetch.response.max.bytes": _count(10_485_760),
    "replica.fetch.backoff.ms": _ms(1_000, 50),
    "replica.socket.timeout.ms": _ms(30_000, 2_000),
    "replica.high.watermark.checkpoint.interval.ms": _ms(5_000, 500),
    "num.replica.fetchers": _count(1),
    "min.insync.replicas": _count(1, topic=True),
    "unclean.leader.election.enable": Setting(bool, False, topic=True),
    "unclean.leader.election.interval.ms": _ms(300_000, 5_000),
    "eligible.leader.replicas.version": Setting(Annotated[int, whole(0, 1)], 1),
    "auto.leader.rebalance.enable": Setting(bool, True),
    "leader.imbalance.check.interval.seconds": Setting(Annotated[int, whole(1, LONG)], 300, 10),
    # the controllers' quorum
    "controller.quorum.election.timeout.ms": _ms(1_000, 300),
    "controller.quorum.fetch.timeout.ms": _ms(2_000, 600),
    "controller.quorum.election.backoff.max.ms": _ms(1_000, 50),
    "controller.quorum.append.linger.ms": Setting(Annotated[int, whole(0, LONG)], 25, 5),
    "controller.quorum.request.timeout.ms": _ms(2_000, 2_000),
    "controller.quorum.retry.backoff.ms": _ms(20, 20),
    "controller.quorum.fetch.max.bytes": _count(1_048_576),
    "controller.quorum.fetch.snapshot.max.bytes": _count(1_048_576),
    "controller.socket.timeout.ms": _ms(30_000, 2_000),
    "metadata.log.max.record.bytes.between.snapshots": _count(20_971_520),
    "metadata.log.max.snapshot.interval.ms": _ms(3_600_000),
    "metadata.max.idle.interval.ms": _ms(500, 500),
    "metadata.max.retention.bytes": _count(104_857_600),
    "metadata.max.retention.ms": _ms(604_800_000),
    # the life of a broker
    "broker.heartbeat.interval.ms": _ms(2_000, 200),
    "broker.session.timeout.ms": _ms(9_000, 1_000),
    "initial.broker.registration.timeout.ms": _ms(60_000, 10_000),
    "controlled.shutdown.enable": Setting(bool, True),
    "log.dir.failure.timeout.ms": _ms(30_000, 3_000),
    # logs
    "log.flush.interval.messages": _count(LONG),
    "log.flush.interval.ms": _ms(LONG),
    "flush.messages": _count(LONG, topic=True),
    "flush.ms": _ms(LONG, topic=True),
    "log.flush.offset.checkpoint.interval.ms": _ms(60_000, 2_000),
    "log.flush.start.offset.checkpoint.interval.ms": _ms(60_000, 2_000),
    "log.retention.check.interval.ms": _ms(300_000, 5_000),
    "segment.bytes": _count(1_073_741_824, 14, topic=True),
    "segment.ms": _ms(604_800_000, topic=True),
    "retention.ms": Setting(Annotated[int, whole(-1, LONG)], 604_800_000, topic=True),
    "retention.bytes": Setting(Annotated[int, whole(-1, LONG)], -1, topic=True),
    "max.message.bytes": _count(1_048_588, 0, topic=True),
    "message.timestamp.type": Setting(Literal["CreateTime", "LogAppendTime"], "CreateTime", topic=True),
    "message.timestamp.after.max.ms": _ms(3_600_000, topic=True),
    "index.interval.bytes": _count(4_096, 0, topic=True),
    "leader.replication.throttled.rate": _count(LONG),
    "follower.replication.throttled.rate": _count(LONG),
    # defaults for topics, and clients
    "default.replication.factor": _count(1),
    "num.partitions": _count(1),
    "request.timeout.ms": _ms(30_000, 2_000),
    # ours
    "tidemark.lag.clock": Setting(Literal["monotonic", "wall"], "monotonic"),
}


def effective(config: Mapping[str, object], topic: Mapping[str, object], key: str) -> object:
    """The value in force: the topic's own, else the cluster's, else the profile's."""
    setting = SETTINGS[key]
    if key in topic and setting.topic:
        return topic[key]
    if key in config:
        return config[key]
    brisk = config.get("profile", "brisk") == "brisk"
    return setting.brisk if brisk and setting.brisk is not None else setting.default


def effective_number(config: Mapping[str, object], topic: Mapping[str, object], key: str) -> int:
    """The value in force of a setting that is a whole number."""
    value = effective(config, topic, key)
    return int(str(value))


def recovery_bound_ns(config: Mapping[str, object]) -> int:
    """R: how long a healed cluster may take until every partition accepts acks=all again (CHECKERS 6.8)."""

    def ms(key: str) -> int:
        return effective_number(config, {}, key)

    takeover = ms("controller.quorum.fetch.timeout.ms") + 2 * ms("controller.quorum.election.timeout.ms")
    socket = max(ms("controller.socket.timeout.ms"), ms("replica.socket.timeout.ms"))
    bound_ms = 3 * max(ms("broker.session.timeout.ms"), takeover) + ms("replica.lag.time.max.ms") + socket
    return bound_ms * 10**6
