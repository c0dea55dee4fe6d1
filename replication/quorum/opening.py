"""replication/quorum/opening.py: a member, found again after a stop, whatever the stop left of it (2.4, 2.34, 2.40, 2.43).

In     quorum-state, snapshots, segments of the metadata log
Out    the member's log and snapshots, and the state it goes on from, once all of that would survive a power cut
Keeps  the newest snapshot and what lies behind it. What lies below is in the snapshot: segments that a power cut brought back,
       or half of them, are of no use to anybody
Why    what is visible after a kill may not be durable yet: a vote or a record that is acted upon and then lost by a power cut
       would be a broken promise
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replication import files
from replication.barrier import Barrier
from replication.directory import OnDone
from replication.events import QuorumLogRecovered
from replication.loading import Checkpoints, load
from replication.quorum.election_state import ElectionState
from replication.quorum.member import Member
from replication.quorum.snapshots import PATH
from replication.quorum.transitions import STATE_FILE, STATE_PATH, Transitions

_INDEXES = (".index", ".timeindex")


def open_member(member: Member, transitions: Transitions, then: Callable[[ElectionState], None]) -> None:
    """Load everything; `then` gets what quorum-state said, once all is durable."""
    names = [path.removeprefix(f"{PATH}/") for path in member.directory.paths() if path.startswith(f"{PATH}/")]
    found = transitions.read() if STATE_FILE in names else ElectionState()
    durable = Barrier()
    found_all = durable.begin()
    member.directory.sync(files.META_PROPERTIES, durable.begin())
    if STATE_FILE in names:
        member.directory.sync(STATE_PATH, durable.begin())
    member.snapshots.find(names, durable.begin())
    durable.then(lambda: _open_log(member, names, lambda: then(found)))
    found_all()


def _open_log(member: Member, names: Sequence[str], then: OnDone) -> None:
    """Only now, since it deletes what the newest snapshot replaces."""
    _load_log(member, names)
    log = member.log
    log.settling.then(lambda: log.sync(then))


def _load_log(member: Member, names: Sequence[str]) -> None:
    """2.33, 2.34 Everything from the newest snapshot on, and nothing that contradicts it."""
    log, newest = member.log, member.snapshots.newest
    start = newest.end_offset if newest is not None else None
    needed = _needed(member, names, start or 0)
    known = Checkpoints(clean=False, recovery_point=0, log_start=start, hw=None)
    dropped = load(log, needed, known)
    if newest is not None:
        member.snapshots.keep_only((newest,))
        if not member.rules.keeps_log_behind(newest, log.leo, log.epoch_of(newest.end_offset)):
            log.restart_at(newest.end_offset)
    member.env.emit(
        QuorumLogRecovered(quorum_epoch=log.latest_epoch, log_start=log.log_start, leo=log.leo, dropped_bytes=dropped)
    )


def _needed(member: Member, names: Sequence[str], start: int) -> list[str]:
    """The log's own files, without the segments that lie wholly below `start`: those are deleted."""
    bases = sorted(int(name.removesuffix(".log")) for name in names if name.endswith(".log"))
    first = max((base for base in bases if base <= start), default=0)
    needed = []
    for name in names:
        stem, dot, kind = name.partition(".")
        if not stem.isdigit() or f"{dot}{kind}" not in (".log", *_INDEXES) or int(stem) >= first:
            needed.append(name)
        else:
            member.directory.delete(f"{PATH}/{name}")
    return needed
