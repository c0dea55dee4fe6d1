"""elect: an operator asks for an election.

Does   asks for the preferred leader of each partition, or for an unclean election, and waits for the answer.
Heals  nothing: it is over when it was answered.
Bites  when it was answered without an error. ELECTION_NOT_NEEDED is an error: nothing changed.
Costs  preferred: a planned move, which may lose acks=1 (CHECKERS W3). unclean: whatever the new leader lacks is lost (C2).
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Fired, Steps, TopicPartition
from nemesis.asking import asked
from nemesis.fault import Fault


def inject(cluster: Cluster, targets: tuple[TopicPartition, ...], args: Args) -> Steps[Fired]:
    (partition,) = targets
    return (yield from asked(lambda done: cluster.admin.elect(partition, args["kind"], done)))


ELECT = Fault("elect", inject=inject)
