"""tests/golden/digests.py: the digests of ten seeds, printed as JSON: `python -m tests.golden.digests`.

Run by tests in other processes, with other hash seeds and other Pythons; it imports what a simulated run needs and nothing else.
To change the golden values on purpose:  python -m tests.golden.digests > tests/golden/digests.json
and add the line to CHANGELOG.md that tests/harness/test_same_seed.py then asks for.
"""

from __future__ import annotations

import json
import sys

from harness.run import run
from harness.worlds import schedule_of, world_of
from model.plan import Plan, Topic

SEEDS = range(1, 11)


def plan_of(seed: int, seconds: int = 8) -> Plan:
    """Two partitions, so that one broker both leads and follows; random faults."""
    topics = {"t": Topic(partitions=2, replicas=3, config={"min.insync.replicas": 2})}
    return Plan(tidemark=1, seed=seed, tag=seed, for_ns=seconds * 10**9, topics=topics)


def digest_of(plan: Plan) -> str:
    digest = run(plan, schedule_of(plan), world_of(plan).make(plan)).digest
    assert digest is not None
    return digest


if __name__ == "__main__":
    print(json.dumps({str(seed): digest_of(plan_of(seed)) for seed in SEEDS}, indent=1))
    print(f"Python {sys.version.split()[0]}", file=sys.stderr)
