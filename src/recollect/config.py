"""The configuration: one typed structure, and the only reader and writer of `config.toml`.

Every field carries its own text, from which the reference (`config_reference`, docs/configuration.md) is made.
An unknown key or a wrong value is a `ConfigError` that names the key; nothing is silently ignored.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec import Meta
from msgspec.inspect import (
    BoolType,
    DictType,
    IntType,
    Metadata,
    StrType,
    StructType,
    Type,
    VarTupleType,
    type_info,
)

from recollect.errors import ConfigError
from recollect.paths import config_file

KIB = 1024
MIB = 1024 * KIB


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of one agent."""

    enabled: Annotated[
        bool, Meta(description="Whether this agent's sessions are taken in. Off keeps what is stored.")
    ] = True
    roots: Annotated[
        tuple[str, ...],
        Meta(
            description="Further folders to read beside the agent's own: another home of the agent (a mounted volume, "
            "another account) or any folder of its transcripts. `~` and `$NAME` are expanded. "
            "Example: ['~/.codex-work', '/mnt/laptop/home/me/.codex']."
        ),
    ] = ()
    variables: Annotated[
        dict[str, str],
        Meta(
            description="Values that replace the agent's own environment variables, such as the one that names its "
            "home. `~` and `$NAME` are expanded. Example: { CODEX_HOME = '$HOME/work/.codex' }."
        ),
    ] = {}


class ReposConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How repositories are grouped."""

    domains: Annotated[
        dict[str, str],
        Meta(
            description="The domain of a repository, by its name; sessions carry both. Example: { shop-api = 'shop' }."
        ),
    ] = {}


class SearchConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Defaults of searching."""

    limit: Annotated[int, Meta(ge=1, le=1000, description="Hits shown where a search names no limit (hits).")] = 10


class IngestConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How sources are taken in."""

    workers: Annotated[
        int, Meta(ge=0, le=256, description="Worker processes that parse and redact (processes). 0: one per core.")
    ] = 0
    slice_bytes: Annotated[
        int,
        Meta(
            ge=64 * KIB,
            le=64 * MIB,
            description="How much of a source a worker takes at a time (bytes). Bounds memory, not sources.",
        ),
    ] = 4 * MIB


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration. `Config()` is what an empty or missing file gives."""

    agents: Annotated[
        dict[str, AgentConfig],
        Meta(description="One table per agent, named by its slug (`recollect agents` lists them)."),
    ] = {}
    repos: Annotated[ReposConfig, Meta(description="How repositories are grouped.")] = ReposConfig()
    search: Annotated[SearchConfig, Meta(description="Defaults of searching.")] = SearchConfig()
    ingest: Annotated[IngestConfig, Meta(description="How sources are taken in.")] = IngestConfig()

    def agent(self, slug: str) -> AgentConfig:
        """Return the settings of one agent; the defaults where the file has none."""
        return self.agents.get(slug, _DEFAULT_AGENT)


_DEFAULT_AGENT = AgentConfig()


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
        near = tuple(difflib.get_close_matches(path[-1], known, n=1, cutoff=0.5))
        guess = f"; did you mean `{_dotted((*path[:-1], near[0]))}`?" if near else ""
        raise ConfigError(
            f"{where}: unknown key `{_dotted(path)}`{guess}",
            key=_dotted(path),
            allowed=known,
            hint=f"known here: {', '.join(known)}",
        )
    try:
        return msgspec.convert(table, Config, strict=True)
    except msgspec.ValidationError as error:
        path, value, allowed = _wrong_value(table, info)
        raise ConfigError(
            f"{where}: `{_dotted(path)}` must be {allowed}, not {_shown(value)}",
            key=_dotted(path),
            allowed=(allowed,),
            hint="`recollect config --reference` shows every key with its default",
        ) from error


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
            lines += _doc_lines(hint)
        if isinstance(value, dict):
            if not value and with_docs:
                lines += [
                    x if x.startswith("#") else f"# {x}" for x in _table(f"{name}.SLUG", _DEFAULT_AGENT, with_docs)
                ]
            for key, entry in value.items():
                lines += ["", *_table(f"{name}.{_bare(key)}", entry, with_docs)]
        else:
            lines += _table(name, value, with_docs)
    return "\n".join(lines).strip() + "\n"


