"""change_config: an operator changes a setting while everything runs.

Does   sets `key` to `value`, for one topic or the whole cluster, and waits for the answer.
Heals  asks for what the plan says, `old`, or for the default where it says nothing; asks again while the answer is an error.
       Two changes of one key that overlap: the first heal ends both. A value that was never asked back stays.
Bites  when it was answered without an error.
Costs  whatever the setting is for: a lower min ISR is a weaker promise (CHECKERS C4).
"""

from __future__ import annotations

from functools import partial

from model.cluster import Args, Cluster, Fired, Steps, TopicPartition
from nemesis.asking import asked
from nemesis.fault import Fault

TRIES = 20
RETRY_NS = 500 * 10**6


def inject(cluster: Cluster, targets: tuple[TopicPartition, ...], args: Args) -> Steps[Fired]:
    change = partial(cluster.admin.change_config, args["topic"], args["key"], args["value"])
    return (yield from asked(change))


def heal(cluster: Cluster, targets: tuple[TopicPartition, ...], args: Args, effect: bool | None) -> None:
    _put_back(cluster, args, TRIES)


def _put_back(cluster: Cluster, args: Args, tries: int) -> None:
    """Whatever else heals now may take a while until a controller can answer."""

    def answered(error: str | None) -> None:
        if error is not None and tries > 1:
            cluster.time.after(RETRY_NS, lambda: _put_back(cluster, args, tries - 1))

    cluster.admin.change_config(args["topic"], args["key"], args["old"], answered)


CHANGE_CONFIG = Fault("change_config", inject=inject, heal=heal)
