"""strobe: the wall clock of a node jumps to and fro.

Does   moves each target's wall clock ahead by `by` and back again, every `every`.
Heals  lets the clock stand still again.
Bites  when the node read its clock while it was wrong.
Costs  no damage, and no excuse: replication must not lean on wall clocks. Timestamps of records go backwards.
"""

from __future__ import annotations

from nemesis.lasting_fault import lasting_fault

STROBE = lasting_fault("strobe", lambda cluster, node, args: cluster.clocks.strobe(node, args["by"], args["every"]))
