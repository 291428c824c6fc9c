"""What the parser of Grok Build remembers between records, and its limits."""

from __future__ import annotations

import msgspec

from recollect.agents.kit import reading as kit
from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import Marks
from recollect.agents.kit.reading import BaseState
from recollect.model.events import TsQuality
from recollect.model.payloads import Origin, Part

MAX_SPEECH_CHARS = 48_000
"""A message that grows beyond this goes on as a message of its own."""
MAX_PARTS = 16
MAX_OPEN = 32
MAX_OUTPUT_CHARS = 2048
"""Of a running tool's output; what is longer is given at once and not put together with the end."""
MAX_PROMPTS = 512
START = "start"
"""Stands for the prompt in the names of what is said before the first one."""


class Speech(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A message whose chunks still come.

    kind: user, host, agent or thought. given: how many characters of it were given, in how many versions, the last of
    them named `name`. prompt: the prompt id of its chunks. index: of the user's prompt.
    """

    kind: str
    text: str = ""
    parts: tuple[Part, ...] = ()
    origin: Origin = "human"
    prompt: str = ""
    index: int | None = None
    ts: int | None = None
    ts_quality: TsQuality = "missing"
    given: int = -1
    versions: int = 0
    name: str = ""


class Open(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A tool call that has not ended.

    known: hashes of its arguments. output: what it gave so far. has_diff: its edits come from the agent's own diff.
    """

    call: Waiting
    known: tuple[int, ...] = ()
    output: str = ""
    is_long: bool = False
    has_diff: bool = False


class Prompt(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A human prompt on the active branch: its index, and the event that stood before it."""

    index: int
    before: str = ""


class Shrink(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A compaction of which one half was written: its checkpoint, or its token counts."""

    name: str
    has_checkpoint: bool = False
    trigger: str = ""
    summary: str = ""
    tokens_before: int | None = None
    tokens_after: int | None = None


class GrokState(BaseState, frozen=True, gc=False, omit_defaults=True):
    """Carried from record to record. cwd: told by the folder's name. last: the newest event of the conversation.

    mark: the human prompt that the conversation is at, in the names of its messages: its index, with a number behind it
    where the index is used again after a rewind; "" where it isn't known. top: the highest index so far. repeats: how
    often one was used again. asked, said, thought: messages given of the prompt.
    """

    cwd: str = ""
    model: str = ""
    seen: Marks = ()
    mark: str = START
    top: int = -1
    repeats: int = 0
    asked: int = 0
    said: int = 0
    thought: int = 0
    speech: Speech | None = None
    open: tuple[Open, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    shrink: Shrink | None = None
    trigger: str = ""
    last: str = ""


Reading = kit.Reading[GrokState]
