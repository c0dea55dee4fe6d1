"""checkers/sequences.py: an idempotent producer's records lie in the order of their sequences, one by one (CHECKERS 5.3, P 6.10).

In     a `Part`, its `Places`
Out    sequence_reorder: of two neighbours of one (producer_id, producer_epoch) the later has no later sequence; sequence_gap: it
       has one too far on, and the records between them cannot lie between them
Keeps  sequences modulo 2^31; a session may begin with any (an unknown producer may begin anywhere). It is no gap while an
       offset between whose writer nobody knows may hold what is missing. Level local: where a leader alone acknowledged it
Not    producers that nobody knows by number, such as librdkafka's
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from checkers import words
from checkers.columns import FOREVER, NONE
from checkers.finding import finding, window
from checkers.found import Checked, Flags, Found, Numbers
from checkers.part import Part, Rows
from checkers.placing import Places
from model.verdict import Level, Witness

NAME = "sequences"
SEQUENCES = 2**31
_ANY_TYPE_OF_NUMBER = 2**62


def check_sequences(part: Part, places: Places) -> Checked:
    column = part.columns.table.column("sequence")
    if column.null_count == len(column):
        return Checked(name=NAME, at=part.at)
    numbered = _Numbered(places)
    found = _out_of_sequence(numbered, _Log(places.known, places.writer))
    names = {each.name: each.offset for each in found if each.offset is not None}
    claimed = _with_claims(places)
    if claimed is not None:
        found = (*found, *_out_of_sequence(numbered, claimed, "local", names))
    return Checked(name=NAME, at=part.at, found=found)


@dataclass(frozen=True)
class _Log:
    """Offsets that are known, ascending, and the append that wrote each; -1 = nobody knows who."""

    offset: Numbers
    writer: Rows


def _with_claims(places: Places) -> _Log | None:
    """What is known, and what only a leader acknowledged at offsets of which nothing else is known; None if nothing is."""
    part = places.part
    claims = np.flatnonzero(part.acked_by_leader & (part.offset >= 0))
    claims = claims[~places.is_known(part.offset[claims])]
    if not len(claims):
        return None
    offset, first = np.unique(part.offset[claims], return_index=True)
    at = np.searchsorted(places.known, offset)
    return _Log(np.insert(places.known, at, offset), np.insert(places.writer, at, claims[first]))


class _Numbered:
    """Appends, and where each stands in the session of its producer. The last entry stands for those that nobody wrote."""

    def __init__(self, places: Places) -> None:
        part = self.part = places.part
        self.places = places
        self.producer, self.epoch = part.number("producer_id"), part.number("producer_epoch")
        self.sequence = part.number("sequence").astype(np.int64)
        known = part.is_append & (self.producer != NONE) & (self.epoch != NONE) & (self.sequence != NONE)
        self.known: Flags = np.append(known, False)
        self.elsewhere: Flags = np.append(~known & ~part.flag("idempotent"), False)
        """Appends that are certainly no numbered producer's."""

    def session(self, rows: Rows) -> Numbers:
        """One number per (producer_id, producer_epoch), in the smallest type that holds it: those are sorted fastest."""
        producer, epoch = self.producer[rows], self.epoch[rows]
        low, epochs = int(producer.min()), int(epoch.max()) + 1
        if (int(producer.max()) - low + 1) * epochs > _ANY_TYPE_OF_NUMBER:
            low, producer = 0, np.unique(producer, return_inverse=True)[1]
        session = (producer - low) * epochs + epoch
        return session.astype(np.min_scalar_type(int(session.max())))


