"""model/quick_reading.py: structs from plain data that was read strictly once already, such as the plan of a stored run.

In     a type as model/reading.py knows it; data out of JSON
Out    `quick_reader`: a function that gives exactly what `reading.read` gives, some ten times quicker, or raises `NotPlain`
Not    what is wrong with the data, nor where: whoever wants that sentence reads once more, slowly
Why    the analysis of ten thousand runs reads ten thousand plans
"""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from model.reading import Scalar, fields_of

Reader = Callable[[Any], Any]


class NotPlain(ValueError):
    """Not what the type wants."""


@cache
def quick_reader(kind: Any) -> Reader:
    """The reader of one type, put together once."""
    origin = get_origin(kind)
    if origin is Annotated:
        return _scalar(get_args(kind)[1])
    if origin in (Union, types.UnionType):
        return _union(get_args(kind))
    if origin is Literal:
        return _choice({_text(choice): choice for choice in get_args(kind)})
    if origin is tuple:
        return _list(quick_reader(get_args(kind)[0]))
    if origin is dict:
        return _mapping(*get_args(kind))
    if kind is object:
        return _anything
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return _struct(kind)
    return {str: _text, bool: _truth}[kind]


def _text(value: Any) -> str:
    """How a scalar is spelled."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, dict | list):
        raise NotPlain(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise NotPlain(value)
    return value


def _anything(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _anything(below) for key, below in value.items()}
    if isinstance(value, list):
        return [_anything(below) for below in value]
    if isinstance(value, float):
        raise NotPlain(value)  # a fraction is spelled in a way of its own
    return value


def _scalar(scalar: Scalar) -> Reader:
    parse = lru_cache(maxsize=4096)(scalar.parse)
    return lambda value: parse(_text(value))


def _choice(choices: dict[str, Any]) -> Reader:
    def read(value: Any) -> Any:
        text = _text(value)
        if text not in choices:
            raise NotPlain(value)
        return choices[text]

    return read


def _union(arms: tuple[Any, ...]) -> Reader:
    """The first arm that has the outer form of the value."""
    readers = {form: quick_reader(arm) for arm in reversed(arms) if (form := _form_of_type(arm)) is not type(None)}
    optional = type(None) in arms

    def read(value: Any) -> Any:
        if value is None and optional:
            return None
        arm = readers.get(dict if isinstance(value, dict) else list if isinstance(value, list) else str)
        if arm is None or value is None:
            raise NotPlain(value)
        return arm(value)

    return read


def _form_of_type(arm: Any) -> type:
    origin = get_origin(arm)
    if origin is tuple:
        return list
    if origin is dict or (isinstance(arm, type) and issubclass(arm, msgspec.Struct)):
        return dict
    return type(None) if arm is type(None) else str


def _list(entry: Reader) -> Reader:
    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise NotPlain(value)
        return tuple([entry(below) for below in value])

    return read


def _mapping(key_kind: Any, value_kind: Any) -> Reader:
    key_of: Reader = _scalar(get_args(key_kind)[1]) if get_origin(key_kind) is Annotated else _text
    value_of = quick_reader(value_kind)

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise NotPlain(value)
        return {key_of(key): value_of(below) for key, below in value.items()}

    return read


def _struct(kind: type[msgspec.Struct]) -> Reader:
    fields = fields_of(kind)
    readers = {key: (field.name, quick_reader(field.type)) for key, field in fields.items()}
    required = {key for key, field in fields.items() if field.required}

    def read(value: Any) -> Any:
        if not isinstance(value, dict) or not required <= value.keys() <= readers.keys():
            raise NotPlain(value)
        given = {}
        for key, below in value.items():
            name, reader = readers[key]
            given[name] = reader(below)
        return kind(**given)

    return read
