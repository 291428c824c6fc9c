"""JSON of the pages on usage, meaning, learning, health and settings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

import msgspec

from recollect.errors import UsageError
from recollect.local_time import LOCAL
from recollect.memory import (
    AgentReport,
    AgentView,
    AuditEntry,
    CollectionView,
    DriftRow,
    EventFilter,
    LedgerRow,
    Memory,
    Retro,
)
from recollect.model.learnings.learnings import GIVEN_STATES, Learning, LearningState
from recollect.serve.web.periods import DaySpan, named_day

LISTED = 200
_MOST_DAYS = 36_500


class ApiEndpoint(NamedTuple):
    """path: below `/api/v1`; what stands in braces is a parameter too. summary: one line.

    asked: the type of its parameters; answer: of its answer, or its name in `recollect.memory`, where it is imported
    only for the document or for somebody who asks.
    """

    path: str
    asked: type[msgspec.Struct] | str
    answer: type[msgspec.Struct] | str
    give: Callable[[Memory, Any], msgspec.Struct]
    summary: str


def named_type(kind: type[msgspec.Struct] | str) -> type[msgspec.Struct]:
    """Return a type of an endpoint."""
    if not isinstance(kind, str):
        return kind
    import recollect.memory

    found: type[msgspec.Struct] = getattr(recollect.memory, kind)
    return found


class NoParameters(msgspec.Struct, frozen=True):
    """No parameters."""


class DaysRequest(msgspec.Struct, frozen=True):
    """Days `first` to `last` (`2026-03-01`); without first the last `days` days. Days are this machine's."""

    first: str = ""
    last: str = ""
    days: int = 30
    agents: tuple[str, ...] = ()
    repos: tuple[str, ...] = ()

    def span(self) -> DaySpan:
        """Return the days. Raises UsageError for what is no day."""
        last = named_day(self.last) if self.last else datetime.now(LOCAL).date()
        first = named_day(self.first) if self.first else last - timedelta(days=min(max(self.days, 1), _MOST_DAYS) - 1)
        return DaySpan(first, last, "")

    def options(self) -> dict[str, Any]:
        """Return what `memory.usage` takes."""
        span, where = self.span(), EventFilter(agents=self.agents, repos=self.repos)
        return {"first": span.first, "last": span.last, "where": where, "zone": LOCAL}


class TrendRequest(DaysRequest, frozen=True):
    """Usage day by day. by: what a row is of."""

    by: Literal["agent", "model", "repo"] = "agent"


class FilesRequest(msgspec.Struct, frozen=True):
    """repo: exactly so called, "" for all. words: each stands in the path."""

    repo: str = ""
    words: tuple[str, ...] = ()
    limit: int = LISTED


class BlameRequest(msgspec.Struct, frozen=True):
    """A file as `/files` names it."""

    repo: str
    path: str


class LearningRequest(msgspec.Struct, frozen=True):
    """learning: an id, or a unique prefix."""

    learning: str


class ActionsRequest(msgspec.Struct, frozen=True):
    """What is to be done, or what was. states: those of what still waits, unless others are named."""

    repos: tuple[str, ...] = ()
    states: tuple[LearningState, ...] = GIVEN_STATES
    limit: int = LISTED


class DocumentsRequest(msgspec.Struct, frozen=True):
    """collection: its name."""

    collection: str


class SetupRequest(msgspec.Struct, frozen=True):
    """agent: its slug. mode: what it is given; remove: all of ours is taken out."""

    agent: str
    mode: Literal["pull", "push", "both", "remove"] = "both"


class LimitRequest(msgspec.Struct, frozen=True):
    """limit: at most so many, the newest."""

    limit: int = LISTED


class Actions(msgspec.Struct, frozen=True):
    """What is to be done, urgent first."""

    actions: tuple[Learning, ...]


class Collections(msgspec.Struct, frozen=True):
    """The collections of documents."""

    collections: tuple[CollectionView, ...]


class Agents(msgspec.Struct, frozen=True):
    """Every agent that this version knows, and what of their formats no parser knows."""

    agents: tuple[AgentView, ...]
    drift: tuple[DriftRow, ...]


class IngestHistory(msgspec.Struct, frozen=True):
    """The sources that were ingested last, newest first."""

    sources: tuple[LedgerRow, ...]


class AuditLog(msgspec.Struct, frozen=True):
    """What was done by hand, deleted, and what failed, newest first."""

    entries: tuple[AuditEntry, ...]


def _retro(memory: Memory, asked: DaysRequest) -> Retro:
    if asked.agents:
        raise UsageError("a retrospective is of all agents", hint="leave out agents")
    since, until = asked.span().bounds
    return memory.retro(since=since, until=until, repos=asked.repos, sync=False, zone=LOCAL)


