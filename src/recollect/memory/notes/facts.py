"""`memory.notes.facts`: what is so, since when and until when; contradictions, history, the glossary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from recollect.errors import UsageError
from recollect.insights.notes.contradictions import Contradiction, contradictions_among
from recollect.insights.notes.facts import (
    FactAdded,
    NewFact,
    add_fact,
    end_fact,
    find_fact,
    predicates_with_one_object,
    retract_fact,
    supersede_fact,
)
from recollect.insights.notes.linked_data import linked_data
from recollect.memory.notes.base import Noting
from recollect.model.learnings.names import normal_name
from recollect.model.learnings.notes import Fact
from recollect.store.entries import MEANS
from recollect.store.notes import FactFilter


class FactQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Which facts. Empty: all that hold now.

    subject, predicate, object: as a whole, case and white space don't count; about: subject or object. words: each must
    stand somewhere in it. at: what held then, known_at: as the memory knew it then; UTC microseconds, None: now.
    is_history: whatever became of them, and whenever they held.
    """

    subject: str = ""
    predicate: str = ""
    object: str = ""
    about: str = ""
    repo: str = ""
    words: tuple[str, ...] = ()
    at: int | None = None
    known_at: int | None = None
    is_history: bool = False


class FactsAnswer(msgspec.Struct, frozen=True):
    """Facts, the newest first. total: how many match."""

    facts: tuple[Fact, ...]
    total: int


class FactsFacet:
    """Facts of one memory."""

    def __init__(self, noting: Noting) -> None:
        self._noting = noting

    def add(self, new: NewFact) -> FactAdded:
        """Keep a fact, its secrets redacted, and return what contradicts it. One that is known changes nothing.

        Straight to the database, without the ingest lock. Raises UsageError for a fact that cannot be, StoreLocked,
        DiskFull, StoreError.
        """
        new = self._clean(new)
        with self._noting.writing() as notes:
            return add_fact(notes, new, now_us=self._noting.now_us())

    def supersede(self, new: NewFact, *, at: int | None = None, old_object: str = "") -> FactAdded:
        """Have a fact take the place of what holds of its subject and predicate, at one instant (default: now).

        old_object: only of the fact with that one. Raises as `add`.
        """
        new, now = self._clean(new), self._noting.now_us()
        old = self._noting.clean(old_object)
        with self._noting.writing() as notes:
            return supersede_fact(notes, new, at=now if at is None else at, now_us=now, old_object=old)

    def end(self, name: str, *, ended: int | None = None) -> Fact:
        """Say that a fact ended, by default now. One that has ended by then stays as it is. Raises UnknownName."""
        now = self._noting.now_us()
        self._noting.must_be_there()
        with self._noting.writing() as notes:
            fact = find_fact(notes, name)
            return end_fact(notes, fact, ended=now if ended is None else ended, now_us=now)

    def retract(self, name: str) -> Fact:
        """Say that a fact never held. Its history is kept. Raises UnknownName."""
        self._noting.must_be_there()
        with self._noting.writing() as notes:
            return retract_fact(notes, find_fact(notes, name), now_us=self._noting.now_us())

    def named(self, subject: str, predicate: str, object_: str) -> Fact:
        """Return the fact of these words that holds now. Raises UsageError where none or more than one does."""
        clean = self._noting.clean
        question = FactQuestion(subject=clean(subject), predicate=predicate, object=clean(object_))
        found = self.find(question, limit=2).facts
        if len(found) != 1:
            said = f"{subject} {predicate} {object_}"
            what = "no fact that holds" if not found else "more than one fact"
            raise UsageError(f"{what} says {said!r}", hint="name it by its id; `recollect facts --history` lists all")
        return found[0]

    def find(self, question: FactQuestion, *, limit: int | None = 50) -> FactsAnswer:
        """Return facts, the newest first. Raises UnknownName for a repository."""
        if not self._noting.is_there():
            return FactsAnswer((), 0)
        at = question.at
        if at is None and not question.is_history:
            at = self._noting.now_us()
        where = FactFilter(
            question.subject, question.predicate, question.object, question.about,
            self._noting.repository(question.repo),
            at=at, known_at=question.known_at, is_history=question.is_history,
        )  # fmt: skip
        with self._noting.reading() as notes:
            found = [fact for fact in notes.facts(where) if _has_words(fact, question.words)]
            undone = notes.undone(found)
        found = [
            msgspec.structs.replace(fact, is_undone=True) if fact.id in undone else fact
            for fact in found
            if question.is_history or fact.id not in undone
        ]
        return FactsAnswer(tuple(found[:limit]), len(found))

    def fact(self, name: str) -> Fact:
        """Return one fact by id or a unique beginning. Raises UnknownName."""
        self._noting.must_be_there()
        with self._noting.reading() as notes:
            return find_fact(notes, name)

    def contradictions(self, *, repo: str = "", at: int | None = None) -> tuple[Contradiction, ...]:
        """Return the pairs that cannot hold together: at an instant where one is given, else at any. Raises UnknownName
        for a repository."""
        if not self._noting.is_there():
            return ()
        repo = self._noting.repository(repo)
        with self._noting.reading() as notes:
            facts = notes.facts(FactFilter(repo=repo, at=at, is_history=True))
            undone = notes.undone(facts)
            facts = [fact for fact in facts if fact.id not in undone]
            return tuple(contradictions_among(facts, predicates_with_one_object(notes)))

    def means(self, word: str, other: str) -> FactAdded:
        """Have searches for a word find another one too, and the other way round."""
        return self.add(NewFact(subject=word, predicate=MEANS, object=other))

    def linked_data(self, question: FactQuestion) -> dict[str, Any]:
        """Return facts as a JSON-LD document, see `insights.notes.linked_data`."""
        return linked_data(self.find(question, limit=None).facts)

    def begin(self, text: str, *, name: str) -> int:
        """Return what "from" a time means, see `model.time`. Raises UsageError, which calls it by `name`."""
        return self._noting.period(text, name=name).start_us

    def end_of(self, text: str, *, name: str) -> int:
        """Return what "until" a time means, an exclusive end. Raises as `begin`."""
        return self._noting.period(text, name=name).until_us

    def instant(self, text: str, *, name: str) -> int:
        """Return what "at" a time means. Raises as `begin`."""
        return self._noting.period(text, name=name).last_us

    def _clean(self, new: NewFact) -> NewFact:
        clean = self._noting.clean
        said = {name: clean(getattr(new, name)) for name in ("subject", "predicate", "object", "repo", "reference")}
        return msgspec.structs.replace(new, **said)


def _has_words(fact: Fact, words: tuple[str, ...]) -> bool:
    if not words:
        return True
    said = " ".join(_said(fact))
    return all(normal_name(word) in said for word in words)


def _said(fact: Fact) -> Iterator[str]:
    yield from (normal_name(fact.subject), fact.predicate.replace("_", " "), fact.predicate, normal_name(fact.object))
