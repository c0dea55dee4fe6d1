"""skew: the wall clock of a node is off by a constant amount.

Does   moves each target's wall clock by `offset`, ahead or back, and keeps it there.
Heals  takes the offset away.
Bites  when the node read its clock while it was wrong.
Costs  no damage, and no excuse: replication must not lean on wall clocks. Timestamps of records are wrong.
"""

from __future__ import annotations

from nemesis.lasting_fault import lasting_fault

SKEW = lasting_fault("skew", lambda cluster, node, args: cluster.clocks.skew(node, args["offset"]))
