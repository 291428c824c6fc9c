"""Aider: a whole file in, the events of all its chats out. What each block becomes is in `chat`."""

from __future__ import annotations

import re

from recollect.agents.aider.chat import AiderReading, read_history
from recollect.agents.aider.declare import FACTS
from recollect.agents.aider.grammar import HEADER, chats_of
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.naming import content_sha256
from recollect.agents.kit.reading import BaseState
from recollect.model.payloads import Lifecycle
from recollect.model.records import SourceInfo
from recollect.model.time import parse_iso

_TYPED = re.compile(r"^# (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?)[ \t]*\r?\n((?:\+.*(?:\n|\Z))+)", re.MULTILINE)


class AiderAdapter(KitAdapter[BaseState]):
    """The adapter of Aider."""

    facts = FACTS
    state_type = BaseState

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a header of a chat, in a file of Markdown."""
        text = head.decode("utf-8", "replace")
        if path.endswith((".md", ".markdown")) and HEADER.search(text):
            return "chat_history"
        return None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: a name for the file. Its chats are sessions of their own, see `Draft.session`.

        Only what stands before the first header, in a file whose beginning was cut off, goes by this name.
        """
        return first_line_name(head)

    def read(self, reading: AiderReading) -> None:
        """Give the events of a whole file."""
        value = reading.record.value
        if not isinstance(value, str):
            read_odd(reading)
        elif reading.state.role == "input_history":
            _read_typed(reading, value)
        else:
            read_history(reading, chats_of(value))


def _read_typed(reading: AiderReading, history: str) -> None:
    """Give what was typed at the prompt, with its time. It names no chat, so it is no message of one."""
    seen: dict[str, int] = {}
    for found in _TYPED.finditer(history):
        said = "\n".join(line[1:].rstrip("\r") for line in found[2].splitlines())
        name = f"typed:{content_sha256([found[1], said])}"
        seen[name] = seen.get(name, 0) + 1
        reading.infer(parse_iso(found[1]))
        nth = f"/{seen[name]}" if seen[name] > 1 else ""
        reading.add(Lifecycle("prompt_history", text=said), native_id=f"{name}{nth}")
    rest = _TYPED.sub("", history).strip()
    if rest:
        reading.kept("input_history", rest, native_id="rest")
