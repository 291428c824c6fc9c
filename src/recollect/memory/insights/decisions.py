"""`memory.decisions_facet`: ask for decisions, and add one that was taken where no agent heard it."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from recollect.config import Config
from recollect.errors import StoreError, UsageError
from recollect.model.events import SourceLocation
from recollect.model.insights.nodes import Decision, Evidence, Option, node_id
from recollect.model.sessions import Session, gone_among
from recollect.model.time import required_time
from recollect.ready import withdraw
from recollect.recall.decisions import DecisionQuestion, DecisionsAnswer, DecisionView, ask_decisions, cited
from recollect.store.connection import has_database
from recollect.store.home import LazyRedactor
from recollect.store.rows import EventFilter

if TYPE_CHECKING:
    from recollect.memory.known_names import KnownNames
    from recollect.store.insights import InsightReader
    from recollect.store.reader import Reader

MAX_CHARS = 4_000
"""Of each text of an added decision; more is a document, not a decision."""
ADDED = "added"
"""The source of a decision that no transcript holds; its record is its own statement."""


class OpenMemory(Protocol):
    """What the facet needs of an open memory."""

    home: Path
    config: Config
    env: Mapping[str, str]
    zone: tzinfo

    def reader(self) -> Reader: ...
    def distilled(self) -> InsightReader: ...
    def session(self, uid: str) -> Session: ...
    def known_names(self, folders: Sequence[str] | None = None) -> KnownNames: ...
    def writing(self) -> AbstractContextManager[object]: ...


class NewDecision(msgspec.Struct, frozen=True):
    """What a person says of a decision. chosen, rejected: options; because: the reason. session: a uid, a beginning of
    it or a citation `uid#seq`, "" for none; repo: "" takes the session's."""

    statement: str
    chosen: tuple[str, ...] = ()
    rejected: tuple[str, ...] = ()
    because: str = ""
    session: str = ""
    repo: str = ""
    paths: tuple[str, ...] = ()


class DecisionsFacet:
    """Decisions of one memory."""

    def __init__(self, memory: OpenMemory, now_us: Callable[[], int]) -> None:
        self._memory = memory
        self._now_us = now_us

    def find(self, question: DecisionQuestion, *, limit: int | None = None) -> DecisionsAnswer:
        """Return what was decided, the newest first. Takes nothing in. Raises UnknownName for a session or a
        repository."""
        if not has_database(self._memory.home):
            return DecisionsAnswer((), 0)
        self._memory.known_names().filter(EventFilter(repos=question.repos))
        if question.session:
            uid = self._memory.session(question.session).session_uid
            question = msgspec.structs.replace(question, session=uid)
        answer = ask_decisions(self._memory.distilled(), question, limit=limit)
        uids = tuple({view.decision.session_uid for view in answer.decisions} - {""})
        reader = self._memory.reader()
        keys = reader.session_keys(reader.session_numbers(EventFilter(sessions=uids))) if uids else {}
        gone = gone_among([key.evicted_at for key in keys.values()])
        notes = tuple(note for note in (gone, self._without_weights()) if note)
        return msgspec.structs.replace(answer, notes=notes) if notes else answer

    def _without_weights(self) -> str:
        """Return why only rules find decisions though learned weights should; "" where they can."""
        if not self._memory.config.distill.ranked:
            return ""
        from recollect.insights.scorer import SentenceScorer

        missing = SentenceScorer().missing
        return f"{missing}; decisions are found by rules alone. Install Recollect again" if missing else ""

    def instant(self, text: str, *, name: str) -> int:
        """Return what "at" a time means, see `model.time`. Raises UsageError, which calls it by `name`."""
        return required_time(text, self._now_us(), self._memory.zone, name=name).last_us

    def add(self, new: NewDecision) -> DecisionView:
        """Keep a decision that was taken elsewhere. Secrets in it are redacted.

        Straight to the database, without the ingest lock. The next analysis relates it to others;
        `memory.distilling.run(sessions=())` does so at once.
        Raises UsageError for an empty or endless text, UnknownName for a session or event, StoreLocked, StoreError.
        """
        from recollect.store.insight_writer import add_decision

        _check(new)
        session, evidence = self._place(new.session)
        repo = new.repo or (session.repo if session is not None else "")
        now = self._now_us()
        decision = self._decision(new, session, evidence, now)
        self._withdraw()
        add_decision(self._memory.home, decision, repo=repo, added_at=now)
        self._withdraw()  # what was made ready meanwhile
        return DecisionView(decision, "holds", cited(decision), repo, now)

    def _withdraw(self) -> None:
        try:
            withdraw(os.fspath(self._memory.home))
        except OSError as error:
            raise StoreError(f"the memory's folder cannot be written: {error}") from error

    def _decision(
        self, new: NewDecision, session: Session | None, evidence: tuple[Evidence, ...], now: int
    ) -> Decision:
        if not (self._memory.home / "keys").exists():
            with self._memory.writing():  # a memory in which nothing was ever taken in has no keys yet
                pass
        redact = LazyRedactor(self._memory.home / "keys", self._memory.config.privacy).redact_text

        def clean(text: str) -> str:
            return redact(text.strip())[0]

        statement = clean(new.statement)
        digest = hashlib.sha256(statement.encode("utf-8", "replace")).hexdigest()
        location = SourceLocation(ADDED, 0, 0, len(statement.encode("utf-8", "replace")), 0, digest)
        options = [Option(clean(text), True) for text in new.chosen] + [Option(clean(t), False) for t in new.rejected]
        return Decision(
            id=node_id("decision", ADDED, now, secrets.token_hex(8)),
            session_uid=session.session_uid if session is not None else "",
            location=location,
            ts=now,
            status="observed",
            features={ADDED: 1.0},
            evidence=evidence,
            statement=statement,
            polarity="reject" if new.rejected and not new.chosen else "adopt",
            options=tuple(options),
            rationale=clean(new.because),
            paths=new.paths,
            origin="added",
        )

    def _place(self, name: str) -> tuple[Session | None, tuple[Evidence, ...]]:
        """Return the session that is meant, and its event where a citation names one."""
        if not name:
            return None, ()
        uid, mark, seq = name.partition("#")
        session = self._memory.session(uid)
        if not mark:
            return session, ()
        if not seq.isdecimal():
            raise UsageError(f"{seq!r} is not the number of an event", hint="write SESSION#12, as hits are cited")
        found = self._memory.reader().events(session.session_uid, first_seq=int(seq), limit=1)
        event = next((event for event in found if event.seq == int(seq)), None)
        if event is None:
            raise UsageError(f"{session.session_uid} has no event {seq}", hint="`recollect show` lists them")
        return session, (Evidence(session.session_uid, event.event_id, event.part, "added", event.location, event.seq),)


def _check(new: NewDecision) -> None:
    if not new.statement.strip():
        raise UsageError("a decision needs words", hint='recollect decisions add "We keep SQLite"')
    texts: Sequence[str] = (new.statement, new.because, *new.chosen, *new.rejected, *new.paths)
    if max(map(len, texts)) > MAX_CHARS:
        raise UsageError(f"a decision's text has at most {MAX_CHARS:,} characters")
