"""checkers/durability.py: is everything still there that was promised or shown? (CHECKERS 5.3, 5.5)

lost_write     an acknowledged write is gone. Proof: the append with its ok; a read of where it should be, or the final read or a
               final end offset begun after that ok, without it
vanished_read  a record that was read is gone. Proof: the read, and a later one of the same place, or the final read, without it
Near misses    an `info` append; a read that stops before the place; an acknowledgement inside the final read; an end offset
               that is too low before the final read. Where the final read is incomplete, what nobody missed is unknown
Level          an acknowledgement by the leader alone proves no more than level local; what was read was committed
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

import numpy as np

from checkers import words
from checkers.columns import FOREVER, NONE, POLL
from checkers.final_read import FinalRead
from checkers.finding import finding
from checkers.found import Checked, Flags, Found, Words
from checkers.heirs import Heirs
from checkers.lookers import NOBODY, leaps_of_polls, reads_that_span
from checkers.loss_class import loss_classes, write_epochs
from checkers.offices import UNKNOWN, Offices
from checkers.part import Part, Rows
from checkers.placing import Places
from checkers.vanished import vanished_reads
from model.verdict import Level, Witness

LEVELS: Final[tuple[Level, ...]] = get_args(Level)


def check_durability(part: Part, places: Places, final: FinalRead, offices: Offices = UNKNOWN) -> Checked:
    """`offices`: who led when, if it is known; it makes the loss class of more writes known."""
    found = (*lost_writes(part, places, final, offices), *vanished_reads(part, places, final, offices))
    undecided = "" if final.complete else f"final read incomplete: {part.at[0]}/{part.at[1]}: {final.reason}"
    counts = {"acknowledged": int((part.acked_by_all | part.acked_by_leader).sum()), "final_end": final.end}
    return Checked(name="durability", at=part.at, found=found, undecided=undecided, counts=counts)


# -- acknowledged, and gone ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Evidence:
    """For each of some appends the row that shows its absence first, and how; -1 = none."""

    row: Rows
    how: Words


def lost_writes(part: Part, places: Places, final: FinalRead, offices: Offices) -> tuple[Found, ...]:
    acked = np.flatnonzero(part.acked_by_all | part.acked_by_leader)
    acked = acked[part.offset[acked] >= NONE]  # what lies below the log start takes part in nothing
    suspects = acked[~_returned_where_it_counts(places, final)[acked]]
    if not len(suspects):
        return ()
    evidence = _earliest(part, _evidence(part, places, final, suspects))
    lost = evidence.row != NONE
    rows, shown, how = suspects[lost], evidence.row[lost], evidence.how[lost]
    epochs = write_epochs(rows, part, places, final, offices)
    classes = loss_classes(rows, epochs, part, final)
    gone = Heirs(part, final, offices).displaced(part.offset[rows], epochs, part.end[rows])
    found: list[Found] = []
    for level in LEVELS:
        chosen = (part.acks[rows] == -1) == (level == "committed")
        facts = {"evidence": how[chosen], "loss_class": classes[chosen], "write_epoch": epochs[chosen], "displaced": gone[chosen]}
        found += _lost(part, final, level, (rows[chosen], shown[chosen]), facts)
    return tuple(found)


def _lost(part: Part, final: FinalRead, level: Level, proof: tuple[Rows, Rows], facts: Mapping[str, Any]) -> tuple[Found, ...]:
    appends, shown = proof
    offset = part.offset[appends]

    def tell(i: int) -> Witness:
        row, at = int(appends[i]), int(offset[i])
        value = int(part.value[row])
        where = "" if at == NONE else f" at offset {part.shown(at)}"
        text = (
            f"{words.process(part, row)} appended {words.value(value)}; at {words.seconds(part.end[row])} it was acknowledged"
            f"{where} ({words.acks(part, row)}). {_absent(part, final, int(shown[i]), str(facts['evidence'][i]), at)}"
        )
        return words.witness(part, text, [row, int(shown[i])], offset=None if at == NONE else at, about=value)

    since = np.minimum(part.start[appends], part.offices.overtaken_ns(facts["write_epoch"]))
    since = np.where(facts["write_epoch"] == NONE, part.since[appends], since)
    times = {"from_ns": since, "to_ns": part.end[shown], "proof_ns": part.end[shown]}
    return finding(part, "lost_write", proof, tell, level, offset=offset, acked_ns=part.end[appends], **times, **facts)


def _absent(part: Part, final: FinalRead, row: int, evidence: str, at: int) -> str:
    if evidence == "final":
        span = f"{final.begin_ns / 10**9:.3f}-{words.seconds(final.end_ns)}"
        return f"The final read ({span}, complete to {part.shown(final.end)}) does not contain it."
    if evidence == "end":
        return (
            f"The end of the log was told to be {part.shown(int(part.offset[row]))} ({words.interval(part, row)}), after healing."
        )
    first, last = int(part.spans[0][row]), int(part.spans[1][row])
    if part.kind[row] == POLL and not first <= at <= last:
        return f"{words.process(part, row)}'s session went on at {part.shown(first)} ({words.interval(part, row)})."
    span = f"{part.shown(first)}-{part.shown(last)} ({words.interval(part, row)})"
    return f"{words.process(part, row)} read offsets {span} without it."


def _returned_where_it_counts(places: Places, final: FinalRead) -> Flags:
    """Appends that are not lost: in the final read; without a complete one, in any read."""
    return final.returned if final.complete else places.seen


def _evidence(part: Part, places: Places, final: FinalRead, suspects: Rows) -> list[_Evidence]:
    offset = part.offset[suspects]
    unseen = np.where(places.seen[suspects], np.int64(NONE), offset)  # absence across a read counts only of what nobody ever read
    lookers = reads_that_span(part, without=final.rows if final.complete else NOBODY)
    found = [
        _Evidence(lookers.first_across(unseen, part.end[suspects]), _word("across", suspects)),
        _Evidence(leaps_of_polls(part).first_across(unseen, part.end[suspects]), _word("across", suspects)),
        _Evidence(_too_short(part, final, suspects), _word("end", suspects)),
    ]
    if final.complete:
        before = part.end[suspects] < final.begin_ns
        found.append(_Evidence(np.where(before, final.covering(offset), np.int64(NONE)), _word("final", suspects)))
    return found


def _word(word: str, rows: Rows) -> Words:
    return np.full(len(rows), word, dtype=object)


def _too_short(part: Part, final: FinalRead, suspects: Rows) -> Rows:
    """The first final end offset, begun after the acknowledgement, that lies at or below the place.

    What the leader alone has is above the high watermark until the others have it: only a read to the end waited for them.
    """
    found = np.full(len(suspects), NONE, np.int64)
    countable = (part.offset[suspects] != NONE) & (part.acked_by_all[suspects] | final.complete)
    for row in final.told_ends[::-1]:
        below = (part.end[suspects] < part.start[row]) & (part.offset[row] <= part.offset[suspects])
        found[below & countable] = row
    return found


def _earliest(part: Part, several: list[_Evidence]) -> _Evidence:
    ends = np.array([np.where(each.row == NONE, np.int64(FOREVER), part.end[each.row]) for each in several])
    best = ends.argmin(axis=0)
    index = np.arange(len(best))
    rows, hows = np.array([each.row for each in several]), np.array([each.how for each in several], dtype=object)
    return _Evidence(rows[best, index], hows[best, index])
