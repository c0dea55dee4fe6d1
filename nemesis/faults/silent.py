"""silent: packets vanish on a link, and not even the end of a connection is noticed.

Does   drops everything on each link, in both streams or one; a process that dies behind it leaves its peers waiting.
Heals  lets packets pass again; connections that ended meanwhile turn out to be dead.
Bites  when a message or the end of a connection vanished while it lasted.
Costs  no damage. Only timeouts discover it, so recovery takes as long as the longest of them.
"""

from __future__ import annotations

from model.cluster import Args, Grip, Link, Links
from nemesis.link_fault import link_fault


def act(links: Links, link: Link, args: Args) -> Grip:
    return links.silent(link, args["streams"])


SILENT = link_fault("silent", act)
