"""checkers/anomalies.py: from many instances to a few anomalies, each with the first of its witnesses (CHECKERS 7.2, 7.3).

In     what a checker found, what was promised about each instance, what happened meanwhile
Out    one `Anomaly` for each name, level, class, evidence, rule and cell, how many there are, at most three witnesses
Keeps  the earliest proof first, then the one with the fewest operations, then the least operation numbers. Only the first few of
       equally early proofs are told before that is decided: in the order of the history, so that nobody's order of rows matters
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from checkers.found import Found, Numbers, Words
from checkers.meanwhile import Meanwhile, between
from checkers.promises import LOSSES, Rulings
from checkers.signature import with_election
from model.verdict import Anomaly, Witness

MOST_WITNESSES: Final = 3
_TOLD: Final = 16
"""So many of a group are told in English at most, to choose the witnesses among them."""
_NOT_BETWEEN: Final = frozenset({"unavailable", "stuck"})
"""What these say of faults they say themselves."""


def anomalies_of(found: Found, rulings: Rulings, meanwhile: Meanwhile) -> Iterator[Anomaly]:
    """In order of the first proof of each."""
    loss = found.name in LOSSES
    classes, class_of = _coded(found.loss_class if loss else None, len(rulings.which))
    evidence, evidence_of = _coded(found.evidence if loss else None, len(rulings.which))
    rulings_of, ruling_of = np.unique(_same(rulings)[rulings.which], return_inverse=True)
    keys = (ruling_of * len(classes) + class_of) * len(evidence) + evidence_of
    for rows in _groups(keys, found.proof_ns):
        first = rows[0]
        ruling = rulings.of[int(rulings_of[ruling_of[first]])]
        yield Anomaly(
            name=found.name,
            level=found.level,
            count=_count(found, rows),
            loss_class=classes[class_of[first]],
            evidence=evidence[evidence_of[first]],
            rule=ruling.rule,
            cell=ruling.cell,
            witnesses=_first_witnesses(found, rows[:_TOLD], meanwhile),
        )


def _count(found: Found, rows: Numbers) -> int:
    """5.6: an offset that was seen to change again and again is one offset."""
    if found.name == "inconsistent_offset" and found.offset is not None:
        return len(np.unique(found.offset[rows]))
    return len(rows) if found.total is None else found.total


def _same(rulings: Rulings) -> Numbers:
    """Two rulings that say the same are one."""
    first = {ruling: i for i, ruling in reversed(list(enumerate(rulings.of)))}
    return np.array([first[ruling] for ruling in rulings.of], np.int64)


def _coded(words: Words | None, count: int) -> tuple[list[str | None], Numbers]:
    if words is None:
        return [None], np.zeros(count, np.int64)
    coded = pa.array(words.tolist(), pa.string()).dictionary_encode("encode")
    return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)


def _groups(keys: Numbers, proof_ns: Numbers) -> list[Numbers]:
    """The instances of each key, the earliest proof first; of equally early ones in the order in which they were found."""
    order = np.lexsort((np.arange(len(keys)), proof_ns, keys))
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    return sorted((group for group in groups if len(group)), key=lambda group: (int(proof_ns[group[0]]), int(group[0])))


def _first_witnesses(found: Found, rows: Numbers, meanwhile: Meanwhile) -> tuple[Witness, ...]:
    told = [(int(found.proof_ns[row]), _told(found.tell, int(row)), int(row)) for row in rows]
    told.sort(key=lambda each: (each[0], len(each[1].ops), each[1].ops))
    return tuple(_with_surroundings(found, witness, row, meanwhile) for _, witness, row in told[:MOST_WITNESSES])


def _told(tell: Callable[[int], Witness], row: int) -> Witness:
    """A witness that cannot be told must not hide what it would tell of."""
    try:
        return tell(row)
    except Exception as error:  # noqa: BLE001 - whatever it is, what was found is found
        return Witness(text=f"It was found, but telling it failed: {type(error).__name__}: {error}", ops=(), from_ns=0, to_ns=0)


def _with_surroundings(found: Found, witness: Witness, row: int, meanwhile: Meanwhile) -> Witness:
    from_ns, to_ns = int(found.from_ns[row]), int(found.to_ns[row])
    faults = meanwhile.faults(from_ns, to_ns)
    kind = meanwhile.last_election(found.at, from_ns, to_ns) if found.name in LOSSES else None
    return msgspec.structs.replace(
        witness,
        text=witness.text if found.name in _NOT_BETWEEN else witness.text + between(faults),
        faults=tuple(int(fault["event"]) for fault in faults),
        shape=with_election(witness.shape, kind),
    )
