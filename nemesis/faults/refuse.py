"""refuse: nobody answers the door.

Does   ends the connections of each link and refuses new ones. The dialer knows at once that nothing was sent.
Heals  lets connections be opened again; dialers come back in their own time.
Bites  when a connection ended or was refused while it lasted.
Costs  no damage. Operations end quickly: the ones under way as unknown, later ones as never sent.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.refuse(link)


REFUSE = link_fault("refuse", act)
