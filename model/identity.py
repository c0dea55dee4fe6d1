"""model/identity.py: which run is which (DESIGN 11.5).

Run i of a campaign has the number i, written with five digits or more, and a seed of its own, so that neighbouring campaign seeds
share no run. The tag of a run goes into every value it writes, so that left-over data of another run is recognised.
"""

from __future__ import annotations

import hashlib
import re

from model.refusal import Refusal
from model.value import LAST_TAG

_NAME = re.compile(r"(?!\.)[A-Za-z0-9._-]{1,100}")


def run_seed(campaign_seed: int, number: int) -> int:
    """The first 48 bits of SHA-256 of `seed:number`."""
    return int.from_bytes(hashlib.sha256(f"{campaign_seed}:{number}".encode()).digest()[:6], "big")


def run_tag(campaign: str, number: int) -> int:
    """The low 19 bits of SHA-256 of `campaign/number`."""
    return int.from_bytes(hashlib.sha256(run_id(campaign, number).encode()).digest(), "big") & LAST_TAG


def run_id(campaign: str, number: int) -> str:
    """`nightly/00412`."""
    return f"{campaign}/{written_number(number)}"


def written_number(number: int) -> str:
    return f"{number:05d}"


def check_campaign_name(name: str) -> str:
    """A campaign's name is a directory's name in every filesystem a store may live on."""
    if not _NAME.fullmatch(name):
        allowed = "letters, digits, dots, dashes, underscores; up to 100, not a dot first"
        raise Refusal(f"not a campaign name: {name!r}", allowed=allowed)
    return name
