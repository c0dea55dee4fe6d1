"""clusters/sim/kinds.py: what the digest and the gates know of a message or an event: its kind, and the number that tells most.

In     messages of replication/
Out    Kafka's name of the request (PROTOCOL 1.14), by which a gate catches it and its answer; one number for the digest
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from replication.messages import FetchRequest, FetchResponse, ProduceRequest, ProduceResponse

# What the digest calls the things that happen.
REQUEST_ARRIVED, ANSWER_ARRIVED, COPY_ARRIVED, CONNECTION_ENDED, WRITE_DURABLE, TOLD, PROCESS_STARTED, PROCESS_ENDED = range(1, 9)

_NAMES: dict[type, str] = {}


def kind_of(message: Any) -> str:
    """`Fetch` for a FetchRequest."""
    kind = type(message)
    name = _NAMES.get(kind)
    if name is None:
        name = _NAMES[kind] = getattr(kind, "api", kind.__name__.removesuffix("Request"))
    return name


def _first_fetch(message: FetchRequest) -> int:
    return message.partitions[0].fetch_offset if message.partitions else -1


def _first_fetched(message: FetchResponse) -> int:
    if not message.responses:
        return -1
    first = message.responses[0]
    return first.high_watermark * 1_000_000 + len(first.records)


def _first_produced(message: ProduceResponse) -> int:
    return message.responses[0].base_offset if message.responses else -1


def _first_produce(message: ProduceRequest) -> int:
    return len(message.partitions[0].records) if message.partitions else -1


_KEYS: dict[type, Callable[[Any], int]] = {
    FetchRequest: _first_fetch,
    FetchResponse: _first_fetched,
    ProduceRequest: _first_produce,
    ProduceResponse: _first_produced,
}


def key_of(message: Any) -> int:
    """The number that tells most about a message: an offset, or the size of what it carries."""
    key = _KEYS.get(type(message))
    return 0 if key is None else key(message)
