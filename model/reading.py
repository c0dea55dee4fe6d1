"""model/reading.py: structs from documents and back, by their annotations alone.

In   a `Node` of model/document.py and the type it should have: structs, tuples, mappings, choices, and `Scalar` spellings
Out  `read`: the typed value, or one `Refusal` that names file, line, path, finding, what is allowed and the near miss
     `write`: plain data that `read` turns into an equal value again
Not  whether the values fit together (model/plan_checks.py)
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from model import quantity
from model.document import Node, plain, plain_scalar
from model.refusal import near_miss


@dataclass(frozen=True)
class Scalar:
    """How people write one kind of value. `parse` raises ValueError with a sentence when the text is not of that kind."""

    allowed: str
    parse: Callable[[str], Any]
    write: Callable[[Any], object]


def whole(low: int, high: int) -> Scalar:
    """A whole number in closed bounds, in plain decimal digits."""

    def parse(text: str) -> int:
        digits = text.removeprefix("-")
        if not digits.isascii() or not digits.isdigit():
            raise ValueError(f"not a whole number: {text!r}")
        if not low <= int(text) <= high:
            raise ValueError(f"{text} is out of range")
        return int(text)

    return Scalar(f"a whole number from {low} to {high}", parse, int)


def word(what: str, is_one: Callable[[str], object], allowed: str) -> Scalar:
    """Text of a certain form, such as the name of a topic."""

    def parse(text: str) -> str:
        if not is_one(text):
            raise ValueError(f"not {what}: {text!r}")
        return text

    return Scalar(allowed, parse, str)


def positive(parse: Callable[[str], int]) -> Callable[[str], int]:
    """The same spelling, but nothing at all is refused."""

    def checked(text: str) -> int:
        value = parse(text)
        if value == 0:
            raise ValueError(f"{text!r} is nothing at all")
        return value

    return checked


Duration = Annotated[int, Scalar("a duration such as 500ms, 30s, 8h", positive(quantity.parse_duration), quantity.write_duration)]
Moment = Annotated[int, Scalar("a time since the start, such as 0s, 500ms, 8h", quantity.parse_duration, quantity.write_duration)]
RateField = Annotated[quantity.Rate, Scalar("a rate such as 50/s, 600/m", quantity.parse_rate, quantity.write_rate)]


# -- reading ----------------------------------------------------------------------------------------------------------


def read(node: Node, kind: Any) -> Any:
    """The value at `node`, as `kind` says it must be."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _read_scalar(node, get_args(kind)[1])
    if origin in (Union, types.UnionType):
        return _read_union(node, get_args(kind))
    if origin is Literal:
        return _read_choice(node, get_args(kind))
    if origin is tuple:
        return _read_list(node, get_args(kind)[0])
    if origin is dict:
        return _read_mapping(node, *get_args(kind))
    if kind is object:
        return plain(node)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _read_struct(node, kind)
    return _read_simple(node, kind)


def _read_scalar(node: Node, scalar: Scalar) -> Any:
    _must_be_scalar(node, scalar.allowed)
    try:
        return scalar.parse(node.text or "")
    except ValueError as error:
        raise node.refuse(str(error), allowed=scalar.allowed) from None


def _read_simple(node: Node, kind: type) -> Any:
    allowed = {bool: "true or false", str: "text"}[kind]
    _must_be_scalar(node, allowed)
    if kind is str:
        return node.text
    value = plain_scalar(node)
    if not isinstance(value, bool):
        raise node.refuse(f"not true or false: {node.text!r}", allowed=allowed)
    return value


def _read_choice(node: Node, choices: tuple[Any, ...]) -> Any:
    names = [str(choice) for choice in choices]
    _must_be_scalar(node, ", ".join(names))
    if node.text not in names:
        problem = f"no such {node.path[-1] if node.path else 'word'}: {node.text!r}"
        raise node.refuse(problem, allowed=", ".join(names), meant=near_miss(node.text or "", names))
    return choices[names.index(node.text)]


def _read_list(node: Node, kind: Any) -> tuple[Any, ...]:
    if node.items is None:
        raise node.refuse(f"found {node.kind}", allowed="a list")
    return tuple(read(item, kind) for item in node.items)


def _read_mapping(node: Node, key_kind: Any, value_kind: Any) -> dict[str, Any]:
    if node.entries is None:
        raise node.refuse(f"found {node.kind}", allowed="a mapping, key: value")
    return {_read_key(value, key, key_kind): read(value, value_kind) for key, value in node.entries.items()}


def _read_key(node: Node, key: str, kind: Any) -> str:
    if get_origin(kind) is not Annotated:
        return key
    try:
        return str(get_args(kind)[1].parse(key))
    except ValueError as error:
        raise node.refuse(str(error), allowed=get_args(kind)[1].allowed) from None


