"""checkers/liveness.py: no progress though nothing was broken, and operations that never ended (CHECKERS 6.8).

In     everything that is known of a run
Out    per partition: `unavailable` (V1, V2, V3, V5) and `stuck` (V4), with the successes around each
Keeps  a rule is judged only under its conditions, and only where the history proves that it was broken: somebody tried, for
       longer than G, and tried again. What could not be judged is counted, never reported
Not    whether all replicas came back into sync, which only those know who look into the nodes (checkers/judge.py)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np

from checkers import words
from checkers.circumstances import Circumstances, longest_common
from checkers.columns import APPEND, END_OFFSET, FOREVER, NONE, READ
from checkers.disturbances import Window, later
from checkers.found import Checked, Flags, Found, Numbers
from checkers.healthy_core import Core, group_of
from checkers.part import Part, Rows, parts
from checkers.run_evidence import RunEvidence
from checkers.tries import TOO_FEW_REPLICAS, Tries, errors
from model.config import effective_number
from model.damage import DamageLedger
from model.plan import Plan
from model.verdict import Witness

NAME: Final = "liveness"
SLACK_NS: Final = 10**9
"""V4 So much longer than its timeout an operation may take."""

Tell = Callable[[int], Witness]


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """A time in which a partition had to accept appends and did not, with what proves it."""

    window: Window
    rows: tuple[int, ...]
    """The success before it, the last failure, the success after it: as far as there are any."""
    failure: int
    why: str


def check_liveness(run: RunEvidence, ledger: DamageLedger | None = None) -> list[Checked]:
    """One for each partition of the history. `ledger`: the run's damage, if somebody has it already."""
    view = Circumstances(run, ledger)
    return [_checked(part, view) for part in parts(run.columns)]


def _checked(part: Part, view: Circumstances) -> Checked:
    counts: Counter[str] = Counter()
    found: list[Found | None] = [_stuck(part, view, counts)]
    if part.at[0] in view.plan.topics:
        comes_back = _comes_back(part, view, counts)
        told_since_ns = view.healed_ns if comes_back is not None or view.told_already else None
        found += [comes_back, _is_read(part, view, counts)]
        found += [_goes_on(part, view, counts, told_since_ns), _resumes(part, view, counts), _is_readable(part, view, counts)]
    return Checked(name=NAME, at=part.at, found=tuple(each for each in found if each is not None), counts=+counts)


# -- V1 -----------------------------------------------------------------------------------------------------------------


def _comes_back(part: Part, view: Circumstances, counts: Counter[str]) -> Found | None:
    """Within R after the last heal the partition accepts acks=all."""
    healed_ns = view.healed_ns
    if healed_ns is None:
        return None
    bound_ns, by_all = later(healed_ns, view.recovery_ns), part.acks == -1
    tries = Tries(part, by_all, by_all)
    if tries.accepts(healed_ns, bound_ns):
        return None
    for stretch in tries.stretches(view.gap_ns):
        window = max(stretch.from_ns, healed_ns), stretch.to_ns
        no_earlier = stretch.before == NONE or tries.ended(stretch.before) < healed_ns
        if no_earlier and window[1] > bound_ns and window[1] - window[0] > view.gap_ns and tries.tried_again(*window):
            if view.stopped or view.told_already or view.excused(part.at):
                break
            why = f"the last fault ended at {words.seconds(healed_ns)} and the bound is {words.seconds(view.recovery_ns)}"
            return _found_outages(part, "V1", [_outage(part, tries, window, (stretch.before, stretch.after), why)])
    counts["V1 not judged"] += 1
    return None


def _is_read(part: Part, view: Circumstances, counts: Counter[str]) -> Found | None:
    """Within R after the last heal the final read completes. Those who ran it gave it R, and say whether it was enough."""
    rows = np.flatnonzero(part.final)
    if view.read_to_the_end or (len(rows) and _was_read_to_its_end(part, rows)):
        return None
    judged = not (view.stopped or view.told_already) and view.healed_ns != FOREVER and len(rows) > 0
    took = part.start + part.number("took_ns")
    moved = rows[part.returned[rows] > 0]
    from_ns = int(took[moved].max()) if len(moved) else int(part.start[rows].min(initial=FOREVER))
    window = from_ns, int(took[rows].max(initial=from_ns))
    if not judged or window[1] - window[0] <= min(view.gap_ns, view.recovery_ns) or view.excused(part.at):
        counts["V1 not judged"] += 1
        return None
    return _found(part, "unavailable", "V1", [window], [window[1]], lambda _: _tell_unread(part, view, rows, moved, window))


