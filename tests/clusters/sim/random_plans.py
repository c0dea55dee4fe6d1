"""tests/clusters/sim/random_plans.py: plans of every kind that the right rules must survive.

In     a seed
Out    a plan: dedicated or combined nodes, 3 to 5 brokers, 1 to 5 voters, RF 3, min ISR 1 or 2, ELR on or off, acks 1 or all,
       few or many snapshots of the metadata, any fault of the swarm
"""

from __future__ import annotations

from model.chance import between, happens, pick, stream
from model.plan import Nodes, Plan, Topic, Workload

SECONDS = 30


def random_plan(seed: int, seconds: int = SECONDS) -> Plan:
    chance = stream(seed, "random plan")
    brokers, combined = between(chance, 3, 5), happens(chance, 1, 3)
    voters = pick(chance, [each for each in (1, 3, 5) if not combined or each <= brokers])
    elr = between(chance, 0, 1)
    topic = Topic(partitions=between(chance, 1, 3), replicas=3, config={"min.insync.replicas": between(chance, 1, 2)})
    return Plan(
        tidemark=1,
        seed=seed,
        tag=seed % (1 << 19),
        for_ns=seconds * 10**9,
        nodes=Nodes(brokers=brokers, controllers=voters, combined=combined),
        topics={"t": topic},
        config={
            "profile": "brisk",
            "eligible.leader.replicas.version": elr,
            "metadata.log.max.record.bytes.between.snapshots": pick(chance, (1_000, 4_000, 20_971_520)),
        },
        workload=Workload(acks=pick(chance, (-1, -1, 1))),
    )
