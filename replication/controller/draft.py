"""replication/controller/draft.py: one decision in the making: records, and the metadata as they will leave it (3.5, 3.6).

In     the image before, and the offset that the next record of the log gets
Out    records for one atomic batch; the image after each of them, on which the next one is decided; what to tell about it
Keeps  a draft that is dropped has changed nothing
"""

from __future__ import annotations

import msgspec

from replication.events import Event
from replication.folding import with_record
from replication.image import MetadataImage
from replication.records import MetadataRecord


class Draft:
    """Grows record by record."""

    def __init__(self, image: MetadataImage, base_offset: int) -> None:
        self.image, self.base_offset = image, base_offset
        self.records: list[MetadataRecord] = []
        self.events: list[Event] = []

    @property
    def next_offset(self) -> int:
        """1.4 Where the next record will lie: a registration is named by it."""
        return self.base_offset + len(self.records)

    @property
    def last_offset(self) -> int:
        return self.next_offset - 1

    def add(self, record: MetadataRecord) -> None:
        self.image = with_record(self.image, record)
        self.records.append(record)

    def tell(self, event: Event) -> None:
        """Something to emit once the batch is in the log."""
        self.events.append(event)

    def sealed(self, epoch: int) -> MetadataImage:
        """The image with the whole batch in it, as `folding.fold` gives it."""
        return msgspec.structs.replace(self.image, offset=self.last_offset, epoch=epoch)
