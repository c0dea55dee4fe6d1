"""model/document.py: a YAML file that remembers where everything stood.

In   YAML text (safe subset: maps, lists, scalars; no tags, no code), or plain data that is already in memory
Out  a tree of `Node`, each with its file, line and path, so that a refusal can point at what it means
Not  what the keys mean (model/reading.py), nor whether the plan makes sense (model/plan_checks.py)

Scalars keep their text. What `on`, `1:30` or `010` mean is decided by the type that the reader expects, never by YAML's guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from model.refusal import Refusal

LARGEST_FILE = 16 * 2**20
MOST_NODES = 500_000  # also what stops a few lines of aliases from unfolding into gigabytes
DEEPEST = 40
LONGEST_NUMBER = 40

PLAIN_TAGS = frozenset(
    f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null", "map", "seq", "timestamp", "merge", "value")
)

Key = str | int


@dataclass(frozen=True)
class Node:
    """One place in a document: exactly one of text, items, entries is given."""

    file: str
    line: int | None
    path: tuple[Key, ...]
    text: str | None = None
    quoted: bool = False
    items: tuple[Node, ...] | None = None
    entries: Mapping[str, Node] | None = None

    @property
    def is_null(self) -> bool:
        return self.text is not None and not self.quoted and self.text in ("", "~", "null", "Null", "NULL")

    @property
    def kind(self) -> str:
        if self.is_null:
            return "nothing"
        if self.items is not None:
            return "a list"
        if self.entries is not None:
            return "a mapping"
        return "text" if self.quoted else "a value"

    def place(self, *more: Key) -> str:
        """`plans/nightly.yaml, line 41: schedule/3/target`."""
        at = self.descend(*more)
        parts = [at.file if at.line is None else f"{at.file}, line {at.line}"] if at.file else []
        # A place below what was written (a missing key) is still named in full.
        parts += [written_path(self.path + more)] if self.path + more else []
        return ": ".join(parts)

    def refuse(self, problem: str, *more: Key, allowed: str = "", meant: str = "") -> Refusal:
        """A refusal that points here, or at what lies below."""
        return Refusal(problem, where=self.place(*more), allowed=allowed, meant=meant)

    def descend(self, *more: Key) -> Node:
        """The node below, or the deepest one on the way that exists."""
        node = self
        for key in more:
            if node.entries is not None and key in node.entries:
                node = node.entries[str(key)]
            elif node.items is not None and isinstance(key, int) and key < len(node.items):
                node = node.items[key]
            else:
                break
        return node


def written_path(path: Sequence[Key]) -> str:
    """Paths are written with slashes, because Kafka's names have dots (DESIGN 11.4)."""
    return "/".join(str(key) for key in path)


def load(path: Path) -> Node:
    """Read a YAML file. Every way in which it cannot be read is a refusal."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise Refusal(f"cannot read it: {error.strerror}", where=str(path)) from None
    if len(raw) > LARGEST_FILE:
        raise Refusal(f"{len(raw):,} bytes are too many", where=str(path), allowed=f"up to {LARGEST_FILE:,} bytes")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(f"not UTF-8 text: byte {error.start} is 0x{raw[error.start]:02x}", where=str(path)) from None
    return parse(text, str(path))


def parse(text: str, file: str, *, lines: bool = True) -> Node:
    """The tree of one YAML document; without lines for text that never was in a file."""
    try:
        loader = yaml.CSafeLoader(text) if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader(text)
        root = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{file}, line {mark.line + 1}" if mark and lines else file
        raise Refusal(f"not YAML: {error.problem or error.context}", where=where) from None
    except yaml.YAMLError as error:  # a character YAML forbids
        raise Refusal(f"not YAML: {str(error).splitlines()[0]}", where=file) from None
    if root is None:
        raise Refusal("the file is empty", where=file, allowed="a mapping that begins with `tidemark: 1`")
    return _Converter(file, lines).convert(root, (), 0)


class _Converter:
    """yaml's nodes to ours, with the limits that keep hostile input small."""

    def __init__(self, file: str, lines: bool) -> None:
        self.file = file
        self.lines = lines
        self.seen = 0

    def convert(self, node: Any, path: tuple[Key, ...], depth: int) -> Node:
        self.seen += 1
        here = Node(self.file, self.line(node), path)
        if self.seen > MOST_NODES:
            raise here.refuse(f"more than {MOST_NODES:,} values", allowed="fewer; do aliases unfold into each other?")
        if depth > DEEPEST:
            raise here.refuse(f"nested deeper than {DEEPEST} levels", allowed="a flatter document")
        if node.tag not in PLAIN_TAGS:
            shown = node.tag.replace("tag:yaml.org,2002:", "!!")
            raise here.refuse(f"the tag {shown!r} is not accepted", allowed="plain maps, lists and values")
        if isinstance(node, yaml.ScalarNode):
            if len(node.value) > LONGEST_NUMBER and not node.value.strip("+-._0123456789"):
                raise here.refuse(f"a number of {len(node.value):,} digits", allowed=f"up to {LONGEST_NUMBER}")
            return replace(here, text=node.value, quoted=bool(node.style and node.style in "'\""))
        if isinstance(node, yaml.SequenceNode):
            items = tuple(self.convert(item, (*path, i), depth + 1) for i, item in enumerate(node.value))
            return replace(here, items=items)
        return self._mapping(node, here, depth)

    def line(self, node: Any) -> int | None:
        return node.start_mark.line + 1 if self.lines else None

    def _mapping(self, node: Any, here: Node, depth: int) -> Node:
        entries: dict[str, Node] = {}
        for key, value in node.value:
            line = self.line(key)
            if not isinstance(key, yaml.ScalarNode):
                raise replace(here, line=line).refuse("a key must be a word", allowed="key: value")
            if key.value in entries:
                again = Node(self.file, line, (*here.path, key.value))
                first = entries[key.value].line
                raise again.refuse(f"the key {key.value!r} stands here twice", allowed=f"once; it is on line {first} too")
            converted = self.convert(value, (*here.path, key.value), depth + 1)
            entries[key.value] = replace(converted, line=line)  # people look for the key, not for where its value begins
        return replace(here, entries=entries)