def _read_struct(node: Node, kind: type[msgspec.Struct]) -> Any:
    if node.entries is None:
        raise node.refuse(f"found {node.kind}", allowed=f"a mapping with {', '.join(fields_of(kind))}")
    fields = fields_of(kind)
    check_keys(node, fields)
    given = {fields[key].name: read(value, fields[key].type) for key, value in node.entries.items()}
    for key, field in fields.items():
        if field.required and field.name not in given:
            raise node.refuse("this key is missing", key, allowed=describe(field.type))
    return kind(**given)


def check_keys(node: Node, known: Iterable[str]) -> None:
    """Every key of a mapping is a known one."""
    for key, value in (node.entries or {}).items():
        if key not in known:
            raise value.refuse(f"unknown key {key!r}", allowed=", ".join(known), meant=near_miss(key, known))


def field_names(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The keys that a struct has in a file."""
    return tuple(fields_of(kind))


def _read_union(node: Node, arms: tuple[Any, ...]) -> Any:
    if node.is_null and type(None) in arms:
        return None
    fitting = [arm for arm in arms if arm is not type(None) and _fits(node, arm)]
    if not fitting or node.is_null:
        allowed = "; or ".join(describe(arm) for arm in arms if arm is not type(None))
        raise node.refuse(f"found {node.kind}", allowed=allowed)
    return read(node, fitting[0])


def _fits(node: Node, arm: Any) -> bool:
    """Whether a node has the outer form of a type: which arm of a union the person was trying to write."""
    origin = get_origin(arm)
    if origin is tuple:
        return node.items is not None
    if origin is dict or (isinstance(arm, type) and issubclass(arm, msgspec.Struct)):
        return node.entries is not None
    return node.text is not None


def _must_be_scalar(node: Node, allowed: str) -> None:
    if node.text is None or node.is_null:
        several = node.items is not None and len(node.path) > 0
        meant = f"matrix: {{{'/'.join(map(str, node.path))}: [...]}}, if each value is to be a run" if several else ""
        raise node.refuse(f"found {node.kind}", allowed=allowed, meant=meant)


def describe(kind: Any) -> str:
    """What may be written for a type, in a few words."""
    origin = get_origin(kind)
    if origin is Annotated:
        return str(get_args(kind)[1].allowed)
    if origin is Literal:
        return ", ".join(str(choice) for choice in get_args(kind))
    if origin is tuple:
        return "a list"
    if origin in (Union, types.UnionType):
        return "; or ".join("nothing" if arm is type(None) else describe(arm) for arm in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return f"a mapping with {', '.join(fields_of(kind))}"
    return {bool: "true or false", str: "text"}.get(kind, "a mapping, key: value")


@dataclass(frozen=True)
class Field:
    name: str
    type: Any
    required: bool


@cache
def fields_of(kind: type[msgspec.Struct]) -> dict[str, Field]:
    """By the name that stands in the file: `for`, not `for_ns`."""
    hints = get_type_hints(kind, include_extras=True)
    return {f.encode_name: Field(f.name, hints[f.name], f.required) for f in msgspec.structs.fields(kind)}


# -- writing ----------------------------------------------------------------------------------------------------------


def write(value: Any, kind: Any) -> Any:
    """Plain data for YAML or JSON, every quantity in its one spelling."""
    origin = get_origin(kind)
    if value is None:
        return None
    if origin is Annotated:
        return get_args(kind)[1].write(value)
    if origin in (Union, types.UnionType):
        return write(value, _arm_of(value, get_args(kind)))
    if origin is tuple:
        return [write(item, get_args(kind)[0]) for item in value]
    if origin is dict:
        return {key: write(item, get_args(kind)[1]) for key, item in value.items()}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _write_struct(value, kind)
    return value


def _write_struct(value: msgspec.Struct, kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Every field, so that a printed plan hides no default; a struct of options that are mostly absent says `omit_defaults`."""
    defaults = _defaults(kind) if kind.__struct_config__.omit_defaults else {}
    return {
        key: write(getattr(value, field.name), field.type)
        for key, field in fields_of(kind).items()
        if field.name not in defaults or getattr(value, field.name) != defaults[field.name]
    }


@cache
def _defaults(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {
        f.name: f.default if f.default_factory is msgspec.NODEFAULT else f.default_factory()
        for f in msgspec.structs.fields(kind)
        if not f.required
    }


def _arm_of(value: Any, arms: tuple[Any, ...]) -> Any:
    if isinstance(value, tuple):
        return next(arm for arm in arms if get_origin(arm) is tuple)
    if isinstance(value, msgspec.Struct):
        struct = [arm for arm in arms if isinstance(arm, type) and isinstance(value, arm)]
        if struct:
            return struct[0]
    return next(arm for arm in arms if arm is not type(None) and get_origin(arm) is not tuple)
