"""A broker's life, against controllers whose answers a test writes (section 4)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec

from replication.broker import Broker
from replication.env import NANOSECONDS
from replication.errors import Error
from replication.image import BrokerRegistration, MetadataImage
from replication.lifecycle import Endpoint, Lifecycle, LifecycleSettings
from replication.lifecycle_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from replication.rules import Rules
from replication.rules.life import BrokerLife
from tests.replication.memory import MemoryDisk, MemoryEnv, World

CONTROLLER = 100
SETTINGS = LifecycleSettings(
    broker_heartbeat_interval_ms=200,
    broker_session_timeout_ms=1_000,
    initial_broker_registration_timeout_ms=3_000,
    log_dir_failure_timeout_ms=2_000,
)


class Stage:
    """One broker with two directories, and a controller that answers as it is told."""

    def __init__(self, rules: Rules | None = None) -> None:
        self.world = World()
        self.asked: list[Any] = []
        self.fenced = True
        self.registers = Error.NONE
        self.beats = Error.NONE
        self.lets_go = False
        controller = MemoryEnv(self.world, CONTROLLER, (), 1)
        controller.on_request = lambda request: controller.reply(request, self._answer(request.message))
        self.world.up[CONTROLLER] = controller
        self.disks = [MemoryDisk(self.world), MemoryDisk(self.world)]
        self.starts = 0
        self.start(rules or Rules())

    def start(self, rules: Rules) -> None:
        self.starts += 1
        env = MemoryEnv(self.world, 1, self.disks, self.starts)
        self.env, self.world.up[1] = env, env
        broker = Broker(1, env, rules, "c", {})
        self.life = Lifecycle(broker, "c", Endpoint("host", 9), SETTINGS)
        broker.on_controller(CONTROLLER)
        self.life.start()
        self.world.run()

    def _answer(self, message: Any) -> Any:
        self.asked.append((self.world.now_ns // NANOSECONDS, message))
        if isinstance(message, BrokerRegistrationRequest):
            return BrokerRegistrationResponse(self.registers, 7)
        return BrokerHeartbeatResponse(self.beats, is_fenced=self.fenced, should_shut_down=self.lets_go)

    def of(self, kind: type) -> list[Any]:
        return [message for _, message in self.asked if type(message) is kind]

    def image(self, *, known: bool, offset: int = 9) -> MetadataImage:
        registration = BrokerRegistration(broker_id=1, broker_epoch=7, incarnation_id=self.life.incarnation_id)
        older = msgspec.structs.replace(registration, broker_epoch=3, incarnation_id=b"o" * 16)
        return MetadataImage(offset=offset, brokers={1: registration if known else older})

    def served(self) -> None:
        self.life.on_image(self.image(known=True))
        self.fenced = False
        self.world.advance(250)
        assert self.life.life is BrokerLife.RUNNING


def test_a_broker_registers_until_it_is_taken_and_then_beats() -> None:
    """4.2, 4.16: every heartbeat interval; after that every 10 ms until it knows itself."""
    stage = Stage()
    assert [type(message) for _, message in stage.asked[:2]] == [BrokerRegistrationRequest, BrokerHeartbeatRequest]
    first = stage.of(BrokerRegistrationRequest)[0]
    assert (first.broker_id, first.cluster_id, first.host, first.port, first.previous_broker_epoch) == (1, "c", "host", 9, -1)
    assert len(set(first.log_dirs)) == 2
    stage.world.advance(100)
    assert len(stage.of(BrokerHeartbeatRequest)) >= 10
    assert all(beat.want_fence for beat in stage.of(BrokerHeartbeatRequest))


def test_a_refused_registration_is_tried_again_every_heartbeat_interval() -> None:
    """4.2, 4.16: the session of its earlier process may not be over."""
    stage = Stage()
    stage.env.halt("")
    stage.asked.clear()
    stage.registers = Error.DUPLICATE_BROKER_REGISTRATION
    stage.start(Rules())
    stage.world.advance(650)
    times = [at for at, message in stage.asked if isinstance(message, BrokerRegistrationRequest)]
    assert [later - earlier for earlier, later in pairwise(times)] == [200, 200, 200]
    assert stage.of(BrokerHeartbeatRequest) == []
    stage.registers = Error.NONE
    stage.world.advance(200)
    assert stage.of(BrokerHeartbeatRequest)


def test_a_broker_that_nobody_registers_in_time_ends() -> None:
    """4.16"""
    stage = Stage()
    stage.env.halt("")
    stage.registers = Error.DUPLICATE_BROKER_REGISTRATION
    stage.start(Rules())
    stage.world.advance(2_999)
    assert stage.env.alive
    stage.world.advance(2)
    assert stage.env.halted == "nobody registered it in time"


def test_metadata_from_before_its_registration_is_kept_back_and_the_newest_of_it_applied() -> None:
    """4.10, 4.14: an old image could make it leader again in the same leader epoch (B39)."""
    stage = Stage()
    stage.life.on_image(stage.image(known=False, offset=4))
    assert (stage.life.life, stage.life.broker.state.image.offset) == (BrokerLife.STARTING, -1)
    stage.life.on_image(stage.image(known=True, offset=9))
    assert (stage.life.life, stage.life.broker.state.image.offset) == (BrokerLife.RECOVERY, 9)
    stage.world.advance(20)
    last = stage.of(BrokerHeartbeatRequest)[-1]
    assert (last.want_fence, last.current_metadata_offset) == (False, 9)


class ActsAtOnce(Rules):
    def may_apply(self, image: MetadataImage, broker_id: int, incarnation_id: bytes) -> bool:
        return True


def test_with_the_wrong_rule_old_metadata_is_acted_upon() -> None:
    """B39: the switch that the right rule is."""
    stage = Stage(ActsAtOnce())
    stage.life.on_image(stage.image(known=False, offset=4))
    assert stage.life.broker.state.image.offset == 4


def test_a_broker_serves_once_it_is_unfenced_and_goes_on_when_it_is_fenced_later() -> None:
    """4.14: it does not know."""
    stage = Stage()
    assert not stage.life.serves
    stage.served()
    assert stage.life.serves
    stage.fenced = True
    stage.world.advance(1_000)
    assert stage.life.serves


def test_a_broker_whose_registration_is_gone_ends_after_a_session_of_such_answers() -> None:
    """4.17: and not because of one of them."""
    stage = Stage()
    stage.served()
    stage.beats = Error.STALE_BROKER_EPOCH
    stage.world.advance(900)
    stage.beats = Error.NONE
    stage.world.advance(300)
    stage.beats = Error.STALE_BROKER_EPOCH
    stage.world.advance(1_000)
    assert stage.env.alive
    stage.world.advance(400)
    assert stage.env.halted == "its registration is gone"


def test_a_broker_that_leaves_asks_until_it_is_let_go_and_marks_its_logs() -> None:
    """4.5, 4.11, 4.16: soon after the first answer, then as always; it goes on serving; the next start reads as clean."""
    stage = Stage()
    stage.served()
    gone: list[bool] = []
    stage.life.leave(lambda: gone.append(True))
    stage.asked.clear()
    stage.world.advance(700)
    times = [at for at, message in stage.asked if isinstance(message, BrokerHeartbeatRequest)]
    assert stage.of(BrokerHeartbeatRequest)[-1].want_shut_down
    assert [later - earlier for earlier, later in pairwise(times)] == [50, 200, 200]
    assert (gone, stage.life.life, stage.life.serves) == ([], BrokerLife.LEAVING, True)
    stage.lets_go = True
    stage.world.advance(250)
    assert (gone, stage.life.life) == ([True], BrokerLife.CLOSING)
    stage.env.halt("")
    stage.start(Rules())
    assert stage.of(BrokerRegistrationRequest)[-1].previous_broker_epoch == 7
    assert stage.life.clean is True


def test_a_broker_that_never_registered_leaves_at_once_and_its_mark_reads_as_unclean() -> None:
    """4.5"""
    stage = Stage()
    stage.env.halt("")
    stage.registers = Error.DUPLICATE_BROKER_REGISTRATION
    stage.start(Rules())
    gone: list[bool] = []
    stage.life.leave(lambda: gone.append(True))
    stage.world.run()
    assert gone == [True]
    stage.env.halt("")
    stage.start(Rules())
    assert stage.of(BrokerRegistrationRequest)[-1].previous_broker_epoch == -1


def test_a_failed_directory_is_told_with_the_next_heartbeat() -> None:
    """10.2: by its id; the other one goes on."""
    stage = Stage()
    stage.served()
    stage.disks[1].broken = msgspec.convert({"reason": "EIO"}, type=type(stage.disks[0].read("nowhere")))
    stage.life.broker.replicas.directories[1].paths()
    stage.world.advance(250)
    failed = stage.life.broker.replicas.directories[1].id
    assert stage.of(BrokerHeartbeatRequest)[-1].offline_log_dirs == (failed,)
    stage.world.advance(3_000)
    assert stage.env.alive


def test_a_failed_directory_of_which_nobody_can_be_told_ends_the_broker() -> None:
    """10.2: the controllers would go on counting on what lies there."""
    stage = Stage()
    stage.served()
    stage.world.up.pop(CONTROLLER)
    stage.disks[1].broken = msgspec.convert({"reason": "EIO"}, type=type(stage.disks[0].read("nowhere")))
    stage.life.broker.replicas.directories[1].paths()
    stage.world.advance(2_500)
    assert stage.env.halted == "no controller can be told of a failed log directory"


def test_a_broker_that_is_stopped_before_its_logs_are_open_leaves_them_as_they_were() -> None:
    """4.5, 5.5: no mark, no checkpoint, no registration; what the stop before has left is still what the next start finds."""
    stage = Stage()
    stage.served()
    stage.lets_go = True
    stage.life.leave(lambda: None)
    stage.world.advance(300)
    stage.env.halt("")
    before = [dict(disk.files) for disk in stage.disks]
    stage.asked.clear()
    stage.disks[0].held = []  # opening takes its time
    stage.start(Rules())
    gone: list[bool] = []
    stage.life.leave(lambda: gone.append(True))
    assert gone == [True]
    stage.disks[0].release()
    stage.world.advance(1_000)
    assert stage.asked == []
    assert stage.env.alive
    assert {path for disk in before for path in disk} - {path for disk in stage.disks for path in disk.files} <= {
        ".kafka_cleanshutdown"
    }


def test_nothing_goes_out_without_the_broker_epoch_even_if_metadata_is_quicker_than_the_answer() -> None:
    """5.13, 5.31: a fetch with epoch -1 would not be checked against the registration (B18)."""
    stage = Stage()
    stage.life.broker.state.broker_epoch = -1  # the answer is still on its way
    stage.life.on_image(stage.image(known=True))
    assert stage.life.broker.state.broker_epoch == 7
