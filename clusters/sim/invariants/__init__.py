"""clusters/sim/invariants: what must be true inside the nodes at every moment, whatever clients see (BUGS, the numbered list).

Lives here  catalogue.py (what an invariant is), world.py (what all of them read), truth.py, replica.py, member.py (what is
            remembered of a partition, a replica, a member of the quorum), stored.py (batches on disks), watching.py, commits.py,
            answers.py (when which of them is asked), findings.py, beliefs.py, story.py, violation.py (what a person reads),
            waits.py (who waits for what), and the invariants by topic: rooms.py lists them
In          the nodes themselves, read and never asked; commits of metadata; answers; what nodes tell; `forbidden`, which says for
            a partition whether loss is still forbidden
Out         `Violation`: a number, a sentence that needs no debugger, what each node believes, and the story so far
Keeps       a run with invariants and one without have the same digest: nothing in here changes or draws anything
Cost        after an event only the node that it touched is looked at, and there only what is no longer as it was
"""

from __future__ import annotations

from clusters.sim.invariants.findings import OnViolation
from clusters.sim.invariants.violation import Violation
from clusters.sim.invariants.watching import Invariants

__all__ = ["Invariants", "OnViolation", "Violation"]
