"""Writes the configuration as TOML: what is in force, and every key with its text and default."""

from __future__ import annotations

from typing import Any, get_type_hints

import msgspec
from msgspec import Meta
from msgspec.inspect import DictType, StructType, type_info

from recollect.config.kinds import allowed_at, bare, literal, plain, tables_in
from recollect.config.settings import DEFAULT_AGENT, Config


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
        docs = _doc_lines(hint, key) if with_docs else []
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


def _as_comments(lines: list[str]) -> list[str]:
    return [line if line.startswith("#") else f"# {line}" for line in lines]


def _doc_lines(hint: Any, key: str = "") -> list[str]:
    """Return the comment lines of a field: its text, then what is allowed."""
    info = type_info(hint)
    text = next((m.description or "" for m in getattr(hint, "__metadata__", ()) if isinstance(m, Meta)), "")
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
