"""Codebuff: one message or document in, its events out. Pure, and never raises on content.

What each becomes is in `messages`, `blocks` and `sidecars`; traps are in README.md beside this file.
"""

from __future__ import annotations

import re
from typing import ClassVar

from recollect.agents.codebuff.messages import read_message
from recollect.agents.codebuff.sidecars import read_meta, read_run
from recollect.agents.codebuff.state import ChatState
from recollect.agents.facts import facts_of
from recollect.agents.kit.adapter import KitAdapter, first_line_name
from recollect.agents.kit.names import short
from recollect.agents.kit.values import instant
from recollect.model.records import SourceInfo

CHAT = "chat"
META = "meta"
RUN = "run"

_FOLDER = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d(?:\.\d{1,6})?)Z?")
_CHATS = "chats"
_VARIANT = re.compile(rb'"variant"\s*:\s*"(?:ai|user|error|agent)"')


class CodebuffAdapter(KitAdapter[ChatState]):
    """The adapter of Codebuff and Freebuff."""

    facts = facts_of("codebuff")
    state_type = ChatState
    readers: ClassVar = {RUN: read_run, META: read_meta, "": read_message}

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: an array of messages with variants, under its own name. The head may cut it."""
        is_chat = path.rsplit("/", 1)[-1] == "chat-messages.json" and head.lstrip().startswith(b"[")
        return CHAT if is_chat and _VARIANT.search(head) else None

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the project's folder and the chat's, which is a time; two projects may share one."""
        folders = info.path.split("/")[:-1]
        if len(folders) > 2 and folders[-2] == _CHATS:
            return f"{folders[-3]}/{folders[-1]}"
        return (folders[-1] if folders else "") or first_line_name(head)

    def begin(self, info: SourceInfo) -> ChatState:
        """See `Adapter.begin`."""
        folders = info.path.split("/")[:-1]
        told = _FOLDER.fullmatch(folders[-1]) if folders else None
        began = instant(f"{told[1]}T{told[2]}:{told[3]}:{told[4]}Z") if told else None
        return ChatState(session=short(info.session, 400), role=info.role, ts=began, began=began)
