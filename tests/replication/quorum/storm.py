"""tests/replication/quorum/storm.py: random runs of a quorum: everything that may happen, in any order, and then calm.

In     a seed; which rules to play by; which kinds of trouble there are
Out    a world with its judge; after `calm_down` also whether everybody came together again
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec

from replication.quorum.settings import QuorumSettings
from replication.rules import Rules
from tests.replication.quorum.world import BRISK, Member, QuorumWorld

SMALL_FILES = msgspec.structs.replace(
    BRISK,
    metadata_log_segment_bytes=600,
    metadata_log_max_record_bytes_between_snapshots=800,
    metadata_max_retention_bytes=2_000,
    controller_quorum_fetch_max_bytes=700,
    controller_quorum_fetch_snapshot_max_bytes=100,
)


class Storm:
    """One random run, repeatable by its seed."""

    def __init__(
        self,
        seed: int,
        *,
        rules: Rules | None = None,
        voters: int = 3,
        wipes: bool = False,
        settings: QuorumSettings = SMALL_FILES,
    ) -> None:
        self.random = Random(seed)
        members = tuple(range(1, voters + 1))
        observers = (voters + 1,) if self.random.random() < 0.5 else ()
        self.world = QuorumWorld(seed, voters=members, observers=observers, rules=rules, settings=settings)
        self.members = list(self.world.members.values())
        self.wipes_left = 1 if wipes else 0
        self.written = 0
        self.came_together = False
        self.world.message_delay_ms = self.pick(((0.2, 2.0), (0.2, 30.0), (1.0, 150.0)))
        self.world.sync_delay_ms = self.pick(((0.2, 1.0), (0.5, 20.0), (1.0, 200.0)))
        self.world.drop = self.pick((0.0, 0.0, 0.02, 0.15))
        self.world.repeat = self.pick((0.0, 0.0, 0.1))

    def pick(self, among: Any) -> Any:
        return among[self.random.randrange(len(among))]

    def blow(self, least: int = 100, most: int = 300) -> None:
        self.world.start()
        self.world.advance(self.pick((0, 1_000)))
        kinds: list[Callable[[], None]] = [*[self.append] * 12, *[self.let_time_pass] * 12, *[self.restart, self.heal] * 2]
        kinds += [
            self.power_cut,
            self.cut,
            self.stop,
            self.hold_a_disk,
            *[self.release_disks] * 2,
            self.crash,
            self.crash_a_leader,
        ]
        kinds += [self.wipe] if self.wipes_left else []
        for _ in range(self.random.randint(least, most)):
            self.pick(kinds)()
            self.world.judge.look()
            if self.world.judge.faults:
                return

    # -- what happens ---------------------------------------------------------------------------------------------------

    def append(self) -> None:
        for leader in self.world.leaders():
            values = [f"w{self.written + number}" for number in range(self.pick((1, 1, 2, 5)))]
            self.written += len(values)
            leader.append(*values)

    def let_time_pass(self) -> None:
        self.world.advance(self.pick((1, 5, 20, 60, 200, 700)))

    def up(self) -> list[Member]:
        return [member for member in self.members if member.up]

    def crash(self) -> None:
        if self.up():
            self.pick(self.up()).crash(lossy=self.random.random() < 0.6)

    def crash_a_leader(self) -> None:
        if leaders := self.world.leaders():
            leaders[0].crash(lossy=self.random.random() < 0.6)

    def power_cut(self) -> None:
        """All of them at once, which a quorum must survive: what it promised is on disks."""
        if self.random.random() < 0.5:
            for member in self.members:
                if member.up:
                    member.crash(lossy=True)

    def restart(self) -> None:
        for member in self.members:
            if not member.up and self.random.random() < 0.7:
                member.start()

    def stop(self) -> None:
        if self.up():
            member = self.pick(self.up())
            if member.disk.held is None:
                member.env.guard(lambda: member.quorum.close(lambda: None))
                self.world.advance(self.pick((5, 100)))
                if member.up:
                    member.crash(lossy=self.random.random() < 0.5)

    def wipe(self) -> None:
        """2.42 One voter loses its disk: it is another member from now on, and the others are still a majority."""
        if self.wipes_left:
            self.wipes_left -= 1
            member = self.pick(self.members)
            if member.up:
                member.crash(lossy=True)
            member.wipe()

    def cut(self) -> None:
        nodes = [member.node_id for member in self.members]
        one = self.pick(nodes)
        if self.random.random() < 0.5:
            self.world.isolate(one)
        else:
            other = self.pick(nodes)
            self.world.cut |= {(one, other)} if self.random.random() < 0.5 else {(one, other), (other, one)}

    def heal(self) -> None:
        self.world.cut.clear()

    def hold_a_disk(self) -> None:
        disk = self.pick(self.members).disk
        if disk.held is None:
            disk.held = []

    def release_disks(self) -> None:
        for member in self.members:
            if member.disk.held is not None:
                member.disk.release()

    # -- and afterwards -------------------------------------------------------------------------------------------------

    def calm_down(self) -> bool:
        """Heal everything; whether a new record then reaches every member, and all have applied the same."""
        world = self.world
        world.drop = world.repeat = 0.0
        world.message_delay_ms = world.sync_delay_ms = (0.5, 1.5)
        world.cut.clear()
        self.release_disks()
        for _ in range(3):
            for member in self.members:
                if not member.up:
                    member.start()
            world.advance(2_000)
            for leader in world.leaders()[:1]:
                leader.append("last")
        world.advance(1_000)
        world.judge.look()
        told = [member.machine.words for member in self.members if member.up]
        return (
            len(told) == len(self.members) and bool(told[0]) and told[0][-1] == "last" and all(each == told[0] for each in told)
        )


def weather(seed: int, **how: Any) -> Storm:
    """A storm and the calm after it."""
    storm = Storm(seed, **how)
    storm.blow()
    storm.came_together = storm.calm_down()
    return storm


def complaint(storm: Storm) -> str | None:
    """What is wrong about a run, if anything."""
    judge = storm.world.judge
    if judge.faults:
        return judge.faults[0]
    if judge.crashes:
        return f"{judge.crashes[0][0]} crashed: {judge.crashes[0][1]!r}"
    return None if storm.came_together else "they did not come together again"
