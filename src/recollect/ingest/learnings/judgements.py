"""A person's word on what was learned: small writes straight to the database, without the ingest lock."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import msgspec

from recollect.config import Config
from recollect.errors import BrokenInvariant, UsageError
from recollect.ingest.learnings.keep import Keeping
from recollect.ingest.learnings.run import Opened, rules_of
from recollect.ingest.learnings.user_file import (
    NOTE,
    UserFileReport,
    find_removed,
    write_user_file,
    written_before,
)
from recollect.ingest.learnings.views import NewLearning
from recollect.insights.learnings.identity import LONGEST_TEXT, confidence_of, learning_id
from recollect.insights.learnings.settlement import PERSON
from recollect.model.learnings.learnings import GIVEN_STATES, Learning
from recollect.store.home import LazyRedactor
from recollect.store.learning_writer import LearningStore, open_learning_store
from recollect.store.learnings import Known, LearningFilter, LearningReader, Verdict

WRITTEN_DOWN = "written down"
"""The feature of what a person wrote themselves."""


class OpenMemory(Protocol):
    """What is needed of an open memory."""

    home: Path
    config: Config

    def writing(self) -> AbstractContextManager[Opened]: ...


class Judging:
    """Keeps verdicts. They outlive whatever is derived anew; the newest of a learning counts."""

    def __init__(self, memory: OpenMemory, now_us: Callable[[], int]) -> None:
        self._memory = memory
        self._now_us = now_us

    def confirm(self, learning: Learning, *, reason: str) -> Learning:
        """Keep that a learning is right."""
        return self._judge(learning, Verdict(verdict="confirm", at=self._now_us(), reason=self._clean(reason)))

    def retire(self, learning: Learning, *, reason: str) -> Learning:
        """Keep that a learning does not hold."""
        return self._judge(learning, Verdict(verdict="retire", at=self._now_us(), reason=self._clean(reason)))

    def done(self, learning: Learning, *, reason: str) -> Learning:
        """Keep that an action was done."""
        if learning.kind != "action":
            raise UsageError(
                f"{learning.id} is a {learning.kind}, nothing to do", hint="`recollect actions` lists them"
            )
        return self._judge(learning, Verdict(verdict="done", at=self._now_us(), reason=self._clean(reason)))

    def correct(self, learning: Learning, text: str, *, reason: str) -> Learning:
        """Keep what is right instead of a learning; that one is superseded."""
        now = self._now_us()
        right = self._written(
            NewLearning(
                text=text, kind=learning.kind, scope=learning.scope, repo=learning.repo, path=learning.path,
                priority=learning.priority, expires_at=learning.expires_at,
            ), now,
        )  # fmt: skip
        if right.id == learning.id:
            raise UsageError("that is what it says already", hint=f"recollect learnings confirm {learning.id}")
        corrected = Verdict(verdict="correct", at=now, reason=self._clean(reason), replaced_by=right.id)
        with open_learning_store(self._memory.home) as store, store.transaction():
            store.add_verdict(right.id, Verdict(verdict="said", at=now, learning=right))
            store.add_verdict(learning.id, corrected)
            self._settle(store, (right.id, learning.id))
        return self._kept(right.id)

    def add(self, new: NewLearning) -> Learning:
        """Keep what a person writes down."""
        now = self._now_us()
        written = self._written(new, now)
        with open_learning_store(self._memory.home) as store, store.transaction():
            store.add_verdict(written.id, Verdict(verdict="said", at=now, learning=written))
            self._settle(store, (written.id,))
        return self._kept(written.id)

    def write_user_file(self, path: Path) -> UserFileReport:
        """Have `user.md` say what the user prefers, after what they took out of it was retired."""
        with open_learning_store(self._memory.home) as store:
            written = written_before(store.note(NOTE), str(path))
            removed = [known.id for known in store.known(find_removed(path, written)) if not _is_retired(known)]
            if removed:
                gone = Verdict(verdict="retire", at=self._now_us(), reason=f"its line was taken out of {path.name}")
                with store.transaction():
                    for learning_id in removed:
                        store.add_verdict(learning_id, gone)
                    self._settle(store, removed)
            report, now = write_user_file(path, self._preferences(), written)
            if now != written:
                with store.transaction():
                    store.set_note(NOTE, msgspec.json.encode(now))
        return msgspec.structs.replace(report, removed=tuple(removed))

    def _preferences(self) -> list[Learning]:
        reader = LearningReader(self._memory.home)
        try:
            return reader.learnings(LearningFilter(kinds=("preference",), scopes=("user",), states=GIVEN_STATES))
        finally:
            reader.close()

    def settle_batch(self, batch: str) -> int:
        """Compute what a batch added anew, after it was undone."""
        reader = LearningReader(self._memory.home)
        try:
            ids = [one.id for one in reader.learnings(LearningFilter(batch=batch)) if one.state != "retired"]
        finally:
            reader.close()
        with open_learning_store(self._memory.home) as store, store.transaction():
            self._settle(store, ids)
        return len(ids)

    def _judge(self, learning: Learning, verdict: Verdict) -> Learning:
        with open_learning_store(self._memory.home) as store, store.transaction():
            store.add_verdict(learning.id, verdict)
            self._settle(store, (learning.id,))
        return self._kept(learning.id)

    def _settle(self, store: LearningStore, ids: Collection[str]) -> None:
        """Compute learnings anew, and compare what else is known of their repositories, in the same transaction."""
        keeping = Keeping(store, store.queue, rules_of(self._memory.config, self._now_us), None)
        keeping.settle(ids)
        for repo in sorted({known.kept.repo for known in store.known(ids) if known.kept is not None}):
            keeping.relate(repo)

    def _written(self, new: NewLearning, now: int) -> Learning:
        text = self._clean(" ".join(new.text.split()))
        if not text:
            raise UsageError("a learning needs words")
        if len(text) > LONGEST_TEXT:
            raise UsageError(f"a learning has at most {LONGEST_TEXT} characters; this has {len(text):,}")
        scope = "path" if new.path else new.scope
        if scope != "user" and not new.repo:
            raise UsageError("a learning of a repository needs its name", hint="name it, or say that it holds anywhere")
        repo, path = ("", "") if scope == "user" else (new.repo, new.path)
        features = {WRITTEN_DOWN: 0.99}
        return Learning(
            id=learning_id(new.kind, scope, repo, path, text), kind=new.kind, text=text, scope=scope, repo=repo,
            path=path, status="observed", features=features, confidence=confidence_of(features), valid_from=now,
            recorded_at=now, extractor=PERSON, priority=new.priority, expires_at=new.expires_at,
        )  # fmt: skip

    def _kept(self, learning_id: str) -> Learning:
        reader = LearningReader(self._memory.home)
        try:
            found = reader.learning(learning_id)
        finally:
            reader.close()
        if found is None:
            raise BrokenInvariant(f"the learning {learning_id} was written and is not there")
        return found

    def _clean(self, text: str) -> str:
        """Return a text without secrets."""
        if not text.strip():
            return ""
        if not (self._memory.home / "keys").exists():
            with self._memory.writing():  # a memory in which nothing was ever taken in has no keys yet
                pass
        return LazyRedactor(self._memory.home / "keys", self._memory.config.privacy).redact_text(text.strip())[0]


def _is_retired(known: Known) -> bool:
    return bool(known.verdicts) and known.verdicts[-1].verdict == "retire"
