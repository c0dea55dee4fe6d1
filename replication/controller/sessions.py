"""replication/controller/sessions.py: when each broker was last heard of, and what it said it has (4.2, 4.7, 4.11).

In     heartbeats; the registrations at the moment of taking office
Out    whose session is valid, whose is over; how far everybody's metadata is
Keeps  soft state of one tenure, on the monotonic clock (1.12): the next active controller starts every session afresh
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from replication.image import BrokerRegistration
from replication.rules import Rules

_NOTHING = -1


class Contact(msgspec.Struct):
    """The last heartbeat of one process."""

    broker_epoch: int
    heard_ns: int
    metadata_offset: int = _NOTHING
    shutdown_offset: int | None = None
    """4.11 Of the changes that its controlled shutdown made."""


class Sessions:
    """Contacts by broker id; a process that registers anew replaces the one before it."""

    def __init__(self, rules: Rules, session_ns: int, brokers: Mapping[int, BrokerRegistration], now: int) -> None:
        self.rules, self.session_ns = rules, session_ns
        self._contacts: dict[int, Contact] = {}
        for known in brokers.values():
            heard = rules.contact_at_office(known, now)
            if heard is not None:
                self._contacts[known.broker_id] = Contact(known.broker_epoch, heard)

    def contact(self, known: BrokerRegistration) -> Contact | None:
        found = self._contacts.get(known.broker_id)
        return found if found is not None and found.broker_epoch == known.broker_epoch else None

    def on_heartbeat(self, known: BrokerRegistration, metadata_offset: int, now: int) -> Contact:
        contact = self.contact(known)
        if contact is None:
            contact = self._contacts[known.broker_id] = Contact(known.broker_epoch, now)
        contact.heard_ns = now
        contact.metadata_offset = max(contact.metadata_offset, metadata_offset)
        return contact

    def is_valid(self, known: BrokerRegistration, now: int) -> bool:
        """4.2"""
        contact = self.contact(known)
        return self.rules.session_is_valid(None if contact is None else contact.heard_ns, now, self.session_ns)

    def silent_ns(self, known: BrokerRegistration, now: int) -> int:
        contact = self.contact(known)
        return 0 if contact is None else now - contact.heard_ns

    def expired(self, brokers: Mapping[int, BrokerRegistration], now: int) -> list[int]:
        """4.7 Unfenced brokers whose session is over, by id: the order does not depend on who was heard of first."""
        return [broker_id for broker_id, known in sorted(brokers.items()) if not known.fenced and not self.is_valid(known, now)]

    def lowest_reported(self, brokers: Mapping[int, BrokerRegistration]) -> int | None:
        """4.11 What every active broker has, at least; None where there is none. Who has not been heard of has nothing."""
        reported = [
            _NOTHING if (contact := self.contact(known)) is None else contact.metadata_offset
            for known in brokers.values()
            if known.active
        ]
        return min(reported, default=None)
