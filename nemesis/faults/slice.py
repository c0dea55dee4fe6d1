"""slice: messages of a link arrive in small pieces.

Does   cuts each stream into pieces of `size` bytes with a `gap` between them.
Heals  later bytes travel in one piece again.
Bites  when a message was cut into pieces.
Costs  no damage. It finds readers that take a first piece for the whole message.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.slice(link, args["size"], args["gap"], args["streams"])


SLICE = link_fault("slice", act)
