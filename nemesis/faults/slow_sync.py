"""slow_sync: every sync of a directory takes longer.

Does   holds each sync up by `delay` before it is durable.
Heals  syncs begun from then on take their normal time.
Bites  when a sync was held up.
Costs  no damage. More stays unsynced for longer, so a power cut at the same time loses more.
"""

from __future__ import annotations

from nemesis.lasting_fault import disk_fault

SLOW_SYNC = disk_fault(
    "slow_sync", lambda disks, node, args: disks.slow_sync(node, args["delay"], args["directory"]), refuses=False
)
