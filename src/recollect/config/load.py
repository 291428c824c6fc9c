"""Reads `config.toml`. What it does not know or cannot use is a `ConfigError` that names the key."""

from __future__ import annotations

import math
import re
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

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

from recollect.config.sections import RetentionConfig
from recollect.config.settings import Config, PrivacyConfig
from recollect.config.toml import allowed_at, dotted, kinds_of, members, plain, shown, with_unit
from recollect.errors import ConfigError
from recollect.paths import config_file


def load_config(path: Path | None = None) -> Config:
    """Read a configuration file, by default the user's own. A missing file gives the defaults.

    Raises:
        ConfigError: unreadable, not TOML, an unknown key (the nearest known one is named) or a wrong value
            (`key` is its dotted path, `allowed` says what may stand there).
    """
    where = config_file() if path is None else path
    try:
        text = where.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where} is not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"cannot read {where}: {error.strerror or error}") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{where} is not valid TOML: {error}", hint="strings need quotes; see `recollect config --reference`"
        ) from error
    return parse_config(table, where=str(where))


def parse_config(table: dict[str, Any], *, where: str = "the configuration") -> Config:
    """Return the typed configuration of a decoded TOML table. Raises ConfigError; `where` names the file in it."""
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
        config = msgspec.convert(table, Config, strict=True)
    except msgspec.ValidationError as error:
        path, value, allowed = _wrong_value(table, info)
        but = "" if isinstance(value, dict) and allowed.startswith("a table") else f", not {shown(value)}"
        raise ConfigError(
            f"{where}: `{dotted(path)}` must be {allowed}{but}",
            key=dotted(path),
            allowed=(allowed,),
            hint="`recollect config --reference` shows every key with its default",
        ) from error
    _check_privacy(config.privacy, where)
    _check_retention(config.retention, where)
    return config


def _check_privacy(privacy: PrivacyConfig, where: str) -> None:
    """Refuse a pattern that cannot be used: a secret that is not found for a slip in its pattern stays in sight."""
    for number, entry in enumerate(privacy.patterns, 1):
        key = f"privacy.patterns.{number}"
        if not re.fullmatch(r"[a-z0-9_]{1,40}", entry.name):
            _refuse(where, f"{key}.name", "1 to 40 of lower-case letters, digits and `_`", entry.name)
        _check_expression(entry.pattern, where, f"{key}.pattern")
    for number, expression in enumerate(privacy.allow, 1):
        _check_expression(expression, where, f"privacy.allow.{number}")


def _check_retention(retention: RetentionConfig, where: str) -> None:
    soft, hard = retention.raw_soft_cap_bytes, retention.raw_hard_cap_bytes
    if hard < soft:
        _refuse(where, "retention.raw_hard_cap_bytes", f"at least `retention.raw_soft_cap_bytes` ({soft})", hard)


def _check_expression(expression: str, where: str, key: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python will read otherwise one day is not read by guess
            matches_nothing = re.compile(expression, re.ASCII).search("") is not None
    except (re.error, FutureWarning, OverflowError) as error:
        _refuse(where, key, f"a regular expression ({error})", expression)
    if matches_nothing:
        _refuse(where, key, "a regular expression that does not match the empty text", expression)


def _refuse(where: str, key: str, allowed: str, value: str | int) -> NoReturn:
    raise ConfigError(f"{where}: `{key}` must be {allowed}, not {shown(value)}", key=key, allowed=(allowed,))


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
