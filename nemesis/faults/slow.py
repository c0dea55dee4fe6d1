"""slow: the process of a node gets only a share of one CPU.

Does   gives each target `share` of one CPU.
Heals  gives it back; the least share that is left counts.
Bites  when something that happened to the process had to wait.
Costs  no damage. Heartbeats come late, and a broker may be fenced while it works.
"""

from __future__ import annotations

from nemesis.lasting_fault import lasting_fault

SLOW = lasting_fault("slow", lambda cluster, node, args: cluster.processes.slow(node, args["share"]))
