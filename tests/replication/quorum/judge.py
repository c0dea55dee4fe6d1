"""tests/replication/quorum/judge.py: the quorum invariants of BUGS.md (18 to 25), watched from outside.

In     what members apply, say and tell, as it happens; what their disks would keep
Out    `faults`: one sentence per broken promise, with its invariant's number first
Keeps  the one committed history that all members must have in common
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replication.batch import headers
from replication.events import QuorumHighWatermark, QuorumStateChanged
from replication.quorum.election_state import Role, read_election_state
from replication.quorum.snapshots import PATH, id_of_name
from replication.quorum_messages import SnapshotId, VoteResponse
from replication.records import Decision
from tests.replication.memory import MemoryDisk

if TYPE_CHECKING:
    from tests.replication.quorum.world import QuorumWorld


class Judge:
    """Who has seen everything."""

    def __init__(self, world: QuorumWorld) -> None:
        self.world = world
        self.faults: list[str] = []
        self.crashes: list[tuple[int, Exception]] = []
        self.history: dict[int, Decision] = {}
        """Every decision that anybody applied, by its first offset."""
        self.leaders: dict[int, int] = {}
        self.votes: dict[tuple[int, bytes, int], tuple[int, bytes]] = {}
        self.high_watermark = 0
        self.epochs: dict[tuple[int, int, int], int] = {}

    def accuse(self, invariant: int, text: str) -> None:
        self.faults.append(f"{invariant}: {text} at {self.world.now_ns} ns")

    # -- what happens ---------------------------------------------------------------------------------------------------

    def on_applied(self, node: int, decision: Decision) -> None:
        known = self.history.setdefault(decision.base_offset, decision)
        if known != decision:
            self.accuse(24, f"{node} applied {decision}, but {known} was committed there")

    def on_loaded(self, node: int, snapshot: SnapshotId, words: list[str]) -> None:
        from tests.replication.quorum.world import words as words_of

        before = [self.history[base] for base in sorted(self.history) if base < snapshot.end_offset]
        if before and before[-1].last_offset + 1 != snapshot.end_offset:
            self.accuse(25, f"{node} loaded {snapshot}, which ends inside of {before[-1]}, or beyond what was committed")
        if words != [word for decision in before for word in words_of(decision.records)]:
            self.accuse(24, f"{node} loaded {snapshot}, which holds other records than were committed")

    def on_active(self, node: int, applied_end: int) -> None:
        committed = max((each.last_offset + 1 for each in self.history.values()), default=0)
        if applied_end < committed:
            self.accuse(10, f"{node} is active, has applied {applied_end}, and {committed} is committed")

    def on_event(self, node: int, event: Any) -> None:
        if isinstance(event, QuorumStateChanged):
            self._on_state(node, event)
        elif isinstance(event, QuorumHighWatermark):
            self._on_high_watermark(node, event)

    def _on_state(self, node: int, event: QuorumStateChanged) -> None:
        if event.now == Role.LEADER.value and self.leaders.setdefault(event.quorum_epoch, node) != node:
            self.accuse(18, f"{node} and {self.leaders[event.quorum_epoch]} both lead epoch {event.quorum_epoch}")
        if event.now == Role.UNATTACHED.value and event.leader != -1:
            self.accuse(25, f"{node} is unattached and knows a leader")
        member = self.world.members[node]
        life = node, member.wipes, member.starts
        if self.epochs.setdefault(life, event.quorum_epoch) > event.quorum_epoch:
            self.accuse(19, f"{node} went back to epoch {event.quorum_epoch}")
        self.epochs[life] = event.quorum_epoch
        self._compare_state(node)

    def _compare_state(self, node: int) -> None:
        """19: what a member says it is, its disk says too."""
        member = self.world.members[node]
        state = member.quorum.member.state
        data = member.disk.durable.get(f"{PATH}/quorum-state")
        found = read_election_state(data) if data is not None else None
        if found is None:
            if state.epoch or state.voted:
                self.accuse(19, f"{node} is in epoch {state.epoch}, of which its disk knows nothing")
        elif found != state:
            self.accuse(19, f"{node} is {state}, its disk says {found}")
        elif found.voted is not None:
            self._note_vote(node, found.epoch, (found.voted.voter_id, found.voted.directory_id))

    def on_reply(self, node: int, request: Any, answer: Any) -> None:
        if isinstance(answer, VoteResponse) and answer.vote_granted and not request.message.pre_vote:
            asked = request.message
            self._note_vote(node, answer.leader_epoch, (asked.replica_id, asked.replica_directory_id))

    def _note_vote(self, node: int, epoch: int, candidate: tuple[int, bytes]) -> None:
        voter = node, self.world.members[node].quorum.member.key.directory_id, epoch
        if self.votes.setdefault(voter, candidate) != candidate:
            self.accuse(20, f"{node} voted for {candidate} and {self.votes[voter]} in epoch {epoch}")

    def _on_high_watermark(self, node: int, event: QuorumHighWatermark) -> None:
        newest = max(self.leaders, default=0)
        if event.quorum_epoch == newest and event.hw < self.high_watermark:
            self.accuse(21, f"{node} sees {event.hw} committed, but {self.high_watermark} was")
        self.high_watermark = max(self.high_watermark, event.hw)
        voters = [self.world.members[voter] for voter in self.world.voters]
        holding = [each.node_id for each in voters if each.wipes or durable_end(each.disk) >= event.hw]  # a wiped one did
        if len(holding) <= len(voters) // 2:
            self.accuse(22, f"{node} says that {event.hw} is committed, but only {holding} hold it durably")

    def on_crash(self, node: int, error: Exception) -> None:
        self.crashes.append((node, error))

    # -- now and then ---------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """25: what can be read of each member at any time."""
        for node, member in self.world.members.items():
            if member.up and not member.quorum.member.turnstile.closed:
                self._look_at(node)

    def _look_at(self, node: int) -> None:
        quorum = self.world.members[node].quorum
        log, snapshots = quorum.log, quorum.snapshots
        if log.log_start and log.log_start not in [snapshot.end_offset for snapshot in snapshots]:
            self.accuse(25, f"the log of {node} starts at {log.log_start}, where no snapshot ends: {snapshots}")
        if quorum.hw >= 0 and any(snapshot.end_offset > quorum.hw for snapshot in snapshots):
            self.accuse(25, f"{node} has a snapshot beyond {quorum.hw}: {snapshots}")
        if not log.log_start <= log.leo or quorum.hw > log.leo:
            self.accuse(25, f"{node} has a log from {log.log_start} to {log.leo}, of which {quorum.hw} is committed")
        if quorum.serving.waiting and quorum.role is not Role.LEADER:
            self.accuse(25, f"{node} keeps fetches waiting and does not lead")
        if quorum.role in (Role.PROSPECTIVE, Role.CANDIDATE, Role.LEADER, Role.RESIGNED) and not quorum.is_voter:
            self.accuse(25, f"{node} is {quorum.role} and no voter")


def durable_end(disk: MemoryDisk) -> int:
    """Up to where a power cut now would leave the metadata log, its newest snapshot counted."""
    names = [path.removeprefix(f"{PATH}/") for path in disk.durable if path.startswith(f"{PATH}/")]
    end = max((id_of_name(name).end_offset for name in names if name.endswith(".checkpoint")), default=0)
    for base in sorted(int(name.removesuffix(".log")) for name in names if name.endswith(".log")):
        for _, header in headers(disk.durable[f"{PATH}/{base:020d}.log"]):
            if header.base_offset <= end:
                end = max(end, header.end_offset)
    return end
