"""model/plan_file.py: from what a person wrote to a plan that can be run.

In   a plan file and overrides `path=value` from the command line; or plain data, such as a run's plan.json
Out  the document (for model/matrix.py to multiply), and from a document without a matrix the checked `Plan`
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from model import document
from model.document import Node
from model.plan import Plan, to_data
from model.plan_checks import check
from model.quick_reading import quick_reader
from model.reading import check_keys, field_names, read
from model.refusal import Refusal

# Sections whose default has more in it than the defaults of its fields.
DEFAULTS = {section: to_data(Plan(tidemark=1))[section] for section in ("topics", "config")}
FIRST_LINE = "a mapping that begins with `tidemark: 1`"


def load(path: Path, overrides: Sequence[str] = ()) -> Node:
    """The document of a plan file with its overrides in place, not yet checked."""
    root = document.load(path)
    if root.entries is None:
        raise root.refuse(f"found {root.kind}", allowed=FIRST_LINE)
    for override in overrides:
        root = apply_override(root, override)
    check_keys(root, (*field_names(Plan), "matrix"))
    return root


def apply_override(root: Node, override: str) -> Node:
    """`--set topics/t/config/min.insync.replicas=2`: one field of a plan, replaced."""
    written, equals, value = override.partition("=")
    path = tuple(written.split("/"))
    if not equals or "" in path:
        raise Refusal(f"not an override: {override!r}", where="--set", allowed="path=value, such as workload/acks=1")
    return replace_field(root, path, document.parse(value or "''", f"--set {override}", lines=False))


def replace_field(root: Node, path: tuple[str, ...], value: Node) -> Node:
    """One field of a plan, replaced; what the default plan says beside it stays, although nobody wrote it."""
    section = path[0]
    if section in DEFAULTS and len(path) > 1 and section not in (root.entries or {}):
        default = document.from_data(DEFAULTS[section], root.file, (section,))
        root = document.put(root, (section,), default)
    return document.put(root, path, document.moved(value, path))


def read_plan(node: Node) -> Plan:
    """The plan of a document without a matrix: typed, and checked against itself."""
    plan: Plan = read(node, Plan)
    check(plan, node)
    return plan


def from_data(data: object, file: str) -> Plan:
    """The plan of plain data; `file` is named when it is refused."""
    return read_plan(document.from_data(data, file))


def of_stored(data: bytes, file: str) -> Plan:
    """The plan of a run, quickly: it was checked before it ran. What cannot be read so is read slowly, which explains why."""
    try:
        plain = msgspec.json.decode(data)
    except ValueError as error:
        raise Refusal(f"not JSON: {error}", where=file) from None
    try:
        plan: Plan = quick_reader(Plan)(plain)
    except ValueError:
        return from_data(plain, file)
    return plan
