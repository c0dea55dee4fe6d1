"""tests/replication/quorum/world.py: a quorum in one process, with a network and disks that take their time.

In     members to start, crash, stop, wipe; records to append; links to cut; time to pass
Out    what each member is and has applied; every event; a judge that listens all the while (judge.py)
Keeps  all chance comes from the world's seed. Messages of one connection may overtake each other only if the world is told so
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from replication.env import Done, Failure
from replication.files import meta_properties_text
from replication.quorum.election_state import Role
from replication.quorum.quorum import Quorum
from replication.quorum.settings import QuorumSettings
from replication.quorum_messages import SnapshotId, VoterKey
from replication.records import ConfigRecord, Decision, MetadataRecord
from replication.rules import Rules
from tests.replication.memory import MS, Arrived, MemoryDisk, MemoryEnv, World

CLUSTER = "tidemark-test"
VOTERS = (1, 2, 3)
BRISK = QuorumSettings(
    controller_quorum_election_timeout_ms=200,
    controller_quorum_fetch_timeout_ms=400,
    controller_quorum_election_backoff_max_ms=100,
    controller_quorum_request_timeout_ms=300,
    tidemark_quorum_fetch_wait_ms=100,
)


def directory_id(node_id: int, life: int = 0) -> bytes:
    return bytes([1, life, *[0] * 13, node_id])


def key_of(node_id: int) -> VoterKey:
    return VoterKey(node_id, directory_id(node_id))


def setting(value: str) -> ConfigRecord:
    """A record that carries one word."""
    return ConfigRecord("topic", "t", "word", value)


def words(records: Sequence[MetadataRecord]) -> list[str]:
    return [record.value or "" for record in records if isinstance(record, ConfigRecord)]


class SlowDisk(MemoryDisk):
    """Writes become durable after a while, those of one path in order. A killed process's writes still arrive."""

    def __init__(self, world: QuorumWorld, owner: Member) -> None:
        super().__init__(world)
        self.quorum_world, self.owner = world, owner
        self.life = 0
        self.power = 0
        self.stalled: str | None = None
        """Writes of files whose names end like this never become durable."""
        self._due: dict[str, int] = {}

    def sync(self, path: str, then: Done) -> None:
        content = bytes(self.files.get(path, b""))
        self._arrive(path, lambda: self._keep(path, content), then)

    def replace(self, path: str, data: bytes, then: Done) -> None:
        if self.broken is None:
            self.files[path] = bytearray(data)
        self._arrive(path, lambda: self._keep(path, data), then)

    def delete(self, path: str, then: Done) -> None:
        if self.broken is None:
            self.files.pop(path, None)
        self._arrive(path, lambda: self.durable.pop(path, None), then)

    def end_of_process(self, *, lossy: bool) -> None:
        self.life += 1
        if lossy:
            self.power += 1
            self.held = None if self.held is None else []
            self.lose_unsynced()

    def _arrive(self, path: str, keep: Callable[[], object], then: Done) -> None:
        world, life, power = self.quorum_world, self.life, self.power

        def durable() -> None:
            if power == self.power and self.broken is None:
                keep()
            if life == self.life:
                self.owner.env.guard(lambda: then(self.broken))

        def travel() -> None:
            self._due[path] = due = max(world.now_ns + world.disk_delay_ns(), self._due.get(path, 0))
            world.at(due, durable)

        if self.stalled is not None and path.endswith(self.stalled):
            return
        if self.held is None:
            travel()
        else:
            self.held.append(travel)


