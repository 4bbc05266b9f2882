"""Dataclasses from JSON: every field is there, no other is, and each is of the kind it is declared to be."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
LARGEST = 2**63
LONGEST_REASON = 200


def build(cls: type[T], values: Any) -> T:
    """A dataclass with these fields; ValueError says which one is wrong, without naming the file."""
    if not isinstance(values, dict):
        raise ValueError(f"{cls.__name__} must be a JSON object, got {shown(values)}")
    kinds: dict[str, Any] = _kinds(cls)  # type: ignore[arg-type]
    if wrong := sorted(map(str, set(kinds) ^ set(values))):
        state = "missing" if wrong[0] in kinds else "unknown"
        raise ValueError(f"its field {shown(wrong[0])} is {state}")
    for name, kind in kinds.items():
        if not fits(values[name], kind):
            raise ValueError(f"its field {name!r} is wrong, got {shown(values[name])}")
    return cls(**values)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a declared kind; true and false are no numbers, and numbers have at most 64 bits."""
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inside)
    if origin is Literal:
        return isinstance(value, str) and value in inside
    if origin is tuple:
        return isinstance(value, tuple | list) and all(fits(one, inside[0]) for one in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inside[0]) and fits(v, inside[1]) for k, v in value.items())
    if kind in (int, float):
        whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST
        return whole or (kind is float and isinstance(value, float))
    return value is None if kind is NoneType else isinstance(value, kind)


def shown(value: Any) -> str:
    """A value as far as a sentence has room for it."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def brief(error: object) -> str:
    """What an error says, as far as a sentence has room for it: some repeat the whole of a damaged value."""
    text = str(error)
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 3]}..."


@cache
def _kinds(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {one.name: hints[one.name] for one in fields(cls)}
