"""pause: the process of a node stands still while time goes on, as in a long garbage collection or a frozen machine.

Does   stops each target in the middle of whatever it does. Its connections stay, and nobody is told.
Heals  lets it go on, unless another pause still holds it; it finds its timers overdue and its old messages waiting.
Bites  when something that happened to the process had to wait.
Costs  no damage. A leader that wakes up may believe for a moment that it still leads.
"""

from __future__ import annotations

from nemesis.lasting_fault import lasting_fault

PAUSE = lasting_fault("pause", lambda cluster, node, _: cluster.processes.pause(node))
