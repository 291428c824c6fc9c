"""Reports unknown and unusable keys of a table, and parses values with units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.inspect import (
    BoolType,
    FloatType,
    IntType,
    LiteralType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from recollect.config.settings import Config
from recollect.config.toml import allowed_at, dotted, kinds_of, members, plain, shown, with_unit
from recollect.errors import ConfigError


def checked(table: dict[str, Any], where: str) -> Config:
    """Return the configuration of a table; `where` names the file. Raises ConfigError that names the key."""
    info = type_info(Config)
    for path, known in _unknown_keys(table, info, ()):
        import difflib

        near = tuple(difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5))
        guess = f"; did you mean `{dotted((*path[:-1], near[0]))}`?" if near else ""
        raise ConfigError(
            f"{where}: unknown key `{dotted(path)}`{guess}",
            key=dotted(path),
            allowed=known,
            hint=f"known here: {', '.join(known)}",
        )
    table = _in_numbers(table, info)
    try:
        return msgspec.convert(table, Config, strict=True)
    except msgspec.ValidationError as error:
        path, value, allowed = _wrong_value(table, info)
        but = "" if isinstance(value, dict) and allowed.startswith("a table") else f", not {shown(value)}"
        raise ConfigError(
            f"{where}: `{dotted(path)}` must be {allowed}{but}",
            key=dotted(path),
            allowed=(allowed,),
            hint="`recollect config --reference` shows every key with its default",
        ) from error


def _unknown_keys(value: Any, info: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Give the path of every unknown key with the keys that are known in its place."""
    if isinstance(info, StructType) and isinstance(value, dict):
        known = tuple(f.encode_name for f in info.fields)
        yield from (((*path, key), known) for key in value if key not in known)
    for key, item, kind in members(value, info):
        yield from _unknown_keys(item, kind, (*path, key))


def _in_numbers(value: Any, info: Type, key: str = "") -> Any:
    """Return a value in which each text with a unit is the number that its key counts, if that number is allowed."""
    if isinstance(value, dict):
        known = {name: kind for name, _, kind in members(value, info)}
        return {name: _in_numbers(item, known[name], name) if name in known else item for name, item in value.items()}
    if not isinstance(value, str) or _fits(value, info):
        return value
    number = with_unit(key, value)
    return number if number is not None and _fits(number, info) else value


def _wrong_value(value: Any, info: Type) -> tuple[tuple[str, ...], Any, str]:
    """Return (path, value, what is allowed) of the innermost part of a table that doesn't fit its type."""
    path: tuple[str, ...] = ()
    while True:
        for key, item, kind in members(value, info):
            if not _fits(item, kind):
                path, value, info = (*path, key), item, kind
                break
        else:
            return path, value, allowed_at(path[-1] if path else "", info)


def _fits(value: Any, info: Type) -> bool:
    match info:
        case BoolType():
            return isinstance(value, bool)
        case IntType(ge=low, le=high):
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and (low is None or value >= low) and (high is None or value <= high)
        case FloatType(ge=low, le=high):
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            return number and (low is None or value >= low) and (high is None or value <= high)
        case StrType(min_length=least):
            return isinstance(value, str) and len(value) >= (least or 0)
        case LiteralType(values=values):
            return value in values
        case UnionType():
            return any(_fits(value, kind) for kind in kinds_of(info))
        case VarTupleType(item_type=item):
            return isinstance(value, list) and all(_fits(v, plain(item)) for v in value)
        case StructType(fields=fields):
            whole = isinstance(value, dict) and all(field.encode_name in value for field in fields if field.required)
            return whole and all(_fits(v, kind) for _, v, kind in members(value, info))
        case _:
            return isinstance(value, dict) and all(_fits(v, kind) for _, v, kind in members(value, info))
