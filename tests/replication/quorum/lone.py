"""tests/replication/quorum/lone.py: one member, whose counterparts are played by the test.

In     requests of others; answers to the member's own; a disk to hold or to lose
Out    what the member answers, asks and applies. Exceptions come out: they are what a test may wait for
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from replication.env import Failure
from replication.files import meta_properties_text
from replication.quorum.quorum import Quorum
from replication.quorum.settings import QuorumSettings
from replication.quorum_messages import (
    BeginQuorumEpochRequest,
    FetchSnapshotRequest,
    QuorumFetchRequest,
    QuorumFetchResponse,
    SnapshotId,
    VoteRequest,
    VoteResponse,
)
from replication.records import Decision, MetadataRecord
from replication.rules import Rules
from tests.replication.memory import MemoryDisk, MemoryEnv, World
from tests.replication.quorum.world import CLUSTER, directory_id, key_of, setting, words

T = TypeVar("T")
ME = 1


class Question:
    """A request of the member, which the test may answer."""

    def __init__(self, to: int, message: Any, then: Callable[[Any], None]) -> None:
        self.to, self.message, self._then = to, message, then
        self.answered = False

    def answer(self, answer: Any) -> None:
        assert not self.answered
        self.answered = True
        self._then(answer)


class ListeningEnv(MemoryEnv):
    """Keeps what is asked; times out as a world would."""

    def __init__(self, world: World, disk: MemoryDisk, starts: int) -> None:
        super().__init__(world, ME, [disk], starts)
        self.questions: list[Question] = []

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Callable[[Any], None]) -> None:
        assert channel == "raft"
        question = Question(to, message, lambda answer: then(answer) if self.alive else None)
        self.questions.append(question)
        if timeout_ns is not None:
            late = self.world.now_ns + timeout_ns
            self.world.at(late, lambda: None if question.answered else question.answer(Failure.TIMED_OUT))


class Machine:
    """Applies words."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.calls: list[str] = []

    def on_commit(self, decisions: Sequence[Decision]) -> None:
        self.calls.append("commit")
        for decision in decisions:
            self.words += words(decision.records)

    def on_snapshot(self, snapshot: SnapshotId, records: tuple[MetadataRecord, ...]) -> None:
        self.calls.append("snapshot")
        self.words = words(records)

    def on_active(self, epoch: int) -> None:
        self.calls.append(f"active {epoch}")

    def on_inactive(self) -> None:
        self.calls.append("inactive")

    def on_leader(self, leader_id: int | None, epoch: int) -> None:
        self.calls.append(f"leader {leader_id} in {epoch}")

    def snapshot(self) -> tuple[MetadataRecord, ...]:
        return tuple(setting(word) for word in self.words)


