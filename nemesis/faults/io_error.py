"""io_error: reads, writes or syncs of a directory fail.

Does   lets every call of one kind fail, as EIO. After a failed sync nobody knows what is durable.
Heals  lets calls succeed again, and starts a process that the fault brought down.
Bites  when a call failed.
Costs  no damage. The node may end its own process or give the directory up, as the protocol allows (PROTOCOL 10.1).
"""

from __future__ import annotations

from nemesis.lasting_fault import disk_fault

IO_ERROR = disk_fault("io_error", lambda disks, node, args: disks.io_error(node, args["on"], args["directory"]))
