"""checkers/disturbances.py: when a run was disturbed, until when, and when it was left in peace (CHECKERS 6.8).

In     the table of events and the plan
Out    `Disturbance`: each fault that fired, with the moment at which it no longer counts; the last heal; the quiet windows
Keeps  in doubt a disturbance lasts longer: what never healed lasts for ever, a node that ended by itself is down and a clock that
       jumped is wrong until the run loop puts everything right, when the plan's time is over
Not    what may be expected of a cluster while it is disturbed (checkers/healthy_core.py)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from checkers.columns import FOREVER
from model.damage_inputs import MIN_ISR
from model.damage_tables import SETTLES_NS
from model.evidence import arguments_of
from model.plan import Plan
from model.vocabulary import FAULTS

BEGINNING: Final = -(2**63) + 1
AT_ONCE: Final = frozenset(name for name, fault in FAULTS.items() if not fault.heals) - {"rolling_restart"}
"""Over when they have fired, even if nobody wrote down when they ended. A rolling restart takes its time."""
UNTIL_THE_END: Final = frozenset({"exit", "jump"})
"""Nothing in the schedule ends them: nodes are started and clocks restored when the plan's time is over."""

Window = tuple[int, int]


class Disturbance(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that fired, or a node process that ended by itself."""

    fault: str
    fired_ns: int
    until_ns: int
    """From when on it counts as healed; FOREVER: never."""
    nodes: tuple[int, ...] = ()
    """Whom it concerned; client groups are negative."""
    args: Mapping[str, Any] = {}


def disturbances(plan: Plan, events: Iterable[Mapping[str, Any]]) -> tuple[Disturbance, ...]:
    """Of a run's table of events, in the order in which they fired."""
    fired = [row for row in events if row.get("fired_ns") is not None]
    all_healed_ns = max([plan.for_ns, *(row["healed_ns"] for row in fired if row.get("healed_ns") is not None)])
    return tuple(sorted((_disturbance(row, all_healed_ns) for row in fired), key=lambda one: (one.fired_ns, one.until_ns)))


def _disturbance(row: Mapping[str, Any], all_healed_ns: int) -> Disturbance:
    fired_ns, args = row["fired_ns"], arguments_of(row)
    if row["fault"] in UNTIL_THE_END:
        until_ns = all_healed_ns if fired_ns < all_healed_ns else FOREVER
    elif row.get("healed_ns") is not None:
        changed = row["fault"] == "change_config" and args.get("key") != MIN_ISR
        until_ns = max(fired_ns, row["healed_ns"]) + SETTLES_NS * changed
    else:
        until_ns = fired_ns if row["fault"] in AT_ONCE else FOREVER
    nodes = tuple(row.get("resolved") or ())
    return Disturbance(fault=row["fault"], fired_ns=fired_ns, until_ns=until_ns, nodes=nodes, args=args)


def last_heal_ns(told: Iterable[Disturbance]) -> int | None:
    """None: nothing was ever disturbed. FOREVER: it still is."""
    return max((one.until_ns for one in told), default=None)


def quiet_windows(disturbed: Iterable[Window], rest_ns: int) -> list[Window]:
    """What is left of all time when each of these has been taken away, and `rest_ns` after it."""
    windows, since_ns = [], BEGINNING
    for from_ns, until_ns in sorted(disturbed):
        if from_ns > since_ns:
            windows.append((since_ns, from_ns))
        since_ns = max(since_ns, later(until_ns, rest_ns))
    return [*windows, (since_ns, FOREVER)] if since_ns < FOREVER else windows


def later(at_ns: int, by_ns: int) -> int:
    """For ever stays for ever."""
    return min(FOREVER, at_ns + by_ns)


def boundaries(told: Sequence[Disturbance]) -> list[int]:
    """Every moment at which a fault fired or ended."""
    moments = {moment for one in told for moment in (one.fired_ns, one.until_ns)}
    return sorted(moments - {FOREVER})
