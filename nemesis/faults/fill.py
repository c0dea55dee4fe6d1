"""fill: a directory of a node has no room left.

Does   lets every write that needs room fail, as ENOSPC. Reads work; the process is not touched.
Heals  gives the room back, and starts a process that the fault brought down.
Bites  when a write was refused.
Costs  no damage. The node may end its own process or give the directory up, as the protocol allows (PROTOCOL 10.1).
"""

from __future__ import annotations

from nemesis.lasting_fault import disk_fault

FILL = disk_fault("fill", lambda disks, node, args: disks.fill(node, args["directory"]))
