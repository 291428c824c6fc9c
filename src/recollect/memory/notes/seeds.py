"""`memory.notes.seeding`: facts from what was decided and learned, in a batch of their own."""

from __future__ import annotations

from typing import Literal

import msgspec

from recollect.insights.notes.facts import NewFact, add_fact, end_fact, retract_fact
from recollect.insights.notes.seeds import Decided, fact_of_learning, facts_of_decision
from recollect.memory.notes.base import Noting
from recollect.model.insights.nodes import DecisionState
from recollect.model.learnings.learnings import GIVEN_STATES
from recollect.model.learnings.names import normal_name, normal_predicate
from recollect.model.learnings.notes import Batch, Fact
from recollect.recall.decisions import DecisionQuestion, DecisionView, ask_decisions
from recollect.store.learnings import LearningFilter
from recollect.store.notes import FactFilter, NoteWriter, new_batch
from recollect.units import plural

_Done = Literal["added", "known", "ended"]
_ENDING = ("supersedes", "reverses")
_STOOD: tuple[DecisionState, ...] = ("holds", "contradicted", "superseded", "reversed")


class SeedReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """What seeding did. known: facts that were there. ended: whose decision was replaced since; retracted: whose
    decision or learning is there no more. batch None: nothing was added."""

    batch: Batch | None = None
    decisions: int = 0
    learnings: int = 0
    added: int = 0
    known: int = 0
    ended: int = 0
    retracted: int = 0


class SeedingFacet:
    """Seeds facts of one memory."""

    def __init__(self, noting: Noting) -> None:
        self._noting = noting

    def seed(self, *, repo: str = "") -> SeedReport:
        """Derive facts from decisions and learned facts; a second time adds nothing. repo: only of this one, exactly.

        What they say no more is ended or retracted. A fact of theirs that a person retracted stays so.
        Raises UnknownName for a repository, StoreLocked, StoreError.
        """
        if not self._noting.is_there():
            return SeedReport()
        repo = self._noting.repository(repo)
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
        views = ask_decisions(self._noting.memory.distilled(), question, each=True).decisions
        return [Decided(v.decision, v.repo, v.recorded_at, _ended_at(v)) for v in reversed(views)]

    def _learned(self, repo: str) -> list[NewFact]:
        from recollect.store.learnings import LearningReader

        where = LearningFilter(kinds=("fact",), states=GIVEN_STATES, repos=(repo,) if repo else ())
        reader = LearningReader(self._noting.memory.home)
        try:
            found = [fact_of_learning(learning) for learning in reversed(reader.learnings(where))]
        finally:
            reader.close()
        return [fact for fact in found if fact is not None]


_Key = tuple[str, str, str, str, str]


def _of_seeds(notes: NoteWriter, repo: str) -> dict[_Key, Fact]:
    """Return the facts that seeding added, as they are now; of several the one that holds, or was recorded last."""
    facts = notes.facts(FactFilter(repo=repo, is_history=True))
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
