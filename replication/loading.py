"""replication/loading.py: a log, found again after a stop, whatever the stop left of it (5.5, 5.6, 5.42).

In     the files of one partition's directory, the checkpoints, and whether the stop was clean
Out    a `Log` that holds exactly the batches before the first one that cannot be trusted
Keeps  what was durable. The loss of an unflushed suffix is legal, a batch behind a broken one is not: nobody can tell what it
       followed
Epochs are taken from the batches, which carry them: a cache that is written apart from the log may have missed one, or name one
       whose records the stop took back
Limits base offset and leader epoch lie outside a batch's CRC: a wrong base offset shows as a gap, a wrong epoch does not show
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replication import files
from replication.batch import Header, crc_is_right, header_at, is_well_formed
from replication.log import Log
from replication.segment import Segment
from replication.state import Epochs


class Checkpoints(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a log besides its own files."""

    clean: bool
    recovery_point: int
    log_start: int | None
    hw: int | None


def load(log: Log, names: Sequence[str], known: Checkpoints) -> int:
    """Fill an empty `Log` from the files in its directory. Returns how many bytes had to be dropped."""
    bases = sorted(int(name.removesuffix(".log")) for name in names if name.endswith(".log"))
    dropped = 0
    for number, base in enumerate(bases):
        if number and base != log.leo:
            dropped += _drop(log, bases[number:])  # a gap
            break
        lost = _load_segment(log, base, known)
        if lost:
            dropped += lost + _drop(log, bases[number + 1 :])
            break
    _settle_bounds(log, known)
    if log.epochs != _read_epochs(log, names):
        log.directory.replace(f"{log.path}/{files.EPOCH_CHECKPOINT}", files.epochs_text(log.epochs))
    for segment in log.segments[:-1]:
        segment.seal()
    for segment in log.segments:
        _mend_indexes(log, segment, names)
    return dropped


def _load_segment(log: Log, base: int, known: Checkpoints) -> int:
    """Take up one segment. Returns how many bytes at its end were dropped."""
    segment = Segment(log.path, base)
    data = log.directory.read(segment.log_path) or b""
    position = 0
    while header := header_at(data, position):
        if header.base_offset != segment.end_offset or not is_well_formed(header):
            break
        if log.rules.must_check(known.clean, header.end_offset, known.recovery_point) and not crc_is_right(
            data, header, position
        ):
            break
        _take_up(log, segment, header, known)
        position += header.size
    segment.synced_size = segment.size if known.clean else -1
    log.segments.append(segment)
    log.leo = segment.end_offset
    if position < len(data):
        log.shorten(segment)
    return len(data) - position


def _take_up(log: Log, segment: Segment, header: Header, known: Checkpoints) -> None:
    """5.42, 6.11 What one batch tells about the log."""
    base, end = header.base_offset, header.end_offset
    segment.add(base, end, header.size, header.max_timestamp, log.settings.index_interval_bytes)
    if log.rules.assigns_at_load(log.epochs, header.partition_leader_epoch):
        log.epochs = log.rules.epochs_with(log.epochs, header.partition_leader_epoch, base)
    if header.producer_id >= 0 and end > (known.log_start or 0):
        entry = log.producers.get(header.producer_id)
        log.producers[header.producer_id] = log.rules.producer_after(entry, header, base)


def _drop(log: Log, bases: Sequence[int]) -> int:
    """Segments behind the first broken batch go, whatever they hold."""
    size = 0
    for base in bases:
        segment = Segment(log.path, base)
        size += len(log.directory.read(segment.log_path) or b"")
        log.delete(segment)
    return size


def _settle_bounds(log: Log, known: Checkpoints) -> None:
    """5.5, 5.6 Start, end, epochs and HW as far as the surviving batches carry them."""
    if not log.segments:
        log.add_segment(Segment(log.path, known.log_start or 0))
    log.leo = log.segments[-1].end_offset
    log.log_start = max(log.first_segment_base, known.log_start or 0)
    if log.log_start > log.leo:
        log.restart_at(log.log_start)
    log.durable_end = log.leo if known.clean else max(log.first_segment_base, min(known.recovery_point, log.leo))
    log.epochs = log.rules.epochs_below(log.rules.epochs_from(log.epochs, log.log_start), log.leo, log.leo)
    log.hw = log.rules.hw_at_load(known.hw, log.log_start, log.leo)
    log.distrust_recovery_point()
    log.counted_end = log.durable_end
    log.count_or_flush()  # 5.41: what the stop left unsynced counts as if it had just been appended


def _mend_indexes(log: Log, segment: Segment, names: Sequence[str]) -> None:
    """An index that is not what its segment says is written anew: it was torn, or lags behind."""
    wanted = (segment.index_path, bytes(segment.index)), (segment.time_index_path, bytes(segment.time_index))
    if any(path.rpartition("/")[2] not in names or log.directory.read(path) != content for path, content in wanted):
        log.rewrite_indexes(segment)
    segment.time_index_written = len(segment.time_index)


def _read_epochs(log: Log, names: Sequence[str]) -> Epochs | None:
    if files.EPOCH_CHECKPOINT not in names:
        return None
    data = log.directory.read(f"{log.path}/{files.EPOCH_CHECKPOINT}")
    return None if data is None else files.read_epochs(data)
