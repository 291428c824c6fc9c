"""What is carried from record to record of a chat session, and its limits."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.copilot.state import CopilotState

MAX_ORDER = 1024
MAX_SEEN = 4
MAX_INVOCATIONS = 96
MAX_GROUPS = 96
MAX_RUNS = 4
MAX_RUN_BYTES = 48 * 1024
MAX_UNDONE = 64


class Invocation(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A tool call as the answer shows it, which its request's metadata will tell in full.

    place: its index in the answer. name: the tool's name as the model knows it.
    """

    place: int
    call_id: str
    name: str
    ok: bool | None = None
    exit_code: int | None = None
    duration_ms: int | None = None


class Group(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Edits of one file as the answer shows them: their place in it, the file, and the last call before them."""

    place: int
    path: str
    call_id: str = ""


class Seen(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known of a request while its answer is still written."""

    request: str = ""
    ts: int | None = None
    model: str = ""
    invocations: tuple[Invocation, ...] = ()
    groups: tuple[Group, ...] = ()
    has_thinking: bool = False


class Run(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """Pieces of an answer that follow each other and read as one text, from one place in the answer on."""

    request: str
    start: int
    texts: tuple[str, ...]


class VSCodeState(CopilotState, frozen=True, gc=False, omit_defaults=True):
    """The state of a chat session. The fields of `CopilotState` serve the extension's transcripts, `model` both."""

    version: str = ""
    alias: str = ""
    """The id under which the extension's own transcript has this session."""
    order: tuple[str, ...] = ()
    """The ids of the requests, by their place in the document."""
    seen: tuple[Seen, ...] = ()
    runs: tuple[Run, ...] = ()
    undone: tuple[str, ...] = ()
    """Requests that were undone but still stand in the document."""
    befores: tuple[tuple[str, str], ...] = ()
    """The requests with the event that stood before each when it was first seen."""
