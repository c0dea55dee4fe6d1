"""model/vocabulary.py: the names a plan may use, and what may be said with them.

In   nothing: this is data
Out  faults with their arguments, aims and needs; targets; workloads, clients, systems, worlds, mutants; the kinds of message a
     gate knows
Why  plans are checked before anything starts, and `model` imports nothing of ours. So the names stand here, and a test in every
     package that implements some of them proves that each name has its implementation and each implementation its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, get_args

import msgspec

from model import quantity
from model.cluster import Ability, Streams
from model.reading import Duration, Scalar, positive, whole

SYSTEMS = ("isr", "kafka")
CLUSTERS = ("sim", "local", "docker", "ssh")
PROFILES = ("brisk", "kafka")
MUTANTS = ("B01", "B09", "B11", "B13", "B23", "B28", "B28a", "B28b", "B32", "B33", "B35", "B36")
"""Wrong rules of the system `isr`, by their ids in BUGS; a letter where a bug can be got wrong in several ways."""

Aim = Literal["links", "nodes", "partition", "cluster"]
Family = Literal["network", "process", "clock", "disk", "operator"]
Form = Literal["parquet", "jsonl"]
"""What a history from elsewhere may come as."""


class Argument(msgspec.Struct, frozen=True):
    """One argument of a fault: its type (as model/reading.py understands it), and its default or None, whether it is required."""

    kind: Any
    default: Any = None
    required: bool = False


class FaultName(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan may say about one fault. What the fault does is its file in nemesis/."""

    says: str
    family: Family
    aim: Aim
    needs: frozenset[Ability]
    args: Mapping[str, Argument] = {}
    heals: bool = True  # False: it is over at once, so `for` makes no sense


class WorkloadName(msgspec.Struct, frozen=True, kw_only=True):
    says: str
    clients: tuple[str, ...] = ("raw", "rdkafka")


Size = Annotated[int, Scalar("a size such as 64KiB, 1MiB", positive(quantity.parse_size), quantity.write_size)]
Bandwidth = Annotated[int, Scalar("a bandwidth such as 100KiB/s", positive(quantity.parse_bandwidth), quantity.write_bandwidth)]


def _share(text: str) -> float:
    value = float(text) if text.replace(".", "", 1).isdigit() else -1.0
    if not 0 < value <= 1:
        raise ValueError(f"not a share: {text!r}")
    return value


def _signed(text: str) -> int:
    return -quantity.parse_duration(text[1:]) if text.startswith("-") else quantity.parse_duration(text)


def _write_signed(value: int) -> str:
    return ("-" if value < 0 else "") + quantity.write_duration(abs(value))


Share = Annotated[float, Scalar("a share between 0 and 1, such as 0.1", _share, float)]
Offset = Annotated[int, Scalar("a duration with or without a sign, such as 2s, -1h", positive(_signed), _write_signed)]
Directory = Annotated[int, whole(0, 15)]

Message = Literal[
    "Produce",
    "Fetch",
    "ListOffsets",
    "Metadata",
    "OffsetForLeaderEpoch",
    "InitProducerId",
    "AlterPartition",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "AllocateProducerIds",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "FetchSnapshot",
    "Envelope",
]
"""The kinds of message that a gate can hold, drop or repeat: Kafka's names (PROTOCOL 1.14)."""

# Shapes: `between` the two sides of the target; `isolate` the one side from everybody; the others are drawn over all nodes.
Shape = Literal["between", "isolate", "halves", "ring", "bridge"]
LINK_ARGS: Mapping[str, Argument] = {
    "shape": Argument(Shape),
    "one_way": Argument(bool, default=False),
    "streams": Argument(Streams, default="both"),
}
DISK_ARGS: Mapping[str, Argument] = {"directory": Argument(Directory, default=0)}


def _link(verb: Ability, says: str, *, heals: bool = True, **args: Argument) -> FaultName:
    needs = frozenset({verb})
    return FaultName(says=says, family="network", aim="links", needs=needs, args={**LINK_ARGS, **args}, heals=heals)


def _node(says: str, *needs: Ability, heals: bool = True, family: Family = "process", **args: Argument) -> FaultName:
    return FaultName(says=says, family=family, aim="nodes", needs=frozenset(needs), args=args, heals=heals)


def _clock(says: str, *needs: Ability, heals: bool = True, **args: Argument) -> FaultName:
    return _node(says, *needs, heals=heals, family="clock", **args)


def _disk(says: str, *needs: Ability, heals: bool = True, **args: Argument) -> FaultName:
    return _node(says, *needs, heals=heals, family="disk", **DISK_ARGS, **args)


