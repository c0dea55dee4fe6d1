"""model/quantity.py: durations, sizes and rates as people write them.

In   `500ms`, `8h`, `1m30s`; `1MiB`, `64KB`; `50/s`, `100KiB/s`
Out  integer nanoseconds, integer bytes, a `Rate`; and back, always in the one shortest spelling
Bad  anything else raises ValueError with a sentence; who knows the file and the line adds them (model/reading.py)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

import msgspec

# Largest first: that is also the order in which a value is spelled.
TIME_UNITS: Mapping[str, int] = {
    "d": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
SIZE_UNITS: Mapping[str, int] = {
    "TiB": 2**40,
    "GiB": 2**30,
    "MiB": 2**20,
    "KiB": 2**10,
    "TB": 10**12,
    "GB": 10**9,
    "MB": 10**6,
    "KB": 10**3,
    "B": 1,
}
LARGEST = 2**63 - 1  # everything is stored in int64 columns

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([A-Za-zµ]+)")


def parse_duration(text: str) -> int:
    """`1m30s` -> 90_000_000_000."""
    if text.startswith("-"):
        raise ValueError(f"a duration cannot be negative: {text!r}")
    return _sum_of_parts(text, TIME_UNITS, "duration")


def write_duration(duration_ns: int) -> str:
    """The shortest spelling that loses nothing: 90_000_000_000 -> `90s`, 1_500_000_000 -> `1500ms`."""
    for unit, size in TIME_UNITS.items():
        if duration_ns % size == 0 and duration_ns >= size:
            return f"{duration_ns // size}{unit}"
    return "0s"


def parse_size(text: str) -> int:
    """`64KiB` -> 65_536."""
    if text.startswith("-"):
        raise ValueError(f"a size cannot be negative: {text!r}")
    return _sum_of_parts(text, SIZE_UNITS, "size")


def write_size(size: int) -> str:
    """Binary units where they fit, because that is how disks and buffers are cut."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if size % SIZE_UNITS[unit] == 0 and size >= SIZE_UNITS[unit]:
            return f"{size // SIZE_UNITS[unit]}{unit}"
    return f"{size}B"


def parse_bandwidth(text: str) -> int:
    """`100KiB/s` -> 102_400 bytes per second."""
    amount, slash, per = text.partition("/")
    if not slash or per != "s":
        raise ValueError(f"not a bandwidth: {text!r}")
    return parse_size(amount)


def write_bandwidth(bytes_per_second: int) -> str:
    return f"{write_size(bytes_per_second)}/s"


class Rate(msgspec.Struct, frozen=True, order=True):
    """So many operations per second, minute or hour; kept as written, so that no rounding creeps in."""

    count: int
    per: str

    @property
    def interval_ns(self) -> int:
        """Time between two operations, rounded down to a nanosecond."""
        return TIME_UNITS[self.per] // self.count


def parse_rate(text: str) -> Rate:
    """`50/s` -> Rate(50, "s")."""
    found = re.fullmatch(r"([0-9]+)/(s|m|h)", text)
    if not found or not 1 <= int(found.group(1)) <= 10**9:
        raise ValueError(f"not a rate: {text!r}")
    return Rate(int(found.group(1)), found.group(2))


def write_rate(rate: Rate) -> str:
    return f"{rate.count}/{rate.per}"


def _sum_of_parts(text: str, units: Mapping[str, int], what: str) -> int:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"not a {what}: {text!r}")
    total = Fraction(0)
    for number, unit in parts:
        if unit not in units:
            raise ValueError(f"no such unit {unit!r} in {text!r}")
        total += Fraction(number) * units[unit]
    if total.denominator != 1 or total > LARGEST:
        raise ValueError(f"{text!r} cannot be kept exactly")
    return int(total)
