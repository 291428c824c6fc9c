"""Lists every configuration key with its value and the origin of that value."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
from msgspec.inspect import StructType, type_info

from recollect.config.settings import DEFAULT_AGENT, Config
from recollect.config.toml import allowed_at, bare, literal, plain, tables_in, text_of


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