class Lone:
    """Member 1 of voters 1, 2 and 3, unless told otherwise."""

    def __init__(
        self,
        *,
        voters: Sequence[int] = (1, 2, 3),
        rules: Rules | None = None,
        settings: QuorumSettings | None = None,
        seed: int = 1,
    ) -> None:
        self.voters, self.rules, self.settings = tuple(voters), rules or Rules(), settings or QuorumSettings()
        self.world = World(seed)
        self.disk = MemoryDisk(self.world)
        identity = meta_properties_text(CLUSTER, ME, directory_id(ME))
        self.disk.files["meta.properties"] = bytearray(identity)
        self.disk.durable["meta.properties"] = identity
        self.starts = 0
        self.env: ListeningEnv
        self.quorum: Quorum
        self.machine: Machine

    def start(self) -> Lone:
        self.starts += 1
        self.env = ListeningEnv(self.world, self.disk, self.starts)
        self.machine = Machine()
        voters = tuple(key_of(voter) for voter in self.voters)
        self.quorum = Quorum(ME, CLUSTER, voters, self.env, self.rules, self.settings, self.machine)
        self.quorum.open(lambda: None)
        self.world.run()
        return self

    def restart(self, *, lossy: bool = False) -> Lone:
        self.env.alive = False
        if lossy:
            self.disk.held = None
            self.disk.lose_unsynced()
        elif self.disk.held is not None:
            self.disk.release()
        return self.start()

    # -- what others do -------------------------------------------------------------------------------------------------

    def ask(self, message: Any) -> list[Any]:
        """A request of somebody else; the list holds the answer once there is one."""
        answers: list[Any] = []

        class Asked:
            def __init__(self) -> None:
                self.message = message
                self.channel = "raft"
                self.answer = answers.append

        self.quorum.on_request(Asked())
        self.world.run()
        return answers

    def asked(self, kind: type[T]) -> list[Question]:
        """The member's open questions of one kind."""
        return [each for each in self.env.questions if isinstance(each.message, kind) and not each.answered]

    def answer(self, question: Question, answer: Any) -> None:
        question.answer(answer)
        self.world.run()

    def advance(self, ms: float) -> None:
        self.world.advance(ms)

    # -- ready-made parts -----------------------------------------------------------------------------------------------

    def vote(self, candidate: int, epoch: int, *, last_epoch: int = 0, last_offset: int = 0, pre_vote: bool = False) -> list[Any]:
        return self.ask(vote_request(candidate, epoch, last_epoch=last_epoch, last_offset=last_offset, pre_vote=pre_vote))

    def follow(self, leader: int, epoch: int) -> Lone:
        """What it asked before, nobody will answer."""
        self.env.questions = [each for each in self.env.questions if not isinstance(each.message, QuorumFetchRequest)]
        answers = self.ask(BeginQuorumEpochRequest(CLUSTER, key_of(ME), leader, epoch))
        assert answers[0].leader_id == leader, answers
        return self

    def fetched(self, *, records: bytes = b"", hw: int = -1, **more: Any) -> None:
        """The leader's answer to the open fetch."""
        question = self.asked(QuorumFetchRequest)[-1]
        epoch = question.message.current_leader_epoch
        self.answer(
            question, QuorumFetchResponse(leader_id=question.to, leader_epoch=epoch, records=records, high_watermark=hw, **more)
        )

    def elect(self) -> Lone:
        """Wait for the timeout, grant whatever is asked, and let the others fetch so that the office is safe."""
        for _ in range(2):
            while not self.asked(VoteRequest):
                self.advance(100)
            question = self.asked(VoteRequest)[-1]
            self.answer(question, VoteResponse(leader_epoch=question.message.replica_epoch, vote_granted=True))
        return self

    def fetch(
        self, replica: int, offset: int, *, last_epoch: int, hw: int = -1, wait_ms: int = 0, epoch: int | None = None
    ) -> list[Any]:
        return self.ask(fetch_request(replica, self.quorum.epoch if epoch is None else epoch, offset, last_epoch, hw, wait_ms))

    def append(self, *values: str) -> int | None:
        offset = self.quorum.append(self.quorum.epoch, [setting(value) for value in values])
        self.world.run()
        return offset


def vote_request(
    candidate: int, epoch: int, *, last_epoch: int = 0, last_offset: int = 0, pre_vote: bool = False, voter: int = ME
) -> VoteRequest:
    return VoteRequest(CLUSTER, key_of(voter), candidate, directory_id(candidate), epoch, last_epoch, last_offset, pre_vote)


def fetch_request(replica: int, epoch: int, offset: int, last_epoch: int, hw: int = -1, wait_ms: int = 0) -> QuorumFetchRequest:
    return QuorumFetchRequest(CLUSTER, replica, directory_id(replica), epoch, offset, last_epoch, wait_ms, 1_048_576, hw)


def chunk_request(replica: int, epoch: int, snapshot: SnapshotId, position: int, most: int = 1_048_576) -> FetchSnapshotRequest:
    return FetchSnapshotRequest(CLUSTER, replica, directory_id(replica), epoch, snapshot, position, most)
