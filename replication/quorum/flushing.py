"""replication/quorum/flushing.py: making the metadata log durable, one sync at a time (2.26, 2.38).

In     wishes to have everything durable that is in the log now
Out    `on_durable` after each sync, when the log may vouch for more than before
Keeps  at most one sync in flight: what is appended meanwhile shares the next one
"""

from __future__ import annotations

from replication.directory import OnDone
from replication.log import Log
from replication.quorum.turnstile import Turnstile


class Flushing:
    """The syncs of one log."""

    def __init__(self, log: Log, turnstile: Turnstile, on_durable: OnDone) -> None:
        self.log = log
        self._tell: OnDone = lambda: turnstile.enter(on_durable)
        self._in_flight = False
        log.on_settled = self._on_settled

    @property
    def all_durable(self) -> bool:
        """Whether a power cut now would leave exactly this log: nothing less, and nothing that was cut."""
        return self.log.durable_end == self.log.leo and self.log.settling.quiet

    def start(self) -> None:
        if not self._in_flight and self.log.durable_end < self.log.leo:
            self._in_flight = True
            self.log.sync(self._on_synced)

    def _on_synced(self) -> None:
        self._in_flight = False
        self.start()
        self._tell()

    def _on_settled(self) -> None:
        if not self._in_flight:
            self._tell()
