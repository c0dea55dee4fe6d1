"""model/plan.py: everything that defines a run, as data (DESIGN 11.4).

In   what model/plan_file.py read
Out  typed, frozen structs; the same plan as YAML for people and as canonical JSON, whose digest names it
Not  what a plan may not say (model/plan_checks.py), multiplying a matrix into plans (model/matrix.py)
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, Any, Literal

import msgspec
import yaml

from model.quantity import Rate, parse_size, write_size
from model.reading import Duration, RateField, Scalar, whole, word, write
from model.schedule import Condition, Event
from model.value import LAST_TAG

Count = Annotated[int, whole(1, 99)]
Seed = Annotated[int, whole(0, 2**63 - 1)]
TopicName = Annotated[
    str,
    word(
        "a topic name",
        re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}").fullmatch,
        "1 to 249 letters, digits, dots, dashes or underscores",
    ),
]
MutantName = Annotated[str, word("a mutant", re.compile(r"[A-Z][0-9]{2}[a-z]?").fullmatch, "names such as B11 or B31a")]


def _parse_version(text: str) -> int:
    if text != "1":
        raise ValueError(f"this Tidemark reads plans of version 1, found {text!r}")
    return 1


PlanVersion = Annotated[int, Scalar("1", _parse_version, int)]


def _parse_acks(text: str) -> int:
    if text not in ("all", "-1", "0", "1"):
        raise ValueError(f"no such acks: {text!r}")
    return -1 if text == "all" else int(text)


Acks = Annotated[int, Scalar("all, 1, 0", _parse_acks, lambda acks: "all" if acks == -1 else acks)]


class Sizes(msgspec.Struct, frozen=True):
    """From the least to the most bytes, each as likely."""

    least: int
    most: int


LEAST_VALUE, MOST_VALUE = 8, 2**20  # a value takes eight bytes; a batch larger than Kafka's default limit is refused


def _parse_sizes(text: str) -> Sizes:
    low, dots, high = text.partition("..")
    sizes = Sizes(parse_size(low), parse_size(high if dots else low))
    if not LEAST_VALUE <= sizes.least <= sizes.most <= MOST_VALUE:
        raise ValueError(f"{text} is out of range")
    return sizes


def _write_sizes(sizes: Sizes) -> str:
    low, high = write_size(sizes.least), write_size(sizes.most)
    return low if low == high else f"{low}..{high}"


ValueSize = Annotated[
    Sizes, Scalar("a size such as 100B, or a range such as 8B..4KiB, from 8B to 1MiB", _parse_sizes, _write_sizes)
]


class Nodes(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes, and in which roles. Ids count from 1, brokers first; `combined` nodes have both roles."""

    brokers: Count = 3
    controllers: Count = 3
    combined: bool = False
    even_voters: bool = False  # an even number of voters tolerates no more than one fewer: only on request

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(range(1, self.brokers + (0 if self.combined else self.controllers) + 1))

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return self.ids[: self.brokers]

    @property
    def controller_ids(self) -> tuple[int, ...]:
        return self.ids[: self.controllers] if self.combined else self.ids[self.brokers :]


class Topic(msgspec.Struct, frozen=True, kw_only=True):
    partitions: Annotated[int, whole(1, 10_000)] = 1
    replicas: Count = 3
    config: dict[str, object] = {}


class Phase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A stretch of the workload: so many writes, or until a condition holds."""

    write: Annotated[int, whole(1, 10**9)] | None = None
    acks: Acks | None = None
    until: Condition | None = None


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    name: str = "log"
    client: str = "raw"
    processes: Annotated[int, whole(1, 10_000)] = 5
    rate: RateField = Rate(50, "s")
    acks: Acks = -1
    acks_of_processes: tuple[Acks, ...] = ()  # instead of `acks`: dealt out, in turn, to the processes that append
    batch: Annotated[int, whole(1, 1_000)] = 4  # most records of one
    value_size: ValueSize = Sizes(LEAST_VALUE, LEAST_VALUE)
    spread: Literal["even", "hot"] = "even"  # hot: the first partition gets four in five
    in_flight: Annotated[int, whole(1, 5)] = 3  # idempotent: batches to one partition; a broker remembers no more than five
    retries: Annotated[int, whole(0, 10_000)] = 10  # idempotent: how often a batch is sent again
    deliver_within: Duration = 10 * 10**9  # idempotent: or until when
    phases: tuple[Phase, ...] = ()


class Judge(msgspec.Struct, frozen=True, kw_only=True):
    """R: how long a healed cluster may take (none = computed from the config); G: the longest quiet gap.

    on_violation: of an invariant, in the simulator: stop there, note it and go on, or look into no node at all.
    """

    recovery_ns: Duration | None = msgspec.field(default=None, name="R")
    gap_ns: Duration = msgspec.field(default=5 * 10**9, name="G")
    on_violation: Literal["stop", "note", "off"] = "stop"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One run, or with a matrix many (model/matrix.py)."""

    tidemark: PlanVersion
    system: str = "isr"
    version: str | None = None
    cluster: str = "sim"
    seed: Seed = 1
    tag: Annotated[int, whole(0, LAST_TAG)] | None = None  # written into stored plans (DESIGN 11.5)
    drawn: bool = False  # written into stored plans too: the swarm drew the schedule, so nobody expects every event to fire
    for_ns: Duration = msgspec.field(default=30 * 10**9, name="for")
    mutants: tuple[MutantName, ...] = ()
    client_groups: Annotated[int, whole(1, 50)] = 2
    needs: tuple[str, ...] = ()  # abilities the world must have even if no event names them: for the swarm
    nodes: Nodes = Nodes()
    topics: dict[TopicName, Topic] = msgspec.field(
        default_factory=lambda: {"t": Topic(config={"min.insync.replicas": 2})},
    )
    config: dict[str, object] = msgspec.field(default_factory=lambda: {"profile": "brisk", "eligible.leader.replicas.version": 1})
    workload: Workload = Workload()
    schedule: Literal["swarm", "none"] | tuple[Event, ...] = "swarm"
    faults: Literal["all"] | tuple[str, ...] = "all"  # what the swarm may draw: faults, and families of them
    judge: Judge = Judge()


def to_data(plan: Plan) -> dict[str, Any]:
    """Plain data: what YAML and JSON show, every default written out."""
    data: dict[str, Any] = write(plan, Plan)
    return data


def to_yaml(plan: Plan) -> str:
    """For people: `tidemark plan` prints this, and it can be read back."""
    return yaml.safe_dump(to_data(plan), sort_keys=False, width=120)


def to_json(plan: Plan) -> bytes:
    """The canonical form: what is stored, and what the digest is taken of."""
    return json.dumps(to_data(plan), separators=(",", ":"), ensure_ascii=False).encode()


def digest(plan: Plan) -> str:
    return hashlib.sha256(to_json(plan)).hexdigest()