def _was_read_to_its_end(part: Part, rows: Rows) -> bool:
    """Some final read came to the end that the last answer before it had named, or there was none to come to."""
    ok, kind = part.is_ok[rows], part.kind[rows]
    told = rows[ok & (kind == END_OFFSET)]
    for row in rows[ok & (kind == READ) & part.at_end[rows]]:
        before = told[part.end[told] <= part.start[row]]
        if len(before) and _reach(part, np.array([row]))[0] >= part.offset[before[np.argmax(part.end[before])]]:
            return True
    return False


def _tell_unread(part: Part, view: Circumstances, rows: Rows, moved: Rows, window: Window) -> Witness:
    healed = "" if view.healed_ns is None else f"; the last fault ended at {words.seconds(view.healed_ns)}"
    ended = part.start[rows] + part.number("took_ns")[rows]
    last = int(rows[np.argmax(ended)])
    error = "" if part.is_ok[last] else f" Last error: {part.error(last)}."
    text = (
        f"The final read of {_name(part)} did not come to its end: nothing more was read for {_span(window)}{healed} "
        f"and the bound is {words.seconds(view.recovery_ns)}.{error}"
    )
    return _witness(part, text, [*moved[-1:], last], window)


# -- V2 -----------------------------------------------------------------------------------------------------------------


def _goes_on(part: Part, view: Circumstances, counts: Counter[str], told_since_ns: int | None) -> Found | None:
    """While nothing is broken, no gap is longer than G. `told_since_ns`: what lies behind it was told as V1."""
    counted = np.ones(part.count, np.bool_) if view.isr_known(part.at) else ~errors(part, TOO_FEW_REPLICAS)
    tries = Tries(part, counted, np.ones(part.count, np.bool_))
    found: list[Outage] = []
    windows: list[Window] | None = None
    for stretch in tries.stretches(view.gap_ns):
        windows = view.quiet(part.at) if windows is None else windows
        window = longest_common((stretch.from_ns, stretch.to_ns), windows)
        if told_since_ns is not None and window[1] > told_since_ns:
            continue
        long = window[1] - window[0] > view.gap_ns
        if long and tries.tried_again(*window) and not view.excused(part.at, window[1]):
            around = stretch.before, stretch.after
            found.append(_outage(part, tries, window, around, _nothing_was_broken(view, window[0])))
        else:
            counts["V2 not judged"] += 1
    return _found_outages(part, "V2", found)


def _nothing_was_broken(view: Circumstances, at_ns: int) -> str:
    ended = [one.until_ns for one in view.told if one.until_ns <= at_ns]
    gap = f"the longest quiet gap is {words.seconds(view.gap_ns)}"
    return f"the last fault had ended at {words.seconds(max(ended))} and {gap}" if ended else f"there had been no fault and {gap}"


# -- V3 -----------------------------------------------------------------------------------------------------------------


def _resumes(part: Part, view: Circumstances, counts: Counter[str]) -> Found | None:
    """While a fault lasts, those whom it does not touch go on within R, if they are enough."""
    everything = np.ones(part.count, np.bool_)
    found: list[Outage] = []
    for stretch in Tries(part, everything, everything).stretches(view.gap_ns) if view.lasting else ():
        for since_ns, to_ns in view.lasting:
            if _past_the_bound((stretch.from_ns, stretch.to_ns), (since_ns, to_ns), view):
                outage = _not_resumed(part, view, since_ns, min(to_ns, stretch.to_ns))
                counts["V3 not judged"] += outage is None
                found += [outage] if outage is not None else []
    return _found_outages(part, "V3", found)


def _past_the_bound(tried: Window, lasting: Window, view: Circumstances) -> bool:
    from_ns, to_ns = longest_common(tried, [lasting])
    return to_ns > later(lasting[0], view.recovery_ns) and to_ns - from_ns > view.gap_ns