def from_data(value: object, file: str = "", path: tuple[Key, ...] = ()) -> Node:
    """The tree of plain data that never was a file (a stored plan, a default)."""
    here = Node(file, None, path)
    if isinstance(value, Mapping):
        return replace(here, entries={str(k): from_data(v, file, (*path, str(k))) for k, v in value.items()})
    if isinstance(value, list | tuple):
        return replace(here, items=tuple(from_data(v, file, (*path, i)) for i, v in enumerate(value)))
    if value is None:
        return replace(here, text="null")
    if isinstance(value, bool):
        return replace(here, text="true" if value else "false")
    return replace(here, text=str(value), quoted=isinstance(value, str))


def put(root: Node, path: Sequence[Key], value: Node) -> Node:
    """The same document with one place replaced; places on the way that do not exist yet are made."""
    if not path:
        return value
    key, rest = path[0], path[1:]
    if root.items is not None:
        return _put_item(root, key, rest, value)
    if root.entries is None and not root.is_null:
        raise value.refuse(f"{written_path(root.path)} is {root.kind}, so nothing can be set below it")
    entries = dict(root.entries or {})
    below = entries.get(str(key)) or Node(value.file, value.line, (*root.path, str(key)), entries={})
    entries[str(key)] = put(below, rest, value)
    return replace(root, text=None, entries=entries)


def _put_item(root: Node, key: Key, rest: Sequence[Key], value: Node) -> Node:
    items = list(root.items or ())
    index = int(key) if str(key).isascii() and str(key).isdigit() and len(str(key)) < 10 else -1
    if not 0 <= index < len(items):
        raise value.refuse(f"{written_path(root.path)} has no entry {key}", allowed=f"0 to {len(items) - 1}")
    items[index] = put(items[index], rest, value)
    return replace(root, items=tuple(items))


def moved(node: Node, path: tuple[Key, ...]) -> Node:
    """The same value as seen from another place: its file and line stay where a person wrote it."""
    if node.items is not None:
        return replace(node, path=path, items=tuple(moved(v, (*path, i)) for i, v in enumerate(node.items)))
    if node.entries is not None:
        return replace(node, path=path, entries={k: moved(v, (*path, k)) for k, v in node.entries.items()})
    return replace(node, path=path)


def plain(node: Node) -> Any:
    """The value without places: whole numbers and booleans only where they are spelled without doubt."""
    if node.items is not None:
        return [plain(item) for item in node.items]
    if node.entries is not None:
        return {key: plain(value) for key, value in node.entries.items()}
    return plain_scalar(node)


def plain_scalar(node: Node) -> bool | int | str | None:
    text = node.text or ""
    if node.is_null:
        return None
    if node.quoted:
        return text
    if text in ("true", "false"):
        return text == "true"
    # A fraction stays text: a float would be spelled otherwise when it is written again.
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else text
