"""`memory.notes.facts`: facts with their validity; contradictions, history, the glossary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from recollect.errors import UsageError
from recollect.insights.notes.contradictions import Contradiction, contradictions_among
from recollect.insights.notes.facts import (
    Decided,
    FactAdded,
    NewFact,
    add_fact,
    end_fact,
    fact_of_learning,
    facts_of_decision,
    find_fact,
    predicates_with_one_object,
    retract_fact,
    supersede_fact,
)
from recollect.insights.notes.linked_data import linked_data
from recollect.memory.diary import NotingFacet
from recollect.model.insights.nodes import DecisionState
from recollect.model.learnings.learnings import GIVEN_STATES
from recollect.model.learnings.names import normal_name, normal_predicate
from recollect.model.learnings.notes import Batch, Fact
from recollect.model.marker import names_marker
from recollect.privacy.password_sentences import tells_credential
from recollect.recall.decisions import DecisionQuestion, DecisionView, ask_decisions
from recollect.store.entries import MEANS
from recollect.store.learnings import LearningFilter
from recollect.store.notes import FactQuestion, NoteWriter, new_batch
from recollect.units import plural


class FactsAnswer(msgspec.Struct, frozen=True):
    """Facts, newest first. total: how many match."""

    facts: tuple[Fact, ...]
    total: int


class FactsFacet(NotingFacet):
    """The facts of one memory."""

    def add(self, new: NewFact) -> FactAdded:
        """Store a fact, redacted, and return the facts that contradict it. A known fact changes nothing.

        Writes to the database without the ingest lock. Raises UsageError for an invalid fact, StoreLocked, DiskFull,
        StoreError.
        """
        new = self._clean(new)
        with self._noting.writing() as notes:
            return add_fact(notes, new, now_us=self._noting.now_us())

    def supersede(self, new: NewFact, *, at: int | None = None, old_object: str = "") -> FactAdded:
        """Replace the present fact of a subject and predicate at one instant (default: now).

        old_object: only the fact with this object. Raises as `add`.
        """
        new, now = self._clean(new), self._noting.now_us()
        old = self._noting.clean(old_object)
        with self._noting.writing() as notes:
            return supersede_fact(notes, new, at=now if at is None else at, now_us=now, old_object=old)

    def end(self, name: str, *, ended: int | None = None) -> Fact:
        """End a fact, by default now. One that ended earlier stays as it is. Raises UnknownName."""
        now = self._noting.now_us()
        self._noting.must_be_there()
        with self._noting.writing() as notes:
            fact = find_fact(notes, name)
            return end_fact(notes, fact, ended=now if ended is None else ended, now_us=now)

    def retract(self, name: str) -> Fact:
        """Mark a fact as never true. Its history is kept. Raises UnknownName."""
        self._noting.must_be_there()
        with self._noting.writing() as notes:
            return retract_fact(notes, find_fact(notes, name), now_us=self._noting.now_us())

    def named(self, subject: str, predicate: str, object_: str) -> Fact:
        """Return the present fact with these words. Raises UsageError if there is none or more than one."""
        clean = self._noting.clean
        question = FactQuestion(subject=clean(subject), predicate=predicate, object=clean(object_))
        found = self.find(question, limit=2).facts
        if len(found) != 1:
            said = f"{subject} {predicate} {object_}"
            what = "no fact that holds" if not found else "more than one fact"
            raise UsageError(f"{what} says {said!r}", hint="name it by its id; `recollect facts --history` lists all")
        return found[0]

    def find(self, question: FactQuestion, *, limit: int | None = 50) -> FactsAnswer:
        """Return facts, newest first. Raises UnknownName for a repository."""
        if not self._noting.home.is_there():
            return FactsAnswer((), 0)
        at = question.at
        if at is None and not question.is_history:
            at = self._noting.now_us()
        where = msgspec.structs.replace(question, repo=self._noting.repository(question.repo), at=at)
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
        """Return one fact by id or unique prefix. Raises UnknownName."""
        self._noting.must_be_there()
        with self._noting.reading() as notes:
            return find_fact(notes, name)

    def contradictions(self, *, repo: str = "", at: int | None = None) -> tuple[Contradiction, ...]:
        """Return pairs of facts that contradict each other, at an instant or at any time. Raises UnknownName for a
        repository.
        """
        if not self._noting.home.is_there():
            return ()
        repo = self._noting.repository(repo)
        with self._noting.reading() as notes:
            facts = notes.facts(FactQuestion(repo=repo, at=at, is_history=True))
            undone = notes.undone(facts)
            facts = [fact for fact in facts if fact.id not in undone]
            return tuple(contradictions_among(facts, predicates_with_one_object(notes)))

    def means(self, word: str, other: str) -> FactAdded:
        """Declare two words as synonyms for searches."""
        return self.add(NewFact(subject=word, predicate=MEANS, object=other))

    def linked_data(self, question: FactQuestion) -> dict[str, Any]:
        """Return facts as a JSON-LD document; see `insights.notes.linked_data`."""
        return linked_data(self.find(question, limit=None).facts)

    def begin(self, text: str, *, name: str) -> int:
        """Return the instant at which "from" this time begins; see `model.time`. Raises UsageError, which refers to
        it as `name`.
        """
        return self._noting.period(text, name=name).start_us

    def end_of(self, text: str, *, name: str) -> int:
        """Return the exclusive end of "until" this time. Raises as `begin`."""
        return self._noting.period(text, name=name).until_us

    def instant(self, text: str, *, name: str) -> int:
        """Return the instant that "at" this time means. Raises as `begin`."""
        return self._noting.period(text, name=name).last_us

    def _clean(self, new: NewFact) -> NewFact:
        clean = self._noting.clean
        said = {name: clean(getattr(new, name)) for name in ("subject", "predicate", "object", "repo", "reference")}
        words = f"{new.subject} {new.predicate}".replace("_", " ")
        sentences = f"{words} {new.object}\n{words.split(' ')[-1]} is {new.object}"
        if not names_marker(said["object"]) and tells_credential(sentences):
            raise UsageError(
                "this looks like a password or a key, and facts are given to agents as they stand",
                hint="keep where it is instead, such as: recollect facts add staging password_is_in 1Password",
            )
        return msgspec.structs.replace(new, **said)


def _has_words(fact: Fact, words: tuple[str, ...]) -> bool:
    if not words:
        return True
    said = " ".join(_said(fact))
    return all(normal_name(word) in said for word in words)


def _said(fact: Fact) -> Iterator[str]:
    yield from (normal_name(fact.subject), fact.predicate.replace("_", " "), fact.predicate, normal_name(fact.object))


_Done = Literal["added", "known", "ended"]
_ENDING = ("supersedes", "reverses")
_STOOD: tuple[DecisionState, ...] = ("holds", "contradicted", "superseded", "reversed")


class SeedReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """The result of seeding. known: facts that existed. ended: facts whose decision was replaced; retracted: facts
    whose decision or learning no longer exists. batch None: nothing was added.
    """

    batch: Batch | None = None
    decisions: int = 0
    learnings: int = 0
    added: int = 0
    known: int = 0
    ended: int = 0
    retracted: int = 0


class SeedingFacet(NotingFacet):
    """Seeds the facts of one memory."""

    def seed(self, *, repo: str = "") -> SeedReport:
        """Derive facts from decisions and learned facts; repeating it adds nothing. repo: only this one, exact name.

        Ends or retracts facts that no longer follow. A fact that a person retracted stays retracted. Raises UnknownName
        for a repository, StoreLocked, StoreError.
        """
        if not self._noting.home.is_there():
            return SeedReport()
        repo = self._noting.repository(repo, whole=True)
        decided, learned = self._decided(repo), self._learned(repo)
        facts = [fact for item in decided for fact in facts_of_decision(item)] + learned
        sources = len(decided), len(learned)
        now = self._noting.now_us()
        batch = new_batch(
            "facts",
            started_at=now,
            about=f"seeded from {plural(sources[0], 'decision')}, {plural(sources[1], 'learning')}",
        )
        with self._noting.writing() as notes:
            known = _of_seeds(notes, repo)
            wanted = {_key_of(new) for new in facts}
            # First: what one decision says no more, another one may.
            stale = [fact for key, fact in known.items() if key not in wanted and not fact.is_retracted]
            for fact in stale:
                retract_fact(notes, fact, now_us=now)
            done = [_kept(notes, new, known.get(_key_of(new)), now_us=now, batch=batch.id) for new in facts]
            added, ended = done.count("added"), done.count("ended")
            if added:
                batch = msgspec.structs.replace(batch, counts={"facts": added})
                notes.put_batch(batch)
        return SeedReport(batch if added else None, *sources, added, len(facts) - added - ended, ended, len(stale))

    def _decided(self, repo: str) -> list[Decided]:
        question = DecisionQuestion(repos=(f"={repo}",) if repo else (), states=_STOOD, is_sure=True)
        views = ask_decisions(self._noting.home.distilled(), question, each=True).decisions
        return [Decided(v.decision, v.repo, v.recorded_at, _ended_at(v)) for v in reversed(views)]

    def _learned(self, repo: str) -> list[NewFact]:
        from recollect.store.learnings import LearningReader

        where = LearningFilter(kinds=("fact",), states=GIVEN_STATES, repos=(repo,) if repo else ())
        reader = LearningReader(self._noting.home.home)
        try:
            found = [fact_of_learning(learning) for learning in reversed(reader.learnings(where))]
        finally:
            reader.close()
        return [fact for fact in found if fact is not None]


_Key = tuple[str, str, str, str, str]


def _of_seeds(notes: NoteWriter, repo: str) -> dict[_Key, Fact]:
    """Return the facts that seeding added, as they are now; of several the one that holds, or was recorded last."""
    facts = notes.facts(FactQuestion(repo=f"={repo}" if repo else "", is_history=True))
    seeded = [fact for fact in facts if fact.source in ("decision", "learning")]
    seeded.sort(key=lambda fact: (not fact.is_retracted, fact.recorded_at))
    return {_key_of(fact): fact for fact in seeded}


def _kept(notes: NoteWriter, new: NewFact, known: Fact | None, *, now_us: int, batch: str) -> _Done:
    """Keep one fact, or bring the one that is known up to date."""
    undone = known is not None and known.is_retracted and _is_undone(notes, known.batch)
    if known is not None and not undone:
        if new.valid_to is not None and known.valid_to is None and not known.is_retracted:
            end_fact(notes, known, ended=new.valid_to, now_us=now_us)
            return "ended"
        return "known"
    return "added" if add_fact(notes, new, now_us=now_us, batch=batch).is_new else "known"


def _is_undone(notes: NoteWriter, batch: str) -> bool:
    found = notes.named_batches(batch)
    return len(found) == 1 and found[0].undone_at is not None


def _key_of(fact: NewFact | Fact) -> _Key:
    names = normal_name(fact.subject), normal_predicate(fact.predicate), normal_name(fact.object)
    return (*names, fact.repo, fact.reference)


def _ended_at(view: DecisionView) -> int | None:
    since = [
        link.since for link in view.links
        if link.older == view.decision.id and link.relation in _ENDING and link.since is not None
    ]  # fmt: skip
    return min(since, default=None)
