"""What the parser of a Kimi file remembers, and how its things are named."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from recollect.agents.kit.calls import Waiting
from recollect.agents.kit.naming import NamingState, content_sha256, numbered
from recollect.agents.kit.reading import Reading

MAX_PENDING = 16
MAX_ARGUMENT_CHARS = 100_000


class OpenCall(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The newest call of the wire, whose arguments may still come in pieces."""

    name: str = ""
    call_id: str = ""
    tool: str = ""
    arguments: str = ""


class Spent(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The usage of the last step: where it was given, with which model, and its counts."""

    name: str = ""
    key: str = ""
    model: str = ""
    counts: tuple[int, ...] = ()


class KimiState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """State after a record.

    pending: hashes of prompts whose copy in the context is still to
    come. trigger: who asked for the compaction that runs.
    """

    parent_session: str = ""
    agent: str = ""
    model: str = ""
    trigger: str = ""
    waiting: tuple[Waiting, ...] = ()
    pending: tuple[str, ...] = ()
    open_call: OpenCall = OpenCall()
    spent: Spent = Spent()


KimiReading = Reading[KimiState]


class Origin(NamedTuple):
    """Where a source belongs: its session, the session whose subagent it is ("" for none), and that agent's name."""

    session: str
    parent: str = ""
    agent: str = ""


def named(reading: KimiReading, kind: str, what: str) -> str:
    """Return a name for a thing of a session that wire and context give alike: `kind:what`, numbered if used again."""
    return numbered(reading, f"{kind}:{what}")


def named_text(reading: KimiReading, kind: str, body: str) -> str:
    """Return a name for a text: a hash of it, numbered among equal ones."""
    return named(reading, kind, content_sha256(body))
