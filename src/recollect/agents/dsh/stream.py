"""Pieces of a streamed response. They count only where the whole message never comes: after an interruption.

Format 0 packs runs of them into rows `text-chunks`, `reasoning-chunks`, `tool-call-chunks`; from format 2 on
they stand in the message.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.dsh.state import MAX_PIECES_CHARS, Reading, Streamed
from recollect.agents.kit.access import items, mapping, text, whole
from recollect.model.payloads import AssistantMessage, Thinking

PACKED = {"text-chunks": "text-delta", "reasoning-chunks": "reasoning-delta", "tool-call-chunks": "tool-call-delta"}


def read_packed(reading: Reading, kind: str) -> None:
    """Take a row of packed pieces."""
    data = reading.mapping(reading.value, "data")
    pieces = [piece for piece in reading.items(data, "texts") if isinstance(piece, str)]
    _take(reading, data, PACKED[kind], "".join(pieces))


def read_piece(reading: Reading, data: dict[str, Any]) -> None:
    """Take one piece; what begins, ends or counts a stream says nothing that the message does not."""
    chunk = reading.mapping(data, "chunk")
    _take(reading, data, text(chunk.get("type")), text(chunk.get("text")))


def _take(reading: Reading, data: dict[str, Any], kind: str, piece: str) -> None:
    key = f"{whole(data.get('turn'))}/{whole(data.get('step'))}"
    streamed: Streamed = reading.now("streamed")
    if streamed.key != key:
        give_streamed(reading)
        streamed = Streamed(key)
    field = {"text-delta": "said", "reasoning-delta": "thought"}.get(kind)
    if field is not None:
        kept = (getattr(streamed, field) + piece)[:MAX_PIECES_CHARS].encode("utf-8", "replace").decode("utf-8")
        streamed = msgspec.structs.replace(streamed, **{field: kept})
    reading.set(streamed=streamed)


def drop_streamed(reading: Reading) -> None:
    """Forget the pieces: their message has come."""
    reading.set(streamed=Streamed())


def give_streamed(reading: Reading) -> None:
    """Give what was streamed of a response that never came whole."""
    streamed: Streamed = reading.now("streamed")
    reading.set(streamed=Streamed())
    name = f"streamed:{streamed.key}"
    if streamed.thought:
        reading.add(Thinking(streamed.thought), "assistant", native_id=f"{name}/thinking")
    if streamed.said:
        message = AssistantMessage(streamed.said, reading.now("model"), "interrupted")
        reading.add(message, "assistant", native_id=name)


def text_of_stream(stream: Any) -> str:
    """Return the text of a stream that stands in an event, as format 2 has it."""
    return "".join(
        piece for run in items(stream) for piece in items(mapping(run).get("texts")) if isinstance(piece, str)
    )