def _setup(memory: Memory, asked: SetupRequest) -> AgentReport:
    from recollect.memory import without_secrets

    (slug,) = memory.setup.slugs((asked.agent,))
    planned = memory.setup.prepare(slug, None if asked.mode == "remove" else asked.mode).planned
    privacy = memory.config.privacy
    steps = (
        msgspec.structs.replace(step, diff=tuple(without_secrets(line, privacy) for line in step.diff))
        for step in planned.steps
    )
    return msgspec.structs.replace(planned, steps=tuple(steps))


VIEWS = (
    ApiEndpoint(
        "/usage/days", TrendRequest, "UsageTrend",
        lambda memory, asked: memory.usage.trend(by=asked.by, **asked.options()),
        "Usage by day, beside that of as many days before.",
    ),
    ApiEndpoint(
        "/activity", DaysRequest, "ActivityReport", lambda memory, asked: memory.usage.activity(**asked.options()),
        "When sessions worked, and how many at once.",
    ),
    ApiEndpoint(
        "/files", FilesRequest, "FilesAnswer",
        lambda memory, asked: memory.files.edited(repo=asked.repo, words=asked.words, limit=asked.limit),
        "Files that agents edited.",
    ),
    ApiEndpoint(
        "/blame", BlameRequest, "FileBlame", lambda memory, asked: memory.files.blame(asked.repo, asked.path),
        "Which session, request and decision led to each line of a file.",
    ),
    ApiEndpoint("/retro", DaysRequest, "Retro", _retro, "A period in retrospect, with errors and what fixed them."),
    ApiEndpoint(
        "/learnings/{learning}", LearningRequest, "Why", lambda memory, asked: memory.learn.why(asked.learning),
        "What a learning rests on, and what people said of it.",
    ),
    ApiEndpoint(
        "/actions", ActionsRequest, Actions,
        lambda memory, asked: Actions(
            tuple(memory.learn.actions(repos=asked.repos, states=asked.states, limit=asked.limit))
        ),
        "What sessions left to do.",
    ),
    ApiEndpoint(
        "/facts", "FactQuestion", "FactsAnswer", lambda memory, asked: memory.notes.facts.find(asked, limit=LISTED),
        f"What is so, since when and until when, at most {LISTED}.",
    ),
    ApiEndpoint(
        "/diary", "DiaryQuestion", "DiaryAnswer", lambda memory, asked: memory.notes.diary.read(asked, limit=LISTED),
        f"Diary entries, the newest first, at most {LISTED}.",
    ),
    ApiEndpoint(
        "/documents", NoParameters, Collections, lambda memory, _asked: Collections(memory.documents.list()),
        "The collections of documents.",
    ),
    ApiEndpoint(
        "/documents/{collection}", DocumentsRequest, "CollectionFiles",
        lambda memory, asked: memory.documents.show(asked.collection),
        "The files of a collection.",
    ),
    ApiEndpoint("/stats", NoParameters, "Stats", lambda memory, _asked: memory.stats(), "What is in the memory."),
    ApiEndpoint(
        "/doctor", NoParameters, "DoctorReport", lambda memory, _asked: memory.maintenance.doctor(),
        "Health, from checks that are run now.",
    ),
    ApiEndpoint(
        "/agents", NoParameters, Agents, lambda memory, _asked: Agents(memory.agents.list(), memory.agents.drift()),
        "The agents, and what of their formats is not known.",
    ),
    ApiEndpoint(
        "/ingest", LimitRequest, IngestHistory,
        lambda memory, asked: IngestHistory(memory.maintenance.latest_sources(limit=asked.limit)),
        "What was ingested last.",
    ),
    ApiEndpoint(
        "/log", LimitRequest, AuditLog,
        lambda memory, asked: AuditLog(memory.maintenance.log(limit=asked.limit)),
        "What was done by hand, taken away, and what failed.",
    ),
    ApiEndpoint(
        "/storage", NoParameters, "StorageReport", lambda memory, _asked: memory.maintenance.retention.storage(),
        "What the memory takes.",
    ),
    ApiEndpoint(
        "/retention", NoParameters, "EvictReport", lambda memory, _asked: memory.maintenance.retention.preview(),
        "What retention would remove now. Nothing is removed.",
    ),
    ApiEndpoint(
        "/settings", NoParameters, "SettingsView", lambda memory, _asked: memory.maintenance.settings(),
        "The configuration, and where each value comes from.",
    ),
    ApiEndpoint("/setup/{agent}", SetupRequest, "AgentReport", _setup, "What setting an agent up would do."),
)  # fmt: skip
