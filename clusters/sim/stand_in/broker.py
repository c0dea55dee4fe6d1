"""clusters/sim/stand_in/broker.py: a broker among played controllers: registration, heartbeats, images, the orderly end.

In     a `replication.broker.Broker` and the world it runs in
Out    requests to whichever controller answers as the active one; calls of `registered`, `on_image`, `on_controller`, `close`
Keeps  4.10: nothing is applied that is older than the broker's own registration, and nobody is served before it is let serve
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from clusters.sim.env import SimEnv
from clusters.sim.stand_in.messages import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ImageRequest,
)
from clusters.sim.stand_in.metadata import CLUSTER_ID
from replication.broker import Broker
from replication.env import NANOSECONDS, Failure
from replication.errors import Error
from replication.identity import random_id
from replication.image import MetadataImage
from replication.messages import Message
from replication.rules import Rules

SHUTDOWN_AGAIN_MS = 50
IMAGE_TIMEOUT_MS = 2_000


class StandInBroker:
    """A broker's process."""

    def __init__(self, env: SimEnv, rules: Rules, properties: Mapping[str, str], controllers: tuple[int, ...]) -> None:
        self.env = env
        self.broker = Broker(env.node_id, env, rules, CLUSTER_ID, properties)
        self.serving = False
        self.clean: bool | None = None  # whether the stop before this start was; None until it is known
        self._session_ns = int(properties["broker.session.timeout.ms"]) * NANOSECONDS
        self._heartbeat_ns = int(properties["broker.heartbeat.interval.ms"]) * NANOSECONDS
        self._incarnation = random_id(env.random)
        self._previous_epoch = -1
        self._controllers = controllers
        self._asks = 0  # which of them is asked next
        self._offset = -1
        self._stale_since: int | None = None
        self._leaving: Callable[[], None] | None = None
        self.broker.start(self._on_opened)

    def _ask(self, channel: str, message: Message, then: Callable[[Any], None], timeout_ns: int) -> None:
        """Ask the controller that was active last; the next one, if this one is not or says nothing."""
        controller = self._controllers[self._asks % len(self._controllers)]

        def answered(answer: Any) -> None:
            if isinstance(answer, Failure) or answer.error_code is Error.NOT_CONTROLLER:
                if self._controllers[self._asks % len(self._controllers)] == controller:
                    self._asks += 1
                then(None)
            else:
                self.broker.on_controller(controller)
                then(answer)

        self.env.request(controller, channel, message, timeout_ns, answered)

    # -- registration ---------------------------------------------------------------------------------------------------

    def _on_opened(self, previous_epoch: int) -> None:
        self._previous_epoch, self.clean = previous_epoch, previous_epoch >= 0
        self._register()

    def _register(self) -> None:
        message = BrokerRegistrationRequest(self.env.node_id, self._incarnation, self._previous_epoch)
        self._ask("lifecycle", message, self._on_registered, self._session_ns)

    def _on_registered(self, answer: Any) -> None:
        if answer is None or answer.error_code is not Error.NONE:
            self.env.after(self._heartbeat_ns, self._register)
            return
        self.broker.registered(answer.broker_epoch)
        self._fetch_image()
        self._heartbeat()

    # -- images ---------------------------------------------------------------------------------------------------------

    def _fetch_image(self) -> None:
        self._ask("raft", ImageRequest(self._offset), self._on_image, IMAGE_TIMEOUT_MS * NANOSECONDS)

    def _on_image(self, answer: Any) -> None:
        if answer is None:
            self.env.after(SHUTDOWN_AGAIN_MS * NANOSECONDS, self._fetch_image)
            return
        if answer.image is not None:
            self._take(answer.image)
        self._fetch_image()

    def _take(self, image: MetadataImage) -> None:
        mine = image.brokers.get(self.env.node_id)
        if mine is not None and mine.broker_epoch == self.broker.state.broker_epoch and image.offset > self._offset:
            self._offset = image.offset
            self.broker.on_image(image)

    # -- heartbeats -----------------------------------------------------------------------------------------------------

    def _heartbeat(self) -> None:
        leaving = self._leaving is not None
        message = BrokerHeartbeatRequest(self.env.node_id, self.broker.state.broker_epoch, self._offset, want_shut_down=leaving)
        self._ask("lifecycle", message, self._on_heartbeat, self._session_ns)

    def _on_heartbeat(self, answer: Any) -> None:
        pause_ns = self._heartbeat_ns
        if answer is not None and answer.error_code is Error.STALE_BROKER_EPOCH:
            self._on_stale()
        elif answer is not None:
            self._stale_since = None
            if answer.should_shut_down and self._leaving is not None:
                self.broker.close(self._leaving)
                return
            if not answer.is_fenced:
                self.serving = True
            if self._leaving is not None or not self.serving:
                pause_ns = SHUTDOWN_AGAIN_MS * NANOSECONDS
        self.env.after(pause_ns, self._heartbeat)

    def _on_stale(self) -> None:
        """4.17 Somebody else has this id now."""
        now = self.env.monotonic_ns()
        self._stale_since = now if self._stale_since is None else self._stale_since
        if now - self._stale_since >= self._session_ns:
            self.env.halt("its registration is gone")

    # -- the orderly end ------------------------------------------------------------------------------------------------

    def stop(self, then: Callable[[], None]) -> None:
        """4.11 Ask to be let go at the next heartbeat; a broker that was never let serve leads nothing."""
        self._leaving = then