FAULTS: Mapping[str, FaultName] = {
    # network
    "cut": _link(Ability.CUT, "nothing passes; on heal connections end and what was queued is lost"),
    "hold": _link(Ability.HOLD, "nothing passes; on heal everything arrives, in order"),
    "refuse": FaultName(  # of a connection there is nothing left to choose a stream of
        says="connections end and new ones are refused",
        family="network",
        aim="links",
        needs=frozenset({Ability.REFUSE}),
        args={name: argument for name, argument in LINK_ARGS.items() if name != "streams"},
    ),
    "silent": _link(Ability.SILENT, "packets vanish: not even the end of a connection is noticed"),
    "delay": _link(
        Ability.DELAY,
        "every message arrives later",
        latency=Argument(Duration, required=True),
        jitter=Argument(Duration),
    ),
    "throttle": _link(Ability.THROTTLE, "little passes per second", rate=Argument(Bandwidth, required=True)),
    "slice": _link(
        Ability.SLICE,
        "messages arrive in small pieces",
        size=Argument(Size, default=1),
        gap=Argument(Duration, required=True),
    ),
    "reset": _link(Ability.RESET, "live connections are reset", heals=False),
    "gate": _link(
        Ability.GATE,
        "one kind of message is held, dropped or repeated",
        message=Argument(Message, required=True),
        action=Argument(Literal["hold", "drop", "repeat"], required=True),
        count=Argument(Annotated[int, whole(1, 1_000_000)]),
    ),
    # processes
    "kill": _node("the process ends at once; the page cache stays", Ability.KILL),
    "lossy_kill": _node("a power cut: what was never synced is gone", Ability.KILL, Ability.LOSE_UNSYNCED),
    "stop": _node("a clean stop, with controlled shutdown", Ability.STOP),
    "pause": _node("the process stands still while time goes on", Ability.PAUSE),
    "slow": _node("the process gets a share of one CPU", Ability.SLOW, share=Argument(Share, default=0.1)),
    "restart_loop": _node(
        "killed again and again",
        Ability.KILL,
        every=Argument(Duration, default=quantity.parse_duration("2s")),
    ),
    "rolling_restart": _node(
        "one node after the other is stopped and started",
        Ability.STOP,
        heals=False,
        gap=Argument(Duration, default=quantity.parse_duration("1s")),
    ),
    # clocks
    "skew": _clock("the wall clock is off by an amount", Ability.SKEW, offset=Argument(Offset, required=True)),
    "jump": _clock("the wall clock jumps once", Ability.JUMP, heals=False, by=Argument(Offset, required=True)),
    "strobe": _clock(
        "the wall clock jumps to and fro",
        Ability.STROBE,
        by=Argument(Duration, required=True),
        every=Argument(Duration, default=quantity.parse_duration("10ms")),
    ),
    "drift": _clock(
        "the clock runs fast or slow",
        Ability.DRIFT,
        ppm=Argument(Annotated[int, whole(-900_000, 10_000_000)], required=True),
    ),
    # disks
    "wipe": _disk("the node dies and its directory comes back empty", Ability.KILL, Ability.WIPE),
    "lose_unsynced": _disk("the node dies and what was never synced is gone", Ability.KILL, Ability.LOSE_UNSYNCED),
    "tear": _disk("the node dies in the middle of a write", Ability.KILL, Ability.TEAR),
    "rot": _disk("the node dies and some stored bytes have changed", Ability.KILL, Ability.ROT),
    "fill": _disk("no room is left", Ability.FILL),
    "slow_sync": _disk("every sync takes longer", Ability.SLOW_SYNC, delay=Argument(Duration, required=True)),
    "read_only": _disk("writes are refused", Ability.READ_ONLY),
    "io_error": _disk(
        "reads, writes or syncs fail",
        Ability.IO_ERROR,
        on=Argument(Literal["read", "write", "sync"], default="write"),
    ),
    # what an operator does
    "elect": FaultName(
        says="an election is asked for",
        family="operator",
        aim="partition",
        needs=frozenset({Ability.ELECT}),
        args={"kind": Argument(Literal["preferred", "unclean"], default="preferred")},
        heals=False,
    ),
    "reassign": FaultName(
        says="a partition moves to other brokers",
        family="operator",
        aim="partition",
        needs=frozenset({Ability.REASSIGN}),
        args={"to": Argument(tuple[str, ...], required=True)},
        heals=False,
    ),
    "change_config": FaultName(
        says="a setting changes while everything runs",
        family="operator",
        aim="cluster",
        needs=frozenset({Ability.CHANGE_CONFIG}),
        args={"key": Argument(str, required=True), "value": Argument(str, required=True), "topic": Argument(str)},
    ),
}

FAMILIES: tuple[str, ...] = get_args(Family)


def faults_among(names: Iterable[str]) -> frozenset[str]:
    """What `faults` of a plan stands for: names of faults, and of families for all of theirs."""
    wanted = frozenset(names)
    return frozenset(name for name, fault in FAULTS.items() if name in wanted or fault.family in wanted)


# A target is resolved when its fault fires, and what it resolved to is recorded.
TARGETS: Mapping[str, str] = {
    "leader": "the leader of a partition",
    "follower": "one follower of a partition, drawn",
    "followers": "every follower of a partition",
    "isr-minority": "a minority of a partition's ISR, the leader not among them",
    "isr": "every member of a partition's ISR",
    "active-controller": "the leader of the controllers' quorum",
    "controller-minority": "a minority of the voters, drawn",
    "any-broker": "one broker, drawn",
    "any-controller": "one controller, drawn",
    "brokers": "every broker",
    "controllers": "every controller",
    "all": "every node",
}
OF_A_PARTITION = frozenset({"leader", "follower", "followers", "isr-minority", "isr"})
"""Targets that may say of which partition: `leader@t/0`. Without it: the plan's first partition."""

WORKLOADS: Mapping[str, WorkloadName] = {
    "log": WorkloadName(says="append unique values, read ranges, ask for the end offset"),
    "idempotent": WorkloadName(says="retrying producers that must neither duplicate nor reorder", clients=("raw",)),
    "register": WorkloadName(says="a register kept on the log: the last value of a key", clients=("raw",)),
    "consumer": WorkloadName(says="long-lived tailing readers"),
}
CLIENTS: Mapping[str, tuple[str, ...]] = {"raw": CLUSTERS, "rdkafka": ("local", "docker", "ssh")}
"""Which worlds each client can reach: librdkafka has threads and sockets of its own, so it cannot live in virtual time."""
