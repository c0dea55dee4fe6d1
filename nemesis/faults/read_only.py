"""read_only: a directory of a node was remounted read-only, as kernels do after an error.

Does   lets every write fail, as EROFS. Reads work; the process is not touched.
Heals  lets writes pass again, and starts a process that the fault brought down.
Bites  when a write was refused.
Costs  no damage. The node may end its own process or give the directory up, as the protocol allows (PROTOCOL 10.1).
"""

from __future__ import annotations

from nemesis.lasting_fault import disk_fault

READ_ONLY = disk_fault("read_only", lambda disks, node, args: disks.read_only(node, args["directory"]))