def _not_resumed(part: Part, view: Circumstances, since_ns: int, to_ns: int) -> Outage | None:
    """The same, by the tries of those clients alone who could reach everybody they needed."""
    core = None if view.excused(part.at, to_ns) else view.core(part.at, since_ns, to_ns)
    tries = Tries(part, _of_clients(part, view.plan, core), np.ones(part.count, np.bool_))
    if core is None:
        return None
    for stretch in tries.stretches(view.gap_ns):
        window = max(stretch.from_ns, since_ns), min(stretch.to_ns, to_ns)
        long = _past_the_bound((stretch.from_ns, stretch.to_ns), (since_ns, to_ns), view)
        no_earlier = stretch.before == NONE or tries.ended(stretch.before) < since_ns
        if long and no_earlier and tries.tried_again(*window):
            up = ", ".join(f"n{node}" for node in sorted(core.members) if node > 0)
            why = (
                f"no fault came or went since {words.seconds(since_ns)}, {up} were up and connected with each other and with "
                f"clients, and the bound is {words.seconds(view.recovery_ns)}"
            )
            return _outage(part, tries, window, (stretch.before, stretch.after), why)
    return None


def _of_clients(part: Part, plan: Plan, core: Core | None) -> Flags:
    numbers, names = part.words("client")
    inside = np.array([core is not None and group_of(plan, name) in core.groups for name in names] + [False], np.bool_)
    flags: Flags = inside[numbers]
    return flags


# -- V4 -----------------------------------------------------------------------------------------------------------------


def _stuck(part: Part, view: Circumstances, counts: Counter[str]) -> Found | None:
    """Every operation ends within its client's timeout and a second. Where time is real nobody knows yet how long the run loop
    itself stood still; of an append that its producer would send again, how often it had to wait."""
    if view.plan.cluster != "sim":
        counts["V4 not judged"] += part.count
        return None
    once = ~part.is_append | ((part.number("attempts") == 1) & ~part.flag("idempotent"))
    timeout_ns = effective_number(view.plan.config, {}, "request.timeout.ms") * 10**6
    took = part.number("took_ns")
    rows = np.flatnonzero(once & (took > later(timeout_ns, SLACK_NS)))
    counts["V4 not judged"] += int((~once).sum())

    def tell(index: int) -> Witness:
        row = int(rows[index])
        kind = "append" if part.kind[row] == APPEND else "operation"
        how = "with success" if part.is_ok[row] else f"with {part.error(row)}"
        text = (
            f"{words.process(part, row)}'s {kind} on {_name(part)} began at {words.seconds(part.start[row])} and ended "
            f"{words.seconds(took[row])} later, {how}: its client's timeout is {words.seconds(timeout_ns)}."
        )
        return words.witness(part, text, [row], window=(int(part.start[row]), int(part.start[row] + took[row])))

    ends = (part.start + took)[rows]
    return _found(part, "stuck", "V4", np.column_stack([part.start[rows], ends]), ends, tell) if len(rows) else None


# -- V5 -----------------------------------------------------------------------------------------------------------------


def _is_readable(part: Part, view: Circumstances, counts: Counter[str]) -> Found | None:
    """More than R after the last heal, and after the last change of leader or ISR, an answer that names the end of the log names
    one behind every write that was acknowledged by all. Only of writes that are there: a lost one is another anomaly."""
    healed_ns = view.healed_ns
    if healed_ns is None:
        return None
    since_ns = later(max(healed_ns, view.in_sync(part.at).last_change_ns), view.recovery_ns)
    names_the_end = part.is_ok & ~part.final & ((part.kind == END_OFFSET) | ((part.kind == READ) & part.at_end))
    late = np.flatnonzero(names_the_end & (part.start > since_ns))
    if not len(late):
        return None
    written = np.flatnonzero(part.acked_by_all & (part.offset >= 0) & _finally_read(part))
    written = written[np.argsort(part.end[written], kind="stable")]
    if not len(written):
        return None
    earlier = np.searchsorted(part.end[written], part.start[late]) - 1
    furthest = _furthest(part.offset[written])
    behind = (earlier >= 0) & (_reach(part, late) <= part.offset[written][furthest[earlier]])
    late, writes = late[behind], written[furthest[earlier[behind]]]
    if not len(late):
        return None
    if not view.isr_known(part.at) or view.stopped or view.told_already or view.excused(part.at):
        counts["V5 not judged"] += len(late)
        return None
    windows = np.column_stack([part.start[writes], part.end[late]])
    return _found(part, "unavailable", "V5", windows, part.end[late], lambda i: _tell_unreadable(part, view, writes[i], late[i]))


