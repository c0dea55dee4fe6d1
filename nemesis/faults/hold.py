"""hold: nothing passes on a link, and later everything does.

Does   keeps every message of each link, in both streams or one. Connections stay.
Heals  takes this hold away; the last one gone, everything arrives in the order in which it was sent.
Bites  when a message was kept back while it lasted.
Costs  no damage. Old messages arrive in a new time: whoever trusts them without looking at epochs is found out.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.hold(link, args["streams"])


HOLD = link_fault("hold", act)
