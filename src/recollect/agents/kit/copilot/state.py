"""What is carried from event to event of a Copilot session, and its limits."""

from __future__ import annotations

import msgspec

from recollect.agents.kit.naming import is_storable
from recollect.agents.kit.reading import MAX_NAME_CHARS, BaseState
from recollect.model.payloads import FileEdit

MAX_CALLS = 64
MAX_TURNS = 512
MAX_MODELS = 32
MAX_AGENTS = 64
MAX_REASONINGS = 8
MAX_PATHS = 8
MAX_PENDING_BYTES = 6 * 1024
"""Of a call's prompt and edits; longer ones are in the call's own event only."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """A tool call whose result has not come yet, or came recently.

    prompt: of a call that starts a subagent, what it was told. edits: what the call changes if it succeeds.
    """

    call_id: str
    name: str
    message_id: str = ""
    is_mcp: bool = False
    prompt: str = ""
    edits: tuple[FileEdit, ...] = ()


class Turn(msgspec.Struct, frozen=True, gc=False):
    """A message of the user: its event's id, how many events stood before it, and the last of them."""

    event: str
    ordinal: int
    before: str = ""


class Spent(msgspec.Struct, frozen=True, gc=False):
    """The cumulative counters of one model as the last shutdown of this segment stated them."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0


class CopilotState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """The state of a stream of session events."""

    cwd: str = ""
    branch: str = ""
    model: str = ""
    trigger: str = ""
    """Why the compaction under way was started."""
    count: int = 0
    calls: tuple[Call, ...] = ()
    turns: tuple[Turn, ...] = ()
    spent: tuple[Spent, ...] = ()
    agents: tuple[tuple[str, str], ...] = ()
    """Subagents at work: (agent id, id of the call that started it)."""
    reasonings: tuple[str, ...] = ()
    """Hashes of the newest reasoning, which is also written with its message."""


def storable(value: str, limit: int = MAX_NAME_CHARS) -> str:
    """Return text as it may stand in the state: of at most `limit` bytes, and text that can be encoded."""
    if len(value) <= limit and value.isascii():
        return value
    return value.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def size_of(call: Call) -> int:
    """Return how many bytes the texts of a remembered call take; a huge number if they can't be encoded."""
    texts = [call.prompt]
    for edit in call.edits:
        texts += (edit.path, edit.before or "", edit.after or "", edit.diff, edit.new_path, edit.call_id, " " * 32)
    try:
        return sum(len(t.encode()) for t in texts)
    except UnicodeEncodeError:
        return MAX_PENDING_BYTES + 1


def call_named(calls: tuple[Call, ...], call_id: str) -> Call | None:
    """Return the newest remembered call of an id."""
    return next((c for c in reversed(calls) if c.call_id == call_id), None) if call_id else None


def with_call(calls: tuple[Call, ...], call: Call) -> tuple[Call, ...]:
    """Return the calls with one more, or with a newer form of one.

    Too long an id is not remembered; of too long a prompt or edits only the paths are.
    """
    if not call.call_id or not is_storable(call.call_id):
        return calls
    if size_of(call) > MAX_PENDING_BYTES:
        paths = dict.fromkeys(e.path for e in call.edits if is_storable(e.path))
        edits = tuple(FileEdit(p, call_id=call.call_id) for p in list(paths)[:MAX_PATHS])
        call = msgspec.structs.replace(call, prompt="", edits=edits)
    return (*(c for c in calls if c.call_id != call.call_id), call)[-MAX_CALLS:]