def _finally_read(part: Part) -> Flags:
    """Each row: an append whose value a final read returned where it was acknowledged: a further copy of it is another record."""
    final = np.flatnonzero(part.final[part.records.row])
    if not len(final):
        return np.zeros(part.count, np.bool_)
    offset, first = np.unique(part.records.offset[final], return_index=True)
    value = part.records.value[final[first]]
    at = np.minimum(np.searchsorted(offset, part.offset), len(offset) - 1)
    read: Flags = part.is_append & (offset[at] == part.offset) & (value[at] == part.value)
    return read


def _furthest(offsets: Numbers) -> Numbers:
    """For each of these the index of the greatest so far."""
    is_new = offsets == np.maximum.accumulate(offsets)
    return np.maximum.accumulate(np.where(is_new, np.arange(len(offsets)), 0))


def _reach(part: Part, rows: Rows) -> Numbers:
    """Where the log ended, as far as each of these shows: nothing lies at or behind it that could be read."""
    last = part.spans[1][rows]
    after_reading = np.where(part.returned[rows] > 0, last + 1, part.from_offset[rows])
    return np.where(part.kind[rows] == END_OFFSET, part.offset[rows], after_reading)


def _tell_unreadable(part: Part, view: Circumstances, write: int, answer: int) -> Witness:
    end = int(_reach(part, np.array([answer]))[0])
    text = (
        f"{words.process(part, write)}'s append of {words.value(int(part.value[write]))} was acknowledged at offset "
        f"{part.shown(int(part.offset[write]))} ({words.acks(part, write)}, {words.seconds(part.end[write])}) and the final read "
        f"returned it, yet {words.process(part, answer)} was told that the log ends at {part.shown(end)} "
        f"({words.interval(part, answer)}); the last fault ended at {words.seconds(view.healed_ns or 0)} and the bound is "
        f"{words.seconds(view.recovery_ns)}."
    )
    window = int(part.start[write]), int(part.end[answer])
    return words.witness(part, text, [write, answer], offset=int(part.offset[write]), about=int(part.value[write]), window=window)


# -- what was found -----------------------------------------------------------------------------------------------------


def _outage(part: Part, tries: Tries, window: Window, around: tuple[int, int], why: str) -> Outage:
    failure = tries.last_failure(*window)
    before, after = around
    rows = tuple(dict.fromkeys(row for row in (before, failure, after) if row != NONE))
    return Outage(window=window, rows=rows, failure=failure, why=why)


def _found_outages(part: Part, rule: str, outages: Sequence[Outage]) -> Found | None:
    if not outages:
        return None

    def tell(index: int) -> Witness:
        outage = outages[index]
        what = "append with acks=all" if rule == "V1" else "append"
        error = f" Last error: {part.error(outage.failure)}." if outage.failure != NONE else ""
        text = f"{_name(part)} accepted no {what} for {_span(outage.window)}; {outage.why}.{error}"
        return _witness(part, text, outage.rows, outage.window)

    windows = [outage.window for outage in outages]
    return _found(part, "unavailable", rule, windows, [window[1] for window in windows], tell)


def _found(
    part: Part, name: str, rule: str, windows: Sequence[Window] | Numbers, proof_ns: Sequence[int] | Numbers, tell: Tell
) -> Found:
    from_ns, to_ns = np.array(windows, np.int64).reshape(-1, 2).T
    proven = np.array(proof_ns, np.int64)
    return Found(name=name, level="committed", at=part.at, from_ns=from_ns, to_ns=to_ns, proof_ns=proven, tell=tell, rule=rule)


def _witness(part: Part, text: str, rows: Sequence[int], window: Window) -> Witness:
    """Which processes happened to succeed before and after an outage says nothing about it, so it has no shape."""
    return msgspec.structs.replace(words.witness(part, text, rows, window=window), shape="")


def _name(part: Part) -> str:
    return f"{part.at[0]}/{part.at[1]}"


def _span(window: Window) -> str:
    """`41.200 s (12.000-53.200 s)`"""
    return f"{words.seconds(window[1] - window[0])} ({window[0] / 10**9:.3f}-{words.seconds(window[1])})"