class Recorder:
    """A state machine that is its own history: every word, in order."""

    def __init__(self, world: QuorumWorld, node_id: int) -> None:
        self.world, self.node_id = world, node_id
        self.quorum: Quorum
        self.words: list[str] = []
        self.applied_end = 0
        self.active: int | None = None
        self.told: list[tuple[int | None, int]] = []

    def on_commit(self, decisions: Sequence[Decision]) -> None:
        for decision in decisions:
            assert decision.base_offset == self.applied_end, "a decision was skipped, or applied twice"
            self.applied_end = decision.last_offset + 1
            self.words += words(decision.records)
            self.world.judge.on_applied(self.node_id, decision)

    def on_snapshot(self, snapshot: SnapshotId, records: tuple[MetadataRecord, ...]) -> None:
        self.words, self.applied_end = words(records), snapshot.end_offset
        self.world.judge.on_loaded(self.node_id, snapshot, self.words)

    def on_active(self, epoch: int) -> None:
        assert self.active is None
        assert self.quorum.role is Role.LEADER
        self.active = epoch
        self.world.judge.on_active(self.node_id, self.applied_end)

    def on_inactive(self) -> None:
        assert self.active is not None
        self.active = None

    def on_leader(self, leader_id: int | None, epoch: int) -> None:
        assert not self.told or self.told[-1] != (leader_id, epoch)
        self.told.append((leader_id, epoch))

    def snapshot(self) -> tuple[MetadataRecord, ...]:
        return tuple(setting(word) for word in self.words)


class Member:
    """One node: its disk, which stays, and the process of the moment."""

    def __init__(self, world: QuorumWorld, node_id: int, rules: Rules, settings: QuorumSettings) -> None:
        self.world, self.node_id, self.rules, self.settings = world, node_id, rules, settings
        self.disk = SlowDisk(world, self)
        self.wipes = 0
        self.starts = 0
        self.crash_reason: Exception | None = None
        self.env: GuardedEnv
        self.quorum: Quorum
        self.machine: Recorder
        self.format()

    @property
    def up(self) -> bool:
        return self.node_id in self.world.up

    def format(self) -> None:
        identity = meta_properties_text(CLUSTER, self.node_id, directory_id(self.node_id, self.wipes))
        self.disk.files = {"meta.properties": bytearray(identity)}
        self.disk.durable = {"meta.properties": identity}

    def start(self) -> None:
        self.starts += 1
        self.env = GuardedEnv(self.world, self.node_id, [self.disk], self.starts, self)
        self.machine = Recorder(self.world, self.node_id)
        voters = tuple(key_of(voter) for voter in self.world.voters)
        quorum = Quorum(self.node_id, CLUSTER, voters, self.env, self.rules, self.settings, self.machine)
        self.quorum = self.machine.quorum = quorum
        self.env.on_request = quorum.on_request
        self.world.up[self.node_id] = self.env
        self.env.guard(lambda: quorum.open(lambda: None))

    def crash(self, *, lossy: bool = False) -> None:
        self.env.alive = False
        self.world.up.pop(self.node_id, None)
        for request in list(self.env.open_requests):
            request.answer(Failure.LOST)
        self.disk.end_of_process(lossy=lossy)

    def wipe(self) -> None:
        """2.42 The disk is replaced and formatted: another directory id."""
        self.disk.end_of_process(lossy=True)
        self.wipes += 1
        self.format()

    def stop(self) -> None:
        closed: list[bool] = []
        self.env.guard(lambda: self.quorum.close(lambda: closed.append(True)))
        self.world.advance(self.settings.controller_quorum_request_timeout_ms + 100)
        assert closed, "the quorum did not close"
        self.crash()

    def append(self, *values: str) -> int | None:
        """One decision, if this member leads."""
        offsets: list[int | None] = []
        records = [setting(value) for value in values]
        self.env.guard(lambda: offsets.append(self.quorum.append(self.quorum.epoch, records)))
        return offsets[0] if offsets else None


class GuardedEnv(MemoryEnv):
    """A process whose exceptions end it, and nobody else; a judge reads what it says."""

    def __init__(self, world: QuorumWorld, node_id: int, disks: Sequence[MemoryDisk], starts: int, member: Member) -> None:
        super().__init__(world, node_id, disks, starts)
        self.quorum_world, self.member = world, member

    def guard(self, call: Callable[[], object]) -> None:
        if not self.alive:
            return
        try:
            call()
        except Exception as error:  # noqa: BLE001  a member that raises has crashed, and only that member
            self.member.crash_reason = error
            self.member.crash()
            self.quorum_world.judge.on_crash(self.node_id, error)

    def deliver(self, request: Arrived) -> None:
        self.guard(lambda: self.on_request(request))

    def request(self, to: int, channel: str, message: Any, timeout_ns: int | None, then: Callable[[Any], None]) -> None:
        self.world.send(self, to, message, timeout_ns, lambda answer: self.guard(lambda: then(answer)))

    def after(self, ns: int, call: Callable[[], None]) -> None:
        assert ns >= 0
        self.world.at(self.world.now_ns + ns, lambda: self.guard(call))

    def reply(self, request: Any, answer: Any) -> None:
        self.quorum_world.judge.on_reply(self.node_id, request, answer)
        self.quorum_world.answer(request, answer)

    def emit(self, event: Any) -> None:
        super().emit(event)
        self.quorum_world.judge.on_event(self.node_id, event)


