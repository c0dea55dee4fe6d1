"""checkers/sessions.py: a consumer goes forward, and leaves nothing out (CHECKERS 5.3).

In     a `Part`, its `Places`
Out    int_nonmonotonic_poll, int_poll_skip: inside one answer; nonmonotonic_poll, poll_skip: between the answers of one session
Keeps  values in the order of the answer; empty polls and offsets below the log start take part in nothing; one instance per poll.
       What acknowledgements by the leader alone know makes a skip of level local
Not    sessions of which nobody knows whether they are the same: a rebalance may lie between
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers import words
from checkers.columns import FOREVER, NONE, POLL
from checkers.finding import finding
from checkers.found import Checked, Flags, Found, Numbers
from checkers.part import Part, Rows
from checkers.placing import Places
from model.verdict import Level, Witness

NAME = "sessions"


def check_sessions(part: Part, places: Places) -> Checked:
    polls = part.kind == POLL
    if not polls.any():
        return Checked(name=NAME, at=part.at)
    chosen = polls[part.records.row]
    row, offset = part.records.row[chosen].astype(np.int64), part.records.offset[chosen]
    inside, between = _inside(row, offset), _between(part, row, offset)
    found = (
        *_backwards(part, "int_nonmonotonic_poll", inside),
        *_skips(part, places, "int_poll_skip", inside),
        *_backwards(part, "nonmonotonic_poll", between),
        *_skips(part, places, "poll_skip", between),
    )
    return Checked(name=NAME, at=part.at, found=found)


@dataclass(frozen=True)
class _Steps:
    """From one offset to the next one that a session was given, and the polls that gave them."""

    before: Rows
    row: Rows
    left: Numbers
    reached: Numbers

    def where(self, chosen: Flags) -> _Steps:
        """Of each poll the first of the chosen ones."""
        at = np.flatnonzero(chosen)
        at = at[np.unique(self.row[at], return_index=True)[1]]
        return _Steps(self.before[at], self.row[at], self.left[at], self.reached[at])


def _inside(row: Rows, offset: Numbers) -> _Steps:
    at = np.flatnonzero((row[1:] == row[:-1]) & (offset[1:] != offset[:-1] + 1))
    return _Steps(row[at], row[at], offset[at], offset[at + 1])


def _between(part: Part, row: Rows, offset: Numbers) -> _Steps:
    """A process has one poll open at a time, so its answers came in the order in which it asked."""
    begins = np.flatnonzero(np.append(True, row[1:] != row[:-1])[: len(row)])
    polls, first, last = row[begins], offset[begins], offset[np.append(begins, len(row))[1:] - 1]
    process = part.process[polls]
    order = np.argsort(process.astype(np.min_scalar_type(int(process.max(initial=0)))), kind="stable")
    before, after = order[:-1], order[1:]
    session = part.number("session")[polls]
    same = (process[before] == process[after]) & (session[before] == session[after]) & (session[after] != NONE)
    odd = same & (first[after] != last[before] + 1)
    before, after = before[odd], after[odd]
    return _Steps(polls[before], polls[after], last[before], first[after])


# -- back ---------------------------------------------------------------------------------------------------------------


def _backwards(part: Part, name: str, steps: _Steps) -> tuple[Found, ...]:
    steps = steps.where(steps.reached <= steps.left)

    def tell(i: int) -> Witness:
        before, row = int(steps.before[i]), int(steps.row[i])
        left, reached = part.shown(int(steps.left[i])), part.shown(int(steps.reached[i]))
        if before == row:
            text = f"One answer to {_who(part, row)} ({words.interval(part, row)}) has offset {reached} after {left}."
        else:
            text = f"{_who(part, row)} returned up to {left} and then started again at {reached}."
        return _witness(part, text, steps, i, offset=int(steps.reached[i]))

    return finding(part, name, (steps.before, steps.row), tell, offset=steps.reached)


# -- too far ------------------------------------------------------------------------------------------------------------


def _skips(part: Part, places: Places, name: str, steps: _Steps) -> tuple[Found, ...]:
    """Over an offset that is known, whoever knows it; what is known by all need not be claimed."""
    missing = _next_known(places.known, steps.left)
    known = missing < steps.reached
    by_all = steps.where(known)
    missing = _next_known(places.known, by_all.left)
    found = _skipped(part, name, by_all, missing, places.observer(missing))
    claims = _claims(part)
    if not len(claims):
        return found
    offsets = part.offset[claims]
    told = np.isin(steps.row, by_all.row)
    by_leader = steps.where(~told & (_next_known(offsets, steps.left) < steps.reached))
    missing = _next_known(offsets, by_leader.left)
    claimed = claims[np.searchsorted(offsets, missing)]
    return (*found, *_skipped(part, name, by_leader, missing, claimed, "local"))


def _next_known(ascending: Numbers, offsets: Numbers) -> Numbers:
    """The least of these beyond each offset; FOREVER where there is none."""
    return np.append(ascending, FOREVER)[np.searchsorted(ascending, offsets, side="right")]


def _claims(part: Part) -> Rows:
    """Appends that only the leader acknowledged, by offset; of one offset the first to end."""
    claims = np.flatnonzero(part.acked_by_leader & (part.offset >= 0))
    claims = claims[np.lexsort((claims, part.end[claims], part.offset[claims]))]
    return claims[np.unique(part.offset[claims], return_index=True)[1]]


def _skipped(
    part: Part, name: str, steps: _Steps, missing: Numbers, knower: Rows, level: Level = "committed"
) -> tuple[Found, ...]:
    def tell(i: int) -> Witness:
        before, row, by = int(steps.before[i]), int(steps.row[i]), int(knower[i])
        left, reached = part.shown(int(steps.left[i])), part.shown(int(steps.reached[i]))
        jumped = f"jumped from {left} to {reached}"
        where = f" inside one answer ({words.interval(part, row)})" if before == row else ""
        known = f"{part.shown(int(missing[i]))} is known ({words.process(part, by)}, {words.seconds(part.end[by])})"
        text = f"{_who(part, row)} {jumped}{where} although {known}."
        return _witness(part, text, steps, i, offset=int(missing[i]), known_by=by)

    return finding(part, name, (steps.before, steps.row, knower), tell, level, offset=missing)


# -- words --------------------------------------------------------------------------------------------------------------


def _witness(part: Part, text: str, steps: _Steps, i: int, *, offset: int, known_by: int | None = None) -> Witness:
    before, row = int(steps.before[i]), int(steps.row[i])
    epochs = () if before == row else (int(part.leader_epoch[before]), int(part.leader_epoch[row]))
    return words.witness(part, text, [before, row], offset=offset, known_by=known_by, epochs=epochs)


def _who(part: Part, row: int) -> str:
    session = int(part.number("session")[row])
    return words.process(part, row) if session == NONE else f"{words.process(part, row)}'s session {session}"