@dataclass(frozen=True)
class _Neighbours:
    """Two records of one session with no other of it between them: the appends, and where they lie."""

    before: Rows
    after: Rows
    left: Numbers
    right: Numbers
    step: Numbers
    """From one sequence to the other, modulo 2^31."""
    free: Numbers
    """How many offsets between them may hold anything."""

    def where(self, chosen: Flags) -> _Neighbours:
        return _Neighbours(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def _out_of_sequence(
    of: _Numbered, log: _Log, level: Level = "committed", told: dict[str, Numbers] | None = None
) -> tuple[Found, ...]:
    """`told`: by name the offsets that were told at level committed."""
    pairs = _odd_neighbours(of, log)
    falls = (pairs.step == 0) | (pairs.step >= SEQUENCES // 2)
    jumps = ~falls & (pairs.step - 1 > pairs.free)
    found: tuple[Found, ...] = ()
    for name, wrong in (("sequence_reorder", falls), ("sequence_gap", jumps)):
        new = wrong & ~np.isin(pairs.right, (told or {}).get(name, ()))
        found = (*found, *_told(of, name, pairs.where(new), level))
    return found


def _odd_neighbours(of: _Numbered, log: _Log) -> _Neighbours:
    """Those whose sequences do not follow one another."""
    at = np.flatnonzero(of.known[log.writer])
    if not len(at):
        return _Neighbours(*(np.empty(0, np.int64) for _ in _Neighbours.__dataclass_fields__))
    rows = log.writer[at]
    session = of.session(rows)
    order = np.argsort(session, kind="stable")
    session, sequence = session[order], of.sequence[rows[order]]
    step = (sequence[1:] - sequence[:-1]) % SEQUENCES
    odd = np.flatnonzero((session[1:] == session[:-1]) & (step != 1))
    odd = odd[np.argsort(at[order[odd + 1]], kind="stable")]  # in the order of the log, whatever their producers are called
    left, right = at[order[odd]], at[order[odd + 1]]
    settled = np.cumsum(of.known[log.writer] | of.elsewhere[log.writer])
    between: Numbers = settled[right - 1] - settled[left]
    free = log.offset[right] - log.offset[left] - 1 - between
    return _Neighbours(log.writer[left], log.writer[right], log.offset[left], log.offset[right], step[odd], free)


def _told(of: _Numbered, name: str, pairs: _Neighbours, level: Level) -> tuple[Found, ...]:
    if not len(pairs.after):
        return ()
    part = of.part
    readers = _reader(of.places, pairs.before, pairs.left, level), _reader(of.places, pairs.after, pairs.right, level)

    def tell(i: int) -> Witness:
        before, after = int(pairs.before[i]), int(pairs.after[i])
        left, right = part.shown(int(pairs.left[i])), part.shown(int(pairs.right[i]))
        first, second = int(of.sequence[before]), int(of.sequence[after])
        text = (
            f"Producer {int(of.producer[before])} epoch {int(of.epoch[before])}: sequence {first} is at offset {left}, "
            f"sequence {second} at {right}"
        )
        if name == "sequence_gap":
            text += f", and sequence {(first + 1) % SEQUENCES} cannot be between them"
        proof = [before, int(readers[0][i]), after, int(readers[1][i])]
        return words.witness(part, f"{text}.", [row for row in proof if row != NONE], offset=int(pairs.right[i]))

    rows = pairs.before, readers[0], pairs.after, readers[1]
    facts = {"offset": pairs.right}
    if name == "sequence_gap":
        facts |= _window_with_those_between(of.places, rows, pairs)
    return finding(part, name, rows, tell, level, **facts)


def _window_with_those_between(places: Places, rows: tuple[Rows, ...], pairs: _Neighbours) -> dict[str, Numbers]:
    """That nothing else fits between them is said by whoever knows what lies there, whenever that was."""
    part = places.part
    from_ns, to_ns = window(part, rows)
    knower = places.observer(places.known)
    since, until = np.append(part.since[knower], FOREVER), np.append(part.end[knower], NONE)
    ranges = np.stack([places.known_below(pairs.left), places.known_below(pairs.right + 1)], axis=1).ravel()
    first, last = np.minimum.reduceat(since, ranges)[::2], np.maximum.reduceat(until, ranges)[::2]
    until = np.maximum(to_ns, np.where(last == FOREVER, np.int64(NONE), last))
    return {"from_ns": np.minimum(from_ns, first), "to_ns": until, "proof_ns": until}


def _reader(places: Places, appends: Rows, offsets: Numbers, level: Level) -> Rows:
    """Who shows that a record lies there; -1 = its append itself, by what it was told."""
    part = places.part
    told = part.acked_by_all[appends]
    if level == "local":
        told = told | (part.acked_by_leader[appends] & ~places.is_known(offsets))
    untold = np.flatnonzero(~told | (part.offset[appends] != offsets))
    reader = np.full(len(appends), NONE, np.int64)
    reader[untold] = places.observer_of(offsets[untold], part.value[appends[untold]], acknowledged=False)
    return reader
