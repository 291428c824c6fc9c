"""Asks the running daemon instead of opening the memory in this process.

A question is one line of JSON on the daemon's socket (`recollect.wire`), `RequestLine`; so is its answer, `ReplyLine`.
The daemon answers only who would get the same answer from the disk: of the same version, with the same configuration
and in the same time zone. A question that raises an error is not answered: whoever asks reads the disk and raises it
too.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from recollect import wire
from recollect.paths import CONFIG_NAME, config_text, home_of_store, home_text
from recollect.ready_blocks import PROGRAM

T = TypeVar("T")
Zone = tuple[int, int, str, str]

CONNECT_S = 0.2
ANSWER_S = 5.0
"""A daemon that takes longer hangs, or has no time: the disk answers sooner."""
SYNC_S = 600.0
"""A sync may take longer: it ingests what is new, and analyses it."""
MAX_BYTES = 64 * 1024 * 1024
UNANSWERED = "the daemon at work did not answer; this was read from the disk"


class SearchRequest(msgspec.Struct, frozen=True, tag_field="verb", tag="search"):
    """`Memory.search`; the reply is a `SearchAnswer`. An unknown name in a filter is an error."""

    query: str
    limit: int | None = None
    sync: bool = True


class SessionsRequest(msgspec.Struct, frozen=True, tag_field="verb", tag="sessions"):
    """`Memory.sessions`; the reply is a `SessionPage`. after/before: UTC microseconds, [after, before)."""

    agents: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None
    limit: int = 20
    offset: int = 0
    sync: bool = True


class ShowRequest(msgspec.Struct, frozen=True, tag_field="verb", tag="show"):
    """`RecallFacet.page`; the reply is a `SessionView`. session: a uid or unique prefix."""

    session: str
    first: int = 0
    limit: int = 100
    sync: bool = True


class EntryRequest(msgspec.Struct, frozen=True, tag_field="verb", tag="show-entry"):
    """`RecallFacet.entry`; the reply is an `EntryView`."""

    uid: str
    first: int = 0
    limit: int | None = None
    sync: bool = True


class UsageRequest(msgspec.Struct, frozen=True, tag_field="verb", tag="usage"):
    """`UsageFacet.report`; the reply is a `UsageReport`. is_local: use the local time zone's days, not UTC's."""

    by: Literal["day", "session", "repo", "domain", "model", "agent", "total"] = "day"
    agents: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None
    is_local: bool = False
    sync: bool = True


class IngestRequest(msgspec.Struct, frozen=True, tag_field="verb", tag="sync"):
    """`Memory.sync` of everything; the reply is a `SyncReport`, after any number of `SyncProgress`. variables: hashes
    of the asker's environment, see `variable_hashes`: the daemon looks for agents' folders where its own variables say.
    """

    variables: dict[str, str]


Request = SearchRequest | SessionsRequest | ShowRequest | EntryRequest | UsageRequest | IngestRequest


class RequestLine(msgspec.Struct, frozen=True):
    """A request and its origin. config: the configuration file. folder: where the asker works."""

    request: Request
    program: str
    config: str
    zone: Zone
    folder: str
    version: int = wire.VERSION
    kind: str = wire.KIND_REQUEST


class ReplyLine(msgspec.Struct, Generic[T], frozen=True):
    """A reply. text: why there is no answer. A reply without either means that the request raised an error."""

    version: int = wire.VERSION
    text: str = ""
    reply: T | msgspec.UnsetType | None = msgspec.UNSET
    """Unset: of a daemon that knows no such question."""


class DaemonReply(NamedTuple, Generic[T]):
    """The daemon's reply. value None: read the disk; note: what to report about that, "" for nothing, for instance
    without a daemon.
    """

    value: T | None
    note: str = ""


def ask_daemon(
    request: Request, kind: type[T], *, env: Mapping[str, str] | None = None, folder: str | None = None,
    tell: Callable[[bytes], None] = lambda _line: None,
) -> DaemonReply[T]:  # fmt: skip
    """Ask the daemon of the user's memory. kind: of the reply. folder: where the asker works, by default this
    process's. tell: takes what comes before the reply.

    Never raises OSError.
    """
    home = os.path.abspath(home_text(env))
    question = RequestLine(request, PROGRAM, config_path(home, env), local_zone(), folder or working_folder())
    answer_s = SYNC_S if isinstance(request, IngestRequest) else ANSWER_S
    line = wire.ask_line(
        home, msgspec.json.encode(question) + b"\n", connect_s=CONNECT_S, answer_s=answer_s, max_bytes=MAX_BYTES,
        tell=tell,
    )  # fmt: skip
    if line is None:
        return DaemonReply(None)
    try:
        reply = msgspec.json.decode(line, type=ReplyLine[kind])  # type: ignore[valid-type]
    except ValueError:
        return DaemonReply(None, UNANSWERED)
    if isinstance(reply.reply, msgspec.UnsetType):
        return DaemonReply(None, f"{UNANSWERED} ({reply.text})" if reply.text else UNANSWERED)
    return DaemonReply(reply.reply)


def config_path(home: str, env: Mapping[str, str] | None = None) -> str:
    """Return the configuration file that `Memory.open` reads for the environment's home."""
    values = os.environ if env is None else env
    own = os.path.join(home, CONFIG_NAME)
    is_own = home == home_of_store(values) and os.path.exists(own)
    return own if is_own else os.path.abspath(config_text(values))


def variable_hashes(env: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a hash of each variable of an environment: what secrets are among them stays in this process."""
    from hashlib import blake2b

    values = os.environ if env is None else env
    return {
        name: blake2b(value.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
        for name, value in values.items()
    }


def local_zone() -> Zone:
    """Return a text that identifies this process's time zone."""
    return (time.timezone, time.altzone, *time.tzname)


def working_folder() -> str:
    """Return this process's folder, "" if it was removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""