def _table(name: str, value: msgspec.Struct, with_docs: bool) -> list[str]:
    lines = [f"[{name}]"]
    for key, hint in get_type_hints(type(value), include_extras=True).items():
        if with_docs:
            lines += _doc_lines(hint)
        lines.append(f"{key} = {_literal(getattr(value, key))}")
    return lines


def _doc_lines(hint: Any) -> list[str]:
    """Return the comment lines of a field: its text, then what is allowed."""
    info = type_info(hint)
    text = next((m.description or "" for m in getattr(hint, "__metadata__", ()) if isinstance(m, Meta)), "")
    inner = info.type if isinstance(info, Metadata) else info
    if not isinstance(inner, StructType) and not (
        isinstance(inner, DictType) and isinstance(inner.value_type, StructType)
    ):
        text += f" Allowed: {_allowed(inner)}."
    words, lines = text.split(), ["#"]
    for word in words:
        if len(lines[-1]) + 1 + len(word) > 110:
            lines.append("#")
        lines[-1] += f" {word}"
    return lines


def _bare(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _literal(key)


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's; only DEL is allowed bare in one and not in the other.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_bare(k)} = {_literal(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, tuple):
        return "[" + ", ".join(_literal(v) for v in value) + "]"
    return str(value)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(_bare(p) for p in path)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "a table"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def _plain(info: Type) -> Type:
    return info.type if isinstance(info, Metadata) else info


def _members(value: Any, info: Type) -> Iterator[tuple[str, Any, Type]]:
    """Give (key, value, type) of the known members of a table."""
    if isinstance(info, StructType) and isinstance(value, dict):
        for field in info.fields:
            if field.encode_name in value:
                yield field.encode_name, value[field.encode_name], _plain(field.type)
    elif isinstance(info, DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield key, item, _plain(info.value_type)


def _unknown_keys(value: Any, info: Type, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Give the path of every unknown key with the keys that are known in its place."""
    if isinstance(info, StructType) and isinstance(value, dict):
        known = tuple(f.encode_name for f in info.fields)
        yield from (((*path, key), known) for key in value if key not in known)
    for key, item, kind in _members(value, info):
        yield from _unknown_keys(item, kind, (*path, key))


def _wrong_value(value: Any, info: Type) -> tuple[tuple[str, ...], Any, str]:
    """Return (path, value, what is allowed) of the innermost part of a table that doesn't fit its type."""
    path: tuple[str, ...] = ()
    while True:
        for key, item, kind in _members(value, info):
            if not _fits(item, kind):
                path, value, info = (*path, key), item, kind
                break
        else:
            return path, value, _allowed(info)


def _fits(value: Any, info: Type) -> bool:
    match info:
        case BoolType():
            return isinstance(value, bool)
        case IntType(ge=low, le=high):
            whole = isinstance(value, int) and not isinstance(value, bool)
            return whole and (low is None or value >= low) and (high is None or value <= high)
        case StrType():
            return isinstance(value, str)
        case VarTupleType(item_type=item):
            return isinstance(value, list) and all(_fits(v, _plain(item)) for v in value)
        case _:
            return isinstance(value, dict) and all(_fits(v, kind) for _, v, kind in _members(value, info))


def _allowed(info: Type) -> str:
    match info:
        case BoolType():
            return "true or false"
        case IntType(ge=low, le=high):
            return f"a whole number from {low} to {high}"
        case StrType():
            return "a string in quotes"
        case VarTupleType(item_type=item):
            return f"a list, each item {_allowed(_plain(item))}"
        case DictType(value_type=item):
            return f"a table, each value {_allowed(_plain(item))}"
        case _:
            return "a table"
