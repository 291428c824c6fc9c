"""Writes the configuration as TOML: values in force, every key with its description, default and allowed values."""

from __future__ import annotations

import ast
import inspect
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
from msgspec.inspect import (
    BoolType,
    DictType,
    FloatType,
    IntType,
    LiteralType,
    Metadata,
    NoneType,
    StrType,
    StructType,
    Type,
    UnionType,
    VarTupleType,
    type_info,
)

from recollect.config import settings
from recollect.config.settings import DEFAULT_AGENT, Config
from recollect.units import DURATION_UNITS, parse_duration, parse_size

_SECONDS = {"s": 1, "seconds": 1, "days": DURATION_UNITS["d"]}
"""By the last word of a key: the seconds in what it counts."""


def tables_in(kind: Type) -> StructType | None:
    """Return the type of the tables in a list of tables, None for anything else."""
    item = plain(kind.item_type) if isinstance(kind, VarTupleType) else None
    return item if isinstance(item, StructType) else None


def bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else literal(key)


def literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's; only DEL is allowed bare in one and not in the other.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{bare(k)} = {literal(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, tuple):
        return "[" + ", ".join(literal(v) for v in value) + "]"
    return str(value)


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(bare(p) for p in path)


def shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def plain(info: Type) -> Type:
    """Return the type itself without its annotation, and without None if it is optional."""
    if isinstance(info, Metadata):
        return plain(info.type)
    if isinstance(info, UnionType) and len(kinds := kinds_of(info)) == 1:
        return kinds[0]
    return info


def kinds_of(union: UnionType) -> tuple[Type, ...]:
    """Return the possible types of a union: a number or a word."""
    return tuple(plain(kind) for kind in union.types if not isinstance(kind, NoneType))


