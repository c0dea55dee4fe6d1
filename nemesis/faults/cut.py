"""cut: nothing passes on a link, and nobody is told.

Does   stops every byte on each link, in both streams or one. Connections stay; a process that dies behind it is noticed.
Heals  takes this cut away; the last one gone, connections end and what was queued is lost.
Bites  when a message or a connection was kept back while it lasted.
Costs  no damage. Operations that were under way end as unknown, and an ISR may shrink.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.cut(link, args["streams"])


CUT = link_fault("cut", act)
