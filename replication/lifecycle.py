"""replication/lifecycle.py: one broker's life among its controllers: registration, heartbeats, being let serve and let go
(section 4).

In     what the logs say about the stop before, images, answers of the active controller; the order to leave
Out    requests in one slot, one in flight (3.19); images to the broker once they know this process (4.10)
Keeps  4.14: partition states from before its own registration are never applied, only the newest image is
Not    logs and partitions (broker.py), who is fenced and why (controller/)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from replication.broker import Broker
from replication.directory import OnDone
from replication.env import NANOSECONDS
from replication.errors import Error
from replication.events import BrokerLifeChanged
from replication.identity import random_id
from replication.image import MetadataImage
from replication.lifecycle_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from replication.rules.life import BrokerLife

STARTING_BEAT_MS = 10  # 4.16
LEAVING_BEAT_MS = 50


class Endpoint(msgspec.Struct, frozen=True):
    """Where clients and other brokers reach it."""

    host: str = ""
    port: int = 0
    rack: str | None = None


class LifecycleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Section 11. The field is Kafka's name with underscores."""

    broker_heartbeat_interval_ms: int = 2_000
    broker_session_timeout_ms: int = 9_000
    initial_broker_registration_timeout_ms: int = 60_000
    controlled_shutdown_enable: bool = True
    log_dir_failure_timeout_ms: int = 30_000