def members(value: Any, info: Type) -> Iterator[tuple[str, Any, Type]]:
    """Give (key, value, type) of the known members of a table; those of a list of tables are numbered from 1."""
    if isinstance(info, StructType) and isinstance(value, dict):
        for field in info.fields:
            if field.encode_name in value:
                yield field.encode_name, value[field.encode_name], plain(field.type)
    elif isinstance(info, DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield key, item, plain(info.value_type)
    elif isinstance(value, list) and (table := tables_in(info)) is not None:
        for number, item in enumerate(value, 1):
            yield str(number), item, table


def with_unit(key: str, text: str) -> float | None:
    """Return the number that a key counts of a text with a unit, such as `4 GiB` or `6 w`; None for another text."""
    counted = key.rpartition("_")[2]
    try:
        number = parse_size(text) if counted == "bytes" else parse_duration(text) / _SECONDS[counted]
    except (ValueError, KeyError):
        return None
    return int(number) if number == int(number) else number


def allowed_at(key: str, info: Type) -> str:
    """Return the possible values of a key in words."""
    counted = key.rpartition("_")[2]
    example = "4 MiB" if counted == "bytes" else {1: "30 s", DURATION_UNITS["d"]: "6 w"}.get(_SECONDS.get(counted, 0))
    return allowed_in_words(info) + (f", or a text with a unit such as {literal(example)}" if example else "")


def allowed_in_words(info: Type) -> str:
    match info:
        case BoolType():
            return "true or false"
        case IntType(ge=low, le=high) | FloatType(ge=low, le=high):
            what = "a whole number" if isinstance(info, IntType) else "a number"
            return f"{what} from {low}" + (f" to {high}" if high is not None else "")
        case StrType(min_length=least):
            return "a string in quotes" + (", not empty" if least else "")
        case LiteralType(values=(only,)):
            return literal(only)
        case LiteralType(values=values):
            return "one of " + ", ".join(map(literal, values))
        case UnionType():
            return " or ".join(allowed_in_words(kind) for kind in kinds_of(info))
        case VarTupleType(item_type=item):
            return f"a list, each item {allowed_in_words(plain(item))}"
        case DictType(value_type=item):
            return f"a table, each value {allowed_in_words(plain(item))}"
        case StructType(fields=fields) if needed := [f"`{field.encode_name}`" for field in fields if field.required]:
            return f"a table with {', '.join(needed)}"
        case _:
            return "a table"


def config_reference() -> str:
    """Return every key as documented TOML with its default; loading it gives exactly the defaults."""
    head = "# Recollect's configuration. Every key is optional; the values shown are the defaults.\n"
    return head + "\n" + config_toml(Config(), with_docs=True)


def config_toml(config: Config, *, with_docs: bool = False) -> str:
    """Return a configuration as TOML that loads to the same value."""
    lines: list[str] = []
    for name, hint in get_type_hints(Config, include_extras=True).items():
        value = getattr(config, name)
        if lines:
            lines.append("")
        if with_docs:
            lines += _doc_lines(Config, name, hint)
        if isinstance(value, dict):
            if not value and with_docs:
                lines += _as_comments(_table(f"{name}.SLUG", DEFAULT_AGENT, with_docs))
            for key, entry in value.items():
                lines += ["", *_table(f"{name}.{bare(key)}", entry, with_docs)]
        else:
            lines += _table(name, value, with_docs)
    return "\n".join(lines).strip() + "\n"


def _table(name: str, value: msgspec.Struct, with_docs: bool) -> list[str]:
    """Return a table, then the tables in it. One that is not set is shown as comments, where there are any."""
    lines = [f"[{name}]"]
    inner: list[str] = []
    for key, hint in get_type_hints(type(value), include_extras=True).items():
        docs = _doc_lines(type(value), key, hint) if with_docs else []
        field = getattr(value, key)
        kind = plain(type_info(hint))
        tables = tables_in(kind)
        if tables is not None:
            inner += docs
            if not field and with_docs:
                inner += _as_comments(_listed(f"{name}.{key}", _example_of(tables), with_docs))
            for entry in field:
                inner += _listed(f"{name}.{key}", entry, with_docs)
        elif not isinstance(kind, StructType):
            lines += [*docs, f"{key} = {literal(field)}"]
        elif field is not None:
            inner += [*docs, *_table(f"{name}.{key}", field, with_docs)]
        elif with_docs:
            inner += [*docs, *_as_comments(_table(f"{name}.{key}", kind.cls(), with_docs))]
    return lines + inner


def _listed(name: str, value: msgspec.Struct, with_docs: bool) -> list[str]:
    """Return a table of a list of tables."""
    return [f"[[{name}]]", *_table(name, value, with_docs)[1:]]


def _example_of(kind: StructType) -> msgspec.Struct:
    """Return a table to show: its defaults, and an empty text for what must be given."""
    example: msgspec.Struct = kind.cls(**{field.name: "" for field in kind.fields if field.required})
    return example


def text_of(table: type, key: str) -> str:
    """Return what a key of a table does: the text below its field."""
    return setting_texts()[table.__name__].get(key, "")


@cache
def setting_texts() -> dict[str, dict[str, str]]:
    """Return the text of every key, by the name of its table's type."""
    found: dict[str, dict[str, str]] = {}
    for table in ast.parse(inspect.getsource(settings)).body:
        if isinstance(table, ast.ClassDef):
            texts = found[table.name] = {}
            for field, below in pairwise(table.body):
                match field, below:
                    case ast.AnnAssign(target=ast.Name(key)), ast.Expr(ast.Constant(str(text))):
                        texts[key] = " ".join(text.split())
    return found


def _as_comments(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"# {line}" for line in lines]


def _doc_lines(table: type, key: str, hint: Any) -> list[str]:
    """Return the comment lines of a field: its text, then what is allowed."""
    info = type_info(hint)
    text = text_of(table, key)
    inner = plain(info)
    is_table = isinstance(inner, StructType) or tables_in(inner) is not None
    if not is_table and not (isinstance(inner, DictType) and isinstance(inner.value_type, StructType)):
        text += f" Allowed: {allowed_at(key, inner)}."
    words, lines = text.split(), ["#"]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > 110:
            lines.append("#")
        lines[-1] += f" {word}"
    return lines


class ConfigEntry(msgspec.Struct, frozen=True):
    """One key. value, default: as TOML. origin: of the value. text: its effect; allowed: possible values."""

    key: str
    value: str
    default: str
    origin: Literal["file", "default"]
    text: str
    allowed: str


def listed_config(config: Config, path: Path | None) -> tuple[ConfigEntry, ...]:
    """Return every key. path: the file that the configuration was read from."""
    try:
        given = tomllib.loads(path.read_text("utf-8")) if path is not None else {}
    except (OSError, ValueError):  # it is gone since, or is being written: what is in force was read before
        given = {}
    return tuple(_entries((), config, Config(), given))


def _entries(
    path: tuple[str, ...], value: msgspec.Struct, default: msgspec.Struct, given: Mapping[str, Any]
) -> Iterator[ConfigEntry]:
    for key, hint in get_type_hints(type(value), include_extras=True).items():
        held, usual, said = getattr(value, key), getattr(default, key), given.get(key)
        table = said if isinstance(said, dict) else {}
        kind = plain(type_info(hint))
        where = (*path, bare(key))
        if isinstance(kind, StructType):
            if held is not None:
                yield from _entries(where, held, usual if usual is not None else kind.cls(), table)
        elif isinstance(held, dict) and not path:  # a table of tables, by name
            for name, entry in held.items():
                yield from _entries((*where, bare(name)), entry, DEFAULT_AGENT, table.get(name, {}))
        else:
            yield ConfigEntry(
                ".".join(where), _shown(held), _shown(usual), "file" if key in given else "default",
                text_of(type(value), key), "" if tables_in(kind) is not None else allowed_at(key, kind),
            )  # fmt: skip


def _shown(value: Any) -> str:
    return literal(_plain(msgspec.to_builtins(value)))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_plain(item) for item in value)
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, dict) else value
