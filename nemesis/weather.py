"""nemesis/weather.py: how far away brokers are in a random run: delays that last as long as its faults do.

In     a plan, for its seed and its brokers; how long faults may last
Out    `delay` events from the first moment on, one for each distant broker; in some runs none
Why    among neighbours hardly anything is under way at the moment in which somebody dies. A high watermark that a follower has
       not heard of, an ISR change without its answer, a cut that is still to come: all of them last as long as a message travels
Not    delays that come and go (swarm.py)
"""

from __future__ import annotations

from model.chance import Chance, between, happens, pick, stream
from model.plan import Plan
from model.quantity import write_duration
from model.schedule import Event

MS = 10**6
LATENCIES_MS, JITTERS_MS = (20, 100, 250), (20, 100, 300)
"""The most that a broker may be away, and the most by which that may differ from message to message: in one run all are close, in
another none is. Twice as much both ways, and twice that between two of them: below a session on the whole, above it at times."""


def draw_weather(plan: Plan, end_ms: int) -> list[Event]:
    """For two of three brokers, in two of three runs."""
    chance = stream(plan.seed, "weather")
    if end_ms < 1 or not happens(chance, 2, 3):
        return []
    return [_distance(f"n{broker}", chance, end_ms) for broker in plan.nodes.broker_ids if happens(chance, 2, 3)]


def _distance(broker: str, chance: Chance, end_ms: int) -> Event:
    latency, jitter = (between(chance, 1, pick(chance, most)) * MS for most in (LATENCIES_MS, JITTERS_MS))
    args: dict[str, object] = {"latency": write_duration(latency), "jitter": write_duration(jitter)}
    return Event(at_ns=0, fault="delay", target=broker, args=args, for_ns=end_ms * MS)
