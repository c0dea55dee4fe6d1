"""nemesis/names.py: how nodes and client groups are written, and their numbers.

In   `n3`, `c1`: as plans write them
Out  3, -1: as model.cluster.Link counts them, client groups below zero; and back
"""

from __future__ import annotations

from model.cluster import Link, NodeId


def number(name: str) -> NodeId:
    """`n3` -> 3, `c1` -> -1."""
    return -int(name[1:]) if name.startswith("c") else int(name[1:])


def name(number: int) -> str:
    """3 -> `n3`, -1 -> `c1`."""
    return f"n{number}" if number > 0 else f"c{-number}"


def link_name(link: Link) -> str:
    """`c1>n3`: who dials whom."""
    return f"{name(link.dialer)}>{name(link.node)}"
