"""reassign: an operator moves a partition to other brokers.

Does   asks for the replicas `to`, the first of them preferred, and waits until the cluster has accepted that.
Heals  nothing: the partition stays where it was sent. The copying goes on after this fault is over.
Bites  when it was answered without an error.
Costs  a planned move, which may lose acks=1 (CHECKERS W3); done with an ISR below min ISR, it lowers the tolerance (6.3).
"""

from __future__ import annotations

from model.cluster import Args, Cluster, Fired, Steps, TopicPartition
from nemesis import names
from nemesis.asking import asked
from nemesis.fault import Fault


def inject(cluster: Cluster, targets: tuple[TopicPartition, ...], args: Args) -> Steps[Fired]:
    (partition,) = targets
    to = tuple(names.number(name) for name in args["to"])
    return (yield from asked(lambda done: cluster.admin.reassign(partition, to, done)))


REASSIGN = Fault("reassign", inject=inject)
