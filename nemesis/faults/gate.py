"""gate: one kind of message is held, dropped or repeated; all others pass.

Does   of each link's messages of one kind the next `count`, or all, are held (their connection waits), dropped (it ends) or
       repeated (a copy arrives later on a connection of its own, and its answer is swallowed).
Heals  opens the gate; what was held arrives.
Bites  when such a message came by.
Costs  no damage. The scalpel of schedules written by hand: one lost AlterPartition, one late Fetch.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.gate(link, args["message"], args["action"], args["streams"], args["count"])


GATE = link_fault("gate", act)
