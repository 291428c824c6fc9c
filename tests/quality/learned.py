"""What people say that should be learned, judged by hand: `labels/learnings.md` describes the files.

`learnings.ndjson` judges every message of a person in `decisions.ndjson` (real transcripts) and `written.ndjson`;
`learned_turns.ndjson` holds turns, and `learned_runs.ndjson` little sessions, that were written for what is rare there.
`found_learnings.ndjson` says of what the rules found in real transcripts whether it is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import msgspec

from recollect.insights.digests import session_of
from recollect.model.events import Event, SourceLocation
from recollect.model.learnings.learnings import LearningKind
from recollect.model.payloads import (
    AssistantMessage,
    FileEdit,
    Payload,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
    kind_of,
)
from recollect.model.sessions import Session
from tests.quality.labelled import Split

LABELS = Path(__file__).with_name("labels")
UID = "claude:label"
ROOT = "/home/dev/shop"
T = TypeVar("T")


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What should be learned: its kind, and words of the message that say it."""

    kind: LearningKind
    quote: str


class JudgedMessage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"source": "set"}):
    """A message of `decisions.ndjson` (set: transcripts) or `written.ndjson` (written), by its id there."""

    id: str
    source: Literal["transcripts", "written"]
    learns: tuple[Wanted, ...]
    split: Split


class JudgedTurn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A written message, after the assistant has worked. is_held_back: learned, but not given to agents."""

    id: str
    language: str
    text: str
    learns: tuple[Wanted, ...]
    is_held_back: bool
    split: Split


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing that happens in a written session; exactly one of user, assistant, run, edit, read is given.

    run: a shell command, with its exit and output. read: a file, with its text in `output`. injected: the user message
    is of the harness.
    """

    user: str = ""
    assistant: str = ""
    run: str = ""
    exit: int | None = 0
    output: str = ""
    edit: str = ""
    read: str = ""
    injected: bool = False


class WantedText(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A learning as it should read: its kind and a part of its text."""

    kind: LearningKind
    text: str


class JudgedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A written session and all that should be learned of it."""

    id: str
    steps: tuple[Step, ...]
    learns: tuple[WantedText, ...]
    split: Split
    is_held_back: bool = False


class FoundLearning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that the rules found in a real session, and whether its transcript bears it out. id: the learning's."""

    file: str
    session_uid: str
    id: str
    kind: LearningKind
    is_right: bool
    reason: str
    split: Split


class WrittenSession(NamedTuple):
    """A session as the extractor reads it."""

    session: Session
    events: Sequence[Event]

    def load(self, event: Event) -> Event:
        """Return the event: it lacks nothing."""
        return event


def read_messages() -> list[JudgedMessage]:
    """Return the judged messages, in the order of the file. Raises msgspec.ValidationError."""
    return _read("learnings.ndjson", JudgedMessage)


def read_turns() -> list[JudgedTurn]:
    """Return the written turns, in the order of the file. Raises msgspec.ValidationError."""
    return _read("learned_turns.ndjson", JudgedTurn)


def read_runs() -> list[JudgedRun]:
    """Return the written sessions, in the order of the file. Raises msgspec.ValidationError."""
    return _read("learned_runs.ndjson", JudgedRun)


def read_found() -> list[FoundLearning]:
    """Return what was judged of real sessions, in the order of the file. Raises msgspec.ValidationError."""
    return _read("found_learnings.ndjson", FoundLearning)


def _read(name: str, of: type[T]) -> list[T]:
    decode = msgspec.json.Decoder(of, strict=True).decode
    return [decode(line) for line in (LABELS / name).read_bytes().splitlines()]


def session_saying(text: str, before: str = "") -> WrittenSession:
    """Return a session in which a person says something after the assistant has worked. before: its last words."""
    return session_doing((Step(user="Please go on."), Step(assistant=before or "I have done that."), Step(user=text)))


def session_doing(steps: Sequence[Step]) -> WrittenSession:
    """Return a session of the steps, in a repository at `ROOT`; a minute passes between two events."""
    events: list[Event] = []
    turn = 0
    for payload in (
        SessionStart(cwd=ROOT, repo_root=ROOT),
        *(p for i, step in enumerate(steps) for p in _payloads(step, i)),
    ):
        turn += isinstance(payload, UserMessage) and payload.origin == "human"
        number = len(events)
        at = SourceLocation("label", 0, 0, 0, number, "")
        events.append(
            Event(UID, number, f"e{number}", 0, kind_of(payload), payload, at, ts=number * 60_000_000, turn_index=turn)
        )
    return WrittenSession(session_of(events), events)


def _payloads(step: Step, number: int) -> Iterator[Payload]:
    call = f"c{number}"
    if step.user:
        yield UserMessage(step.user, "injected" if step.injected else "human")
    elif step.assistant:
        yield AssistantMessage(step.assistant)
    elif step.run:
        yield ToolCall(call, "Bash", "shell", {"command": step.run})
        yield ToolResult(call, "Bash", ok=step.exit == 0, exit_code=step.exit, text=step.output)
    elif step.edit:
        path = f"{ROOT}/{step.edit}"
        yield ToolCall(call, "Edit", "edit", {"file_path": path})
        yield FileEdit(path, call_id=call)
        yield ToolResult(call, "Edit", ok=True)
    elif step.read:
        yield ToolCall(call, "Read", "read", {"file_path": f"{ROOT}/{step.read}"})
        yield ToolResult(call, "Read", ok=True, text=step.output)
