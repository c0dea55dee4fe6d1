"""delay: every message of a link arrives later.

Does   adds a latency, and up to `jitter` more, to each message; order within a stream stays.
Heals  messages sent from then on travel as fast as before.
Bites  when at least one message was delayed.
Costs  no damage. A latency beyond a timeout works like a cut of which the far side hears afterwards.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.delay(link, args["latency"], args["jitter"] or 0, args["streams"])


DELAY = link_fault("delay", act)
