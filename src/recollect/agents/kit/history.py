"""Parses what editors with one kind of session file write alike: items of a history, lists of sessions, titles."""

from typing import Any

from recollect.agents.kit.adapter import Reading, read_odd
from recollect.agents.kit.names import name_of
from recollect.agents.kit.values import mapping, text, whole

_NO_TITLES = frozenset(("New Session", "Untitled Session", "Untitled session"))


def message_of(reading: Reading[Any]) -> dict[str, Any]:
    """Return the message of an item; one without a message is unknown."""
    item = reading.value
    message = mapping(item.get("message"))
    if not message and item:
        reading.unknown("history", native_id=name_of(reading, "item", item))
    elif not message:
        read_odd(reading)
    return message


def read_entry(reading: Reading[Any], known: frozenset[str]) -> None:
    """Emit an entry of a list of sessions: the only place that says when one began."""
    entry = reading.value
    session = text(entry.get("sessionId"))
    if not session and entry:
        reading.kept("sessions", native_id=name_of(reading, "entry", entry))
    elif not session:
        read_odd(reading)
    else:
        written = entry.get("dateCreated")
        created = whole(written)
        reading.date(written if created is None else created, "dateCreated")
        reading.start(cwd=folder_of(reading, entry), native_id="index/start", session=session)
        give_title(reading, entry, "index/title", session)
        reading.extra(entry, known, "sessions", native_id=f"entry:{session}")


def give_title(reading: Reading[Any], value: dict[str, Any], name: str = "title", session: str | None = None) -> None:
    """Emit a session's title; the placeholder of a new one is none."""
    title = reading.text(value, "title")
    if title not in _NO_TITLES:
        reading.entitle(title, name, session)


def folder_of(reading: Reading[Any], value: dict[str, Any]) -> str:
    """Return a session's folder, which is written as a path or as a `file://` address."""
    return reading.text(value, "workspaceDirectory").removeprefix("file://")
