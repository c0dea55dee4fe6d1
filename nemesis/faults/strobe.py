"""strobe: the wall clock of a node jumps to and fro.

Does   moves each target's wall clock ahead by `by` and back again, every `every`.
Heals  gives it the true time, whatever else was done to that clock.
Bites  when the node read its clock while it was wrong.
Costs  no damage, and no excuse: replication must not lean on wall clocks. Timestamps of records go backwards.
"""

from __future__ import annotations

from nemesis.lasting_fault import clock_fault

STROBE = clock_fault("strobe", lambda cluster, node, args: cluster.clocks.strobe(node, args["by"], args["every"]))
