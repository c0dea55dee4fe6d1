"""checkers/loss_class.py: which part of its leader epoch a lost write was in (CHECKERS 5.5).

In     lost writes, the final read with the leader epochs of what survived, who held office when
Out    of each its leader epoch, where that can be known, and suffix, prefix, middle, all or unclear
Why    truncation only cuts the end of an epoch, and an offset with its epoch fixes everything before it: so a loss inside an
       epoch, or at its beginning, is a bug under every configuration that spares the disks
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from checkers.columns import FOREVER, NONE
from checkers.final_read import FinalRead
from checkers.found import Numbers, Words
from checkers.offices import Offices
from checkers.part import Part, Rows
from checkers.placing import Places


def write_epochs(lost: Rows, part: Part, places: Places, final: FinalRead, offices: Offices) -> Numbers:
    """-1 where nobody can tell. Never by offset alone: a deposed leader acknowledges offsets that belong to the next epoch."""
    epochs = np.full(len(lost), NONE, np.int64)
    node, start, end = part.node[lost], part.start[lost], part.end[lost]
    for its_node, epoch, first_end, last_start in _sandwiches(part, places, final):
        between = (node == its_node) & (first_end < start) & (end < last_start)
        epochs[between] = epoch
    for its_node in np.unique(node[(epochs == NONE) & (node != NONE)]):
        led = sorted(office.at_ns for office in offices.held if office.leader == its_node)
        asked = np.flatnonzero((epochs == NONE) & (node == its_node))
        known = offices.only_epoch(int(its_node), led[0]) if led else None
        second = led[1] if len(led) > 1 else FOREVER
        if known is not None:  # until it led a second time
            epochs[asked[(end[asked] >= led[0]) & (end[asked] < second)]] = known
    epochs[part.maybe_known_already[lost]] = NONE  # who acknowledged it need not have written it
    return epochs


def _sandwiches(part: Part, places: Places, final: FinalRead) -> Iterator[tuple[int, int, int, int]]:
    """Of each node and leader epoch of survivors that the node acknowledged: the first end and the last start among them.

    It led in no earlier epoch than theirs by that end, and in no later one at that start, if it wrote what began then.
    """
    records = np.flatnonzero(final.of_record)
    epoch = part.record_epochs[records]
    writer = places.writers.find(part.records.value[records])
    known = (epoch != NONE) & (writer != NONE)
    epoch, writer = epoch[known], writer[known]
    acked = part.is_ok[writer] & (part.node[writer] != NONE)
    epoch, writer = epoch[acked], writer[acked]
    node = part.node[writer]
    for its_node, its_epoch in sorted({*zip(node.tolist(), epoch.tolist(), strict=True)}):
        same = writer[(node == its_node) & (epoch == its_epoch)]
        written = same[~part.maybe_known_already[same]]
        yield its_node, its_epoch, int(part.end[same].min()), int(part.start[written].max(initial=NONE))


def loss_classes(lost: Rows, epochs: Numbers, part: Part, final: FinalRead) -> Words:
    """What the final read shows above and below each lost write in its own epoch."""
    classes = np.full(len(lost), "unclear", dtype=object)
    if not final.complete:
        return classes
    if final.end == 0:
        classes[:] = "all"
        return classes
    offset = part.records.offset[final.of_record]
    epoch = part.record_epochs[final.of_record]
    for each in np.unique(epochs[epochs != NONE]):
        mine, survivors = np.flatnonzero(epochs == each), offset[epoch == each]
        at = part.offset[lost[mine]]
        above, below = at < survivors.max(initial=NONE), at > survivors.min(initial=FOREVER)
        classes[mine] = np.select([above & below, above], ["middle", "prefix"], "suffix")
    return classes