class Lifecycle:
    """A broker, from its start to its orderly end."""

    def __init__(self, broker: Broker, cluster_id: str, endpoint: Endpoint, settings: LifecycleSettings) -> None:
        self.broker, self.cluster_id, self.endpoint, self.settings = broker, cluster_id, endpoint, settings
        self.env, self.rules, self.node_id = broker.state.env, broker.state.rules, broker.state.node_id
        self.life = BrokerLife.STARTING
        self.clean: bool | None = None
        """Whether the stop before this start was a clean one; None until the logs are open."""
        self.incarnation_id = random_id(self.env.random)  # 1.5, 1.13
        self.applied_offset = -1
        self._image: MetadataImage | None = None  # the newest, while nothing may be applied yet
        self._previous_epoch = -1
        self._registered = False
        self._unknown_since: int | None = None
        self._leave: OnDone | None = None
        self._hurries = False  # 4.16: the first answer while it leaves
        self._failures_told: tuple[bytes, ...] = ()
        broker.when_directory_fails = self._on_directory_failed

    def start(self) -> None:
        """Open the logs, then register; a broker that nobody registers in time ends (4.16)."""
        if self.life is BrokerLife.CLOSING:
            return  # it was told to stop before it had begun
        self.env.after(self.settings.initial_broker_registration_timeout_ms * NANOSECONDS, self._must_be_registered)
        self.broker.start(self._on_opened)

    @property
    def serves(self) -> bool:
        return self.rules.may_serve(self.life)

    # -- registration (4.2) -----------------------------------------------------------------------------------------------

    def _on_opened(self, previous_epoch: int) -> None:
        self._previous_epoch, self.clean = previous_epoch, previous_epoch >= 0
        self._register()

    def _register(self) -> None:
        if self.life is BrokerLife.CLOSING:
            return
        online = tuple(each.id for each in self.broker.replicas.directories if each.failed is None)
        endpoint = self.endpoint
        request = BrokerRegistrationRequest(
            broker_id=self.node_id,
            cluster_id=self.cluster_id,
            incarnation_id=self.incarnation_id,
            host=endpoint.host,
            port=endpoint.port,
            rack=endpoint.rack,
            log_dirs=online,
            previous_broker_epoch=self._previous_epoch,
        )
        self._send(request, self._on_registered)

    def _on_registered(self, answer: BrokerRegistrationResponse) -> None:
        if self.life is BrokerLife.CLOSING:
            return
        if answer.error_code is not Error.NONE:
            self.env.after(self.settings.broker_heartbeat_interval_ms * NANOSECONDS, self._register)
            return
        self._registered = True
        self.broker.registered(answer.broker_epoch)
        self._beat()

    def _must_be_registered(self) -> None:
        if not self._registered and self.life is not BrokerLife.CLOSING:
            self.env.halt("nobody registered it in time")

    # -- metadata (4.10, 4.14) --------------------------------------------------------------------------------------------

    def on_image(self, image: MetadataImage) -> None:
        """An image reaches the broker once it knows this process; what came before is kept back, the newest of it."""
        if self.life is BrokerLife.STARTING:
            self._image = image
            if not self.rules.may_apply(image, self.node_id, self.incarnation_id):
                return
            self._image = None
            if (known := image.brokers.get(self.node_id)) is not None:
                self.broker.registered(known.broker_epoch)  # the answer that says so may come later: nothing goes out without it
            self._become(BrokerLife.RECOVERY)
        self.applied_offset = image.offset
        self.broker.on_image(image)

    # -- heartbeats (4.6) -------------------------------------------------------------------------------------------------

    def _beat(self) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=self.node_id,
            broker_epoch=self.broker.state.broker_epoch,
            current_metadata_offset=self.applied_offset,
            want_fence=self.rules.wants_fence(self.life is not BrokerLife.STARTING),
            want_shut_down=self._leave is not None,
            offline_log_dirs=self._offline(),
        )
        self._send(request, lambda answer: self._on_beaten(request, answer))

    def _on_beaten(self, request: BrokerHeartbeatRequest, answer: BrokerHeartbeatResponse) -> None:
        if answer.error_code is Error.NONE:
            self._unknown_since = None
            self._failures_told = request.offline_log_dirs
            self._take(answer)
        elif answer.error_code is Error.STALE_BROKER_EPOCH:
            self._on_unknown()
        if self.life is not BrokerLife.CLOSING:
            self.env.after(self._pause_ms() * NANOSECONDS, self._beat)

    def _take(self, answer: BrokerHeartbeatResponse) -> None:
        if answer.should_shut_down and self._leave is not None:
            self._close()
        elif not answer.is_fenced and self.life is BrokerLife.RECOVERY:
            self._become(BrokerLife.RUNNING)
        if self._leave is not None and self.life is BrokerLife.RUNNING:
            self._hurries = True
            self._become(BrokerLife.LEAVING)

    def _pause_ms(self) -> int:
        """4.16"""
        if self.life is BrokerLife.STARTING:
            return STARTING_BEAT_MS
        hurries, self._hurries = self._hurries, False
        return LEAVING_BEAT_MS if hurries else self.settings.broker_heartbeat_interval_ms

    def _on_unknown(self) -> None:
        """4.17"""
        now = self.env.monotonic_ns()
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        if self.rules.must_exit_unknown(self._unknown_since, now, self.settings.broker_session_timeout_ms * NANOSECONDS):
            self.env.halt("its registration is gone")

    # -- the orderly end (4.5, 4.11) --------------------------------------------------------------------------------------

    def leave(self, then: OnDone) -> None:
        """Ask to be let go with the next heartbeat; `then` comes when everything is on disk. It may never come (4.20)."""
        self._leave = then
        self.broker.leaving = True
        if not self.settings.controlled_shutdown_enable or not self._registered:
            self._close()

    def _close(self) -> None:
        then = self._leave
        if self.life is not BrokerLife.CLOSING and then is not None:
            self._become(BrokerLife.CLOSING)
            self.broker.close(then)

    # -- failing directories (10.2) ---------------------------------------------------------------------------------------

    def _on_directory_failed(self) -> None:
        """The controllers learn of it with the next heartbeat; if they cannot be told in time, this process is of no use."""
        failed = self._offline()

        def must_be_told() -> None:
            if not set(failed) <= set(self._failures_told):
                self.env.halt("no controller can be told of a failed log directory")

        self.env.after(self.settings.log_dir_failure_timeout_ms * NANOSECONDS, must_be_told)

    def _offline(self) -> tuple[bytes, ...]:
        return tuple(each.id for each in self.broker.replicas.directories if each.failed is not None)

    # -- small words ------------------------------------------------------------------------------------------------------

    def _send(self, request: Any, then: Callable[[Any], None]) -> None:
        self.broker.channel.send("lifecycle", request, then)

    def _become(self, life: BrokerLife) -> None:
        was, self.life = self.life, life
        self.env.emit(BrokerLifeChanged(was=was.value, now=life.value, broker_epoch=self.broker.state.broker_epoch))
