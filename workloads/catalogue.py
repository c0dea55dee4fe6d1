"""workloads/catalogue.py: which workloads there are to run.

In   the name in a plan
Out  what makes the workload from its Stage; a Refusal for a name that nothing stands behind yet
Not  which names a plan may say: model/vocabulary.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from model.refusal import Refusal, near_miss
from model.workload import Stage, Workload
from workloads.consumer import ConsumerWorkload
from workloads.idempotent import IdempotentWorkload
from workloads.log import LogWorkload

Factory = Callable[[Stage], Workload]

WORKLOADS: Mapping[str, Factory] = {"log": LogWorkload, "idempotent": IdempotentWorkload, "consumer": ConsumerWorkload}


def workload_named(name: str) -> Factory:
    """The workload of this name; refused before anything is started where there is none yet."""
    if name not in WORKLOADS:
        problem = f"the workload {name!r} is not there yet"
        raise Refusal(problem, where="workload/name", allowed=", ".join(WORKLOADS), meant=near_miss(name, WORKLOADS))
    return WORKLOADS[name]
