"""replication/rules/office.py: what an active controller may say, and what it forgets with its office (3.5, 3.10, 3.12)."""

from __future__ import annotations

from replication.image import MetadataImage


class OfficeRules:
    """A decision is only a decision once it is committed."""

    def may_answer(self, offset: int, committed: int) -> bool:
        """3.5 An answer tells of everything up to `offset`: before that is committed another controller may never know it
        (B47)."""
        return offset <= committed

    def may_decide(self, activation_offset: int, committed: int) -> bool:
        """3.12, 3.13 A new active controller decides nothing before what it wrote to take office is applied (B48)."""
        return activation_offset <= committed

    def believed(self, committed: MetadataImage, speculative: MetadataImage) -> MetadataImage:
        """3.5 Out of office, or with nothing outstanding: what is committed, and nothing that was merely decided (B47)."""
        del speculative
        return committed

    def must_write_no_op(self, last_write: int, now: int, idle_ns: int) -> bool:
        """3.10 Metadata that stands still cannot be told from metadata that does not arrive."""
        return now - last_write >= idle_ns
