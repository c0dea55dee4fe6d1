"""nemesis/restarts.py: how every fault that ends processes is healed.

In   nodes whose processes ended, or are about to
Out  each of them is asked to run. Asking for one that runs changes nothing; one that is on its way down starts once it is there
"""

from __future__ import annotations

from model.cluster import Args, Cluster, NodeId


def start_again(cluster: Cluster, targets: tuple[NodeId, ...], args: Args, effect: bool | None) -> None:
    for node in targets:
        cluster.processes.start(node)
