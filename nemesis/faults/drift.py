"""drift: the clock of a node runs fast or slow.

Does   lets each target's clock gain or lose `ppm` parts per million; where a world can do it, its monotonic clock and timers too.
Heals  takes away what the wall clock gained or lost, and gives both clocks their old rate.
Bites  when the node read its clock while it was wrong.
Costs  no damage. Timeouts of this node are longer or shorter than those of its peers.
"""

from __future__ import annotations

from nemesis.lasting_fault import lasting_fault

DRIFT = lasting_fault("drift", lambda cluster, node, args: cluster.clocks.drift(node, args["ppm"]))