class QuorumWorld(World):
    """Voters and observers, and what lies between them."""

    def __init__(
        self,
        seed: int = 1,
        *,
        voters: Sequence[int] = VOTERS,
        observers: Sequence[int] = (),
        rules: Rules | None = None,
        settings: QuorumSettings = BRISK,
    ) -> None:
        super().__init__(seed)
        from tests.replication.quorum.judge import Judge

        self.voters = tuple(voters)
        self.chance = Random(seed)
        self.judge = Judge(self)
        self.message_delay_ms = (1.0, 1.0)
        self.sync_delay_ms = (0.5, 0.5)
        self.drop = self.repeat = 0.0
        self.members = {node: Member(self, node, rules or Rules(), settings) for node in (*self.voters, *observers)}

    def start(self) -> QuorumWorld:
        for member in self.members.values():
            member.start()
        self.run()
        return self

    # -- the network and the disks --------------------------------------------------------------------------------------

    def disk_delay_ns(self) -> int:
        return int(self.chance.uniform(*self.sync_delay_ms) * MS)

    def _latency_ns(self) -> int:
        return int(self.chance.uniform(*self.message_delay_ms) * MS)

    def send(
        self, sender: MemoryEnv | None, to: int, message: Any, timeout_ns: int | None, then: Callable[[Any], None]
    ) -> Arrived | None:
        receiver = self.up.get(to)
        source = sender.node_id if sender else -1
        if receiver is None:
            self.at(self.now_ns + self._latency_ns(), lambda: then(Failure.REFUSED))
            return None
        arrived = Arrived(self, message, sender, receiver, then)
        if timeout_ns is not None:
            self.at(self.now_ns + timeout_ns, lambda: arrived.answer(Failure.TIMED_OUT))
        receiver.open_requests[arrived] = None
        copies = 1 + (self.chance.random() < self.repeat)
        for _ in range(0 if self.chance.random() < self.drop else copies):
            self.at(self.now_ns + self._latency_ns(), lambda: self._arrive(arrived, source, to))
        return arrived

    def _arrive(self, arrived: Arrived, source: int, to: int) -> None:
        if (source, to) not in self.cut:
            arrived.receiver.deliver(arrived)

    def answer(self, request: Any, answer: Any) -> None:
        if self.chance.random() >= self.drop:
            self.at(self.now_ns + self._latency_ns(), lambda: request.answer(answer))

    def part(self, *sides: Sequence[int]) -> None:
        """Nothing passes between members of different sides."""
        for one in sides:
            for other in sides:
                if one is not other:
                    self.cut |= {(a, b) for a in one for b in other}

    def isolate(self, node: int) -> None:
        self.part((node,), tuple(other for other in self.members if other != node))

    # -- what it is -----------------------------------------------------------------------------------------------------

    def leaders(self) -> list[Member]:
        """All that believe to lead, the newest epoch first."""
        lead = [each for each in self.members.values() if each.up and each.quorum.role is Role.LEADER]
        return sorted(lead, key=lambda each: -each.quorum.epoch)

    def leader(self, within_ms: int = 10_000) -> Member:
        """Wait for a leader whose state machine is active."""
        self.until(lambda: any(each.machine.active is not None for each in self.leaders()), within_ms)
        return next(each for each in self.leaders() if each.machine.active is not None)

    def until(self, done: Callable[[], bool], within_ms: int = 10_000) -> None:
        for _ in range(within_ms // 10):
            if done():
                return
            self.advance(10)
        raise AssertionError(f"not within {within_ms} ms")

    def applied(self) -> dict[int, list[str]]:
        return {node: member.machine.words for node, member in self.members.items() if member.up}
