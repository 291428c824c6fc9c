"""What is carried from record to record."""

from __future__ import annotations

from typing import TypeAlias

from recollect.agents.kit.naming import MAX_PATH_CHARS, short
from recollect.agents.kit.reading import BaseState
from recollect.agents.kit.reading import Reading as KitReading

_MAX_CALLS = 128


class CrushState(BaseState, frozen=True):
    """What the parser remembers: the newest calls (id, tool, file), the folder commands run in, the model."""

    calls: tuple[tuple[str, str, str], ...] = ()
    cwd: str = ""
    model: str = ""


Reading: TypeAlias = KitReading[CrushState]


def note_call(reading: Reading, call_id: str, tool: str, path: str) -> None:
    """Remember a call for its result, which names neither its tool nor its file in all versions."""
    call = (short(call_id), short(tool), short(path, MAX_PATH_CHARS))
    reading.set(calls=(*reading.now("calls"), call)[-_MAX_CALLS:])


def called(reading: Reading, call_id: str) -> tuple[str, str]:
    """Return the tool and the file of a call; empty where it is not remembered."""
    for known, tool, path in reversed(reading.now("calls")):
        if known == short(call_id):
            return tool, path
    return "", ""
