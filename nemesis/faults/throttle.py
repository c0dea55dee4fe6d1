"""throttle: little passes a link per second.

Does   lets `rate` bytes per second through each link, in both streams or one.
Heals  takes the limit away; what queued up arrives.
Bites  when a message had to wait for the limit.
Costs  no damage. Big fetches starve small ones behind them, and followers leave the ISR although they try.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.throttle(link, args["rate"], args["streams"])


THROTTLE = link_fault("throttle", act)
