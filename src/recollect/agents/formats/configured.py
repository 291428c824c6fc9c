"""Turns a description in the configuration into an agent's facts."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from recollect.config import FormatConfig
from recollect.model.capabilities import AgentFacts, Capabilities, Place, Table

VERSION = 1
"""Raised when this reader gives something else of the same description."""
ROLE = "messages"
_SLUG = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_NO_MEANING = ("name", "patterns", "exclude")
"""What can be changed without reading again what is stored."""


def described(slug: str, format_: Mapping[str, Any]) -> FormatConfig:
    """Return a description as it can be used. Raises ValueError with a sentence for people."""
    try:
        found = msgspec.convert(format_, FormatConfig)
    except msgspec.ValidationError as error:
        raise ValueError(f"the format cannot be used: {error}") from error
    problem = _problem(slug, found)
    if problem:
        raise ValueError(problem)
    return found


def facts_of(slug: str, format_: FormatConfig) -> AgentFacts:
    """Return the facts of a described agent."""
    is_database = format_.container == "sqlite"
    table = Table(name=format_.table, document=format_.session, order=format_.order, json=format_.json)
    place = Place(
        role=ROLE,
        container=format_.container,
        patterns=format_.patterns,
        exclude=format_.exclude,
        split=format_.split,
        tables=(table,) if is_database else (),
    )
    is_text = format_.container == "text"
    return AgentFacts(
        slug=slug,
        name=format_.name or slug,
        aliases=(),
        roots=(),
        places=(place,),
        capabilities=Capabilities(
            container=format_.container,
            rewrites_history=format_.container != "jsonl",
            timestamps="exact" if format_.time and not is_text else "no",
            usage="no",
            usage_authority="none",
            thinking="exact" if format_.thinking and not is_text else "no",
            edits="partly" if "file_edit" in _kinds(format_) else "no",
            lineage="no",
            session_end="no",
            kinds=_kinds(format_),
            notes="Described in the configuration.",
            verified_version="unverified",
            verified_on="",
            evidence="the configuration",
        ),
        is_configured=True,
        parser_version=version_of(format_),
    )


def version_of(format_: FormatConfig) -> int:
    """Return a number that changes with the description: stored sessions are then derived again."""
    meaning = msgspec.to_builtins(format_)
    for key in _NO_MEANING:
        del meaning[key]
    written = msgspec.json.encode([VERSION, meaning], order="sorted")
    return int.from_bytes(hashlib.sha256(written).digest()[:4], "big") >> 1 or 1


def _kinds(format_: FormatConfig) -> tuple[str, ...]:
    if format_.container == "text":
        return ("user_message", "assistant_message", "tool_result", "instructions", "unknown")
    kinds = ["user_message", "assistant_message", "tool_result", "instructions", "unknown"]
    kinds += ["session_start", "lifecycle"] if format_.cwd or format_.model else []
    kinds += ["thinking"] if format_.thinking else []
    kinds += ["tool_call"] if format_.tool_name else []
    kinds += ["file_edit"] if format_.tool_name and format_.tool_call else []
    return tuple(kinds)


def _problem(slug: str, format_: FormatConfig) -> str:
    """Return what makes a description unusable, "" if nothing does."""
    if not _SLUG.fullmatch(slug):
        return f"an agent is named by lower-case letters, digits, - and _, beginning with a letter, not {slug!r}"
    if not format_.patterns:
        return "`patterns` names no file"
    for pattern in (*format_.patterns, *format_.exclude):
        if not pattern or pattern.startswith(("/", "~")) or ".." in pattern.split("/") or "\\" in pattern:
            return f"the pattern {pattern!r} must lie below `roots`: no / or ~ at its start, no .. and no backslash"
    if format_.split and format_.container != "snapshot":
        return "`split` is for the container `snapshot` only"
    if bool(format_.table) != (format_.container == "sqlite"):
        return "`table` names the table of the container `sqlite`, and of no other"
    if not format_.role and format_.container != "text":
        return "`role` says where a record tells who speaks; without it nothing can be told apart"
    words = [w.lower() for w in (*format_.user_roles, *format_.assistant_roles, *format_.system_roles)]
    words += [w.lower() for w in format_.tool_roles]
    twice = sorted({word for word in words if words.count(word) > 1})
    if twice:
        return f"the role {twice[0]!r} can be of one speaker only"
    return ""
