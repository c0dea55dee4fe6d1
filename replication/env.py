"""replication/env.py: everything that a node may ask of the world it runs in (DESIGN 11.1).

In     what a node wants: requests, answers, timers, disk writes, events to tell
Out    callbacks, each called once, one at a time: the world never calls a node while a call into it is running
Keeps  answers on one (from, to, channel) arrive in the order of their requests
Not    sockets, files, clocks: clusters/sim and replication/wire have one implementation each
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Protocol

import msgspec

NANOSECONDS = 1_000_000  # in a millisecond: Kafka's settings are in ms, our clock in ns


class Failure(Enum):
    """Why a request has no answer."""

    REFUSED = "refused"  # never sent: nothing can have happened
    LOST = "lost"  # sent, then the connection ended: anything may have happened
    TIMED_OUT = "timed out"  # sent, no answer in time: anything may still happen


class Close(Enum):
    """In place of an answer: end the connection (6.14)."""

    CLOSE = "close"


CLOSE = Close.CLOSE


class IoError(msgspec.Struct, frozen=True):
    """A disk said no. Never raised: it is answered, or handed to `then`."""

    reason: str


class Request(Protocol):
    """A request that arrived, and the way back for its answer. Worlds subclass it with what they need to route that answer."""

    @property
    def message(self) -> Any: ...

    @property
    def channel(self) -> str:
        """On which it arrived: a node with both roles tells by it which of them is meant (4.18)."""
        ...


class Chance(Protocol):
    """A node's own stream of random numbers, seeded by the world (1.13)."""

    def random(self) -> float: ...

    def getrandbits(self, k: int, /) -> int: ...


Then = Callable[[Any], None]
Done = Callable[[IoError | None], None]


class Disk(Protocol):
    """One log directory. Paths are relative, with slashes; directories appear with their first file."""

    def append(self, path: str, data: bytes) -> IoError | None: ...

    def read(self, path: str, position: int = 0, length: int | None = None) -> bytes | IoError:
        """What is there now, synced or not; fewer bytes where the file ends early."""

    def truncate(self, path: str, size: int) -> IoError | None: ...

    def sync(self, path: str, then: Done) -> None:
        """`then` comes once all that was written to the file before this call, and its name, survive a power cut."""

    def replace(self, path: str, data: bytes, then: Done) -> None:
        """The file is old or new, never between (temp, sync, rename, sync directory). Calls for one path take effect in order."""

    def delete(self, path: str, then: Done) -> None:
        """`then` comes once the name stays gone after a power cut."""

    def list(self) -> Sequence[str] | IoError: ...


class Env(Protocol):
    """One node's world."""

    @property
    def random(self) -> Chance: ...

    @property
    def disks(self) -> Sequence[Disk]:
        """One per log directory."""

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Then) -> None:
        """`then` is called once, with an answer or a Failure; with `timeout_ns` None only the end of the connection ends the
        wait."""

    def reply(self, request: Request, answer: Any | Close) -> None:
        """Answer a request, once. An answer to a connection that has ended goes nowhere."""

    def after(self, ns: int, call: Callable[[], None]) -> None: ...

    def monotonic_ns(self) -> int: ...

    def wall_ms(self) -> int: ...

    def emit(self, event: Any) -> None:
        """Tell what happened (replication/events.py). The world adds the time and this node's id."""

    def halt(self, reason: str) -> None:
        """End this process at once: nothing else of it may be called again."""
