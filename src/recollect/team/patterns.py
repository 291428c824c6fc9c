"""What somebody sent, as the database takes it: names as LIKE looks for them, citations."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.errors import TeamRefused, UsageError
from recollect.model.team_citation import TeamCitation, read_citation


def containing(text: str) -> str:
    """Return the pattern of what contains a text; `=text` is the whole of it."""
    return escaped(text[1:]) if text.startswith("=") else f"%{escaped(text.strip('*'))}%"


def beginning(text: str) -> str:
    """Return the pattern of what begins with a text."""
    return f"{escaped(text)}%"


def clean(names: Iterable[str]) -> list[str]:
    """Return names without the character that PostgreSQL does not keep."""
    return [name.replace("\0", "\ufffd") for name in names]


def escaped(text: str) -> str:
    """Return a text in which no sign means anything."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def cited_by(text: str) -> TeamCitation:
    """Return what a citation names. Raises TeamRefused for what is none."""
    try:
        return read_citation(text)
    except UsageError as error:
        raise TeamRefused(str(error), hint=error.hint) from error
