"""Derives facts from decisions and learnings. Pure: the same input gives the same facts.

A decision says what its repository `adopted`, `prefers`, `rejected` or `banned`, or, where it names no options, what
was `decided`. A learned fact is split at a verb that its words turn on (`The build needs Node 20`); one without such
a verb is what its repository `states`. Each fact refers to what it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from recollect.errors import UnknownName, UsageError
from recollect.insights.notes.contradictions import (
    CARDINALITY,
    Contradiction,
    check_interval,
    contradictions_of,
    overlap,
    single_valued,
)
from recollect.model.insights.nodes import Decision, Status
from recollect.model.learnings.learnings import Learning
from recollect.model.learnings.names import normal_name, normal_predicate
from recollect.model.learnings.notes import Fact, FactSource
from recollect.store.notes import FactQuestion, NoteReader, NoteWriter, changed_fact

MAX_NAME_CHARS = 1_000
"""Of a subject, predicate or object; more is a document, not a fact."""


class NewFact(msgspec.Struct, frozen=True, kw_only=True):
    """A fact as somebody says it, redacted. Times in UTC microseconds, [valid_from, valid_to), None: open."""

    subject: str
    predicate: str
    object: str
    valid_from: int | None = None
    valid_to: int | None = None
    repo: str = ""
    source: FactSource = "person"
    reference: str = ""
    status: Status = "observed"
    confidence: float = 1.0


class FactAdded(msgspec.Struct, frozen=True, omit_defaults=True):
    """What became of a fact that was said. is_new: it was not known. contradictions: what cannot hold beside it.

    replaced: facts that it took the place of: the same ones with a narrower interval, or what it superseded.
    """

    fact: Fact
    is_new: bool
    contradictions: tuple[Contradiction, ...] = ()
    replaced: tuple[Fact, ...] = ()


def add_fact(notes: NoteWriter, new: NewFact, *, now_us: int, batch: str = "") -> FactAdded:
    """Keep a fact unless it is known.

    Said again without a beginning after it had ended, it holds from now on; where its interval reaches beyond one that
    is known and overlaps, one fact with both takes their place. What a run added is apart from that, so that it can be
    undone: it takes no other's place, and what somebody says too is not the run's any more. Raises UsageError for an
    empty or endless name or an inverted interval.
    """
    new = checked(new)
    same = [
        fact
        for fact in notes.facts(
            FactQuestion(subject=new.subject, predicate=new.predicate, object=new.object, is_history=True)
        )
        if not fact.is_retracted and fact.repo == new.repo
    ]
    begin, end = new.valid_from, new.valid_to
    if begin is None and any(fact.valid_to is not None and fact.valid_to <= now_us for fact in same):
        open_ones = [fact for fact in same if fact.valid_to is None or fact.valid_to > now_us]
        begin = None if open_ones else now_us
        check_interval(begin, end)
    near = [fact for fact in same if overlap((begin, end), (fact.valid_from, fact.valid_to))]
    for fact in near:
        if _covers(fact, begin, end):
            if fact.batch and not batch:
                fact = msgspec.structs.replace(fact, batch="")  # noqa: PLW2901
                notes.put_fact(fact)
            return FactAdded(fact, False, tuple(contradicting(notes, fact)))
    near = [fact for fact in near if fact.batch == batch]
    if near:  # "since when" unsaid is no claim that it always was so: a known beginning stands
        begins = [fact.valid_from for fact in near if fact.valid_from is not None]
        begins += [begin] if begin is not None else []
        begin = min(begins) if all(fact.valid_from is not None for fact in near) else None
    if near and end is not None:
        ends = [fact.valid_to for fact in near]
        end = None if None in ends else max(end, *[e for e in ends if e is not None])
    fact = _made(new, begin, end, now_us=now_us, batch=batch)
    for old in near:
        notes.put_fact(changed_fact(old, at=now_us, is_retracted=True))
    notes.put_fact(fact)
    return FactAdded(fact, True, tuple(contradicting(notes, fact)), tuple(near))


def supersede_fact(
    notes: NoteWriter, new: NewFact, *, at: int, now_us: int, old_object: str = "", batch: str = ""
) -> FactAdded:
    """End what holds of a subject and predicate, and begin another object, at one instant.

    old_object: only the fact with that one is ended. Without one that holds, the new fact is added all the same.
    Raises UsageError where one would end before it began.
    """
    new = checked(msgspec.structs.replace(new, valid_from=at))
    held = [
        fact
        for fact in notes.facts(FactQuestion(subject=new.subject, predicate=new.predicate, at=at))
        if fact.repo == new.repo
        and normal_name(fact.object) != normal_name(new.object)
        and (not old_object or normal_name(fact.object) == normal_name(old_object))
    ]
    ended = tuple(end_fact(notes, fact, ended=at, now_us=now_us) for fact in held)
    added = add_fact(notes, new, now_us=now_us, batch=batch)
    return msgspec.structs.replace(added, replaced=(*ended, *added.replaced))


def end_fact(notes: NoteWriter, fact: Fact, *, ended: int, now_us: int) -> Fact:
    """End a fact. One that ended earlier stays. Raises UsageError for an end before its beginning.

    The end is exclusive: at that instant the fact no longer holds.
    """
    if fact.is_retracted or (fact.valid_to is not None and fact.valid_to <= ended):
        return fact
    if fact.valid_from is not None and ended <= fact.valid_from:
        raise UsageError(
            f"{fact.subject} {fact.predicate} {fact.object} begins then or later, so it cannot end then",
            hint="give a later end, or retract it if it never held",
        )
    changed = changed_fact(fact, at=now_us, valid_to=ended)
    notes.put_fact(changed)
    return changed


def retract_fact(notes: NoteWriter, fact: Fact, *, now_us: int) -> Fact:
    """Say that a fact never held. Repeating it is harmless."""
    if fact.is_retracted:
        return fact
    changed = changed_fact(fact, at=now_us, is_retracted=True)
    notes.put_fact(changed)
    return changed


def find_fact(notes: NoteReader, name: str) -> Fact:
    """Return the fact of an id, or of a unique prefix; it may be cited. Raises UnknownName."""
    wanted = name.strip().removeprefix("fact:").partition("#")[0]
    found = notes.named_facts(wanted) if wanted else []
    if len(found) != 1:
        raise UnknownName(
            "fact", name, nearest=tuple(fact.id for fact in found[:3]), hint="`recollect facts` lists them"
        )
    return found[0]


def contradicting(notes: NoteReader, fact: Fact) -> list[Contradiction]:
    """Return what is known that cannot hold beside a fact."""
    known = notes.facts(FactQuestion(subject=fact.subject, is_history=True))
    return contradictions_of(fact, known, predicates_with_one_object(notes))


def predicates_with_one_object(notes: NoteReader) -> frozenset[str]:
    """Return the predicates that have one object at a time, see `insights.notes.contradictions`."""
    return single_valued(notes.facts(FactQuestion(predicate=CARDINALITY)))


def checked(new: NewFact) -> NewFact:
    """Return a fact with its names tidied. Raises UsageError for names or an interval that cannot be."""
    subject, said = " ".join(new.subject.split()), " ".join(new.object.split())
    predicate = normal_predicate(new.predicate)
    for name, text in (("subject", normal_name(subject)), ("predicate", predicate), ("object", normal_name(said))):
        if not text:
            raise UsageError(f"a fact needs a {name}", hint='recollect facts add "shop-api" runs_on "Python 3.12"')
    if max(len(subject), len(new.predicate), len(said)) > MAX_NAME_CHARS:
        raise UsageError(f"each part of a fact has at most {MAX_NAME_CHARS:,} characters")
    check_interval(new.valid_from, new.valid_to)
    return msgspec.structs.replace(new, subject=subject, predicate=predicate, object=said)


def fact_id(*parts: object) -> str:
    """Return `f` and 20 hex digits: a hash of what a fact says, where, and when it was recorded."""
    name = blake2b(digest_size=10, person=b"recollect.fact")
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        name.update(len(data).to_bytes(4, "big") + data)
    return f"f{name.hexdigest()}"


def _covers(fact: Fact, begin: int | None, end: int | None) -> bool:
    """Return whether a fact already says that it holds in [begin, end). No beginning is no claim."""
    begins = begin is None or fact.valid_from is None or fact.valid_from <= begin
    return begins and (fact.valid_to is None or (end is not None and end <= fact.valid_to))


def _made(new: NewFact, begin: int | None, end: int | None, *, now_us: int, batch: str) -> Fact:
    names: Sequence[str] = (normal_name(new.subject), new.predicate, normal_name(new.object), new.repo)
    return Fact(
        id=fact_id(*names, begin, end, now_us),
        subject=new.subject,
        predicate=new.predicate,
        object=new.object,
        valid_from=begin,
        valid_to=end,
        repo=new.repo,
        source=new.source,
        reference=new.reference,
        status=new.status,
        confidence=new.confidence,
        recorded_at=now_us,
        batch=batch,
    )


EVERYWHERE = "user"
"""The subject of what holds in no repository, but wherever the person works."""
MAX_OBJECT_CHARS = 300
_MAX_SUBJECT_WORDS = 6
_VERBS = (
    "is in", "is on", "is at", "is", "are", "uses", "use", "needs", "need", "requires", "require", "runs on",
    "runs", "lives in", "listens on", "depends on", "deploys to", "belongs to", "has", "have", "means",
)  # fmt: skip
_PREDICATES = {"are": "is", "use": "uses", "need": "needs", "require": "requires", "have": "has"}
_SPLIT = re.compile(rf"(?P<subject>\S.{{0,120}}?)\s+(?P<verb>{'|'.join(_VERBS)})\s+(?P<object>\S.*)", re.S | re.I)
_NEGATED = re.compile(r"(?:not|no|never|n't)\b", re.I)
_ADOPTING = {"adopt": "adopted", "reverse": "adopted", "prefer": "prefers"}
_REFUSING = {"ban": "banned"}
_WHERE = re.compile(r"\s+(?:in|into|on|as|at|to|through|from|im|auf|als)\b", re.I)
_TAKES = re.compile(
    r"\b(?:us(?:e|es|ing)|with|to|(?<!now )on|adopt|choose|pick|take|prefer|mit|nutz\w*|verwende\w*)\s+"
    r"(?:(?:the|an?)\s+)?$",
    re.I,
)


class Decided(NamedTuple):
    """A valid decision. reference: its id. ended_at: since when another one replaced it, None if none did."""

    decision: Decision
    repo: str
    recorded_at: int
    ended_at: int | None = None


def facts_of_decision(decided: Decided) -> list[NewFact]:
    """Return what a decision says."""
    decision = decided.decision
    begin = decision.ts if decision.ts is not None else decided.recorded_at
    end = decided.ended_at
    if end is not None and end <= begin:
        return []  # it never stood for a moment
    taken = (text for text in decision.chosen if _is_choice(text, decision.statement))
    said = [(_ADOPTING.get(decision.polarity, "adopted"), text) for text in taken]
    said += [(_REFUSING.get(decision.polarity, "rejected"), text) for text in decision.rejected]
    if not said and decision.statement:
        said = [("decided", decision.statement)]
    return [
        NewFact(
            subject=decided.repo or EVERYWHERE,
            predicate=predicate,
            object=text,
            valid_from=begin,
            valid_to=end,
            repo=decided.repo,
            source="decision",
            reference=decision.id,
            status="derived",
            confidence=decision.confidence,
        )
        for predicate, text in _once(said)
    ]


def _is_choice(option: str, statement: str) -> bool:
    """Return whether a chosen option says what was chosen, not only about what: the "timestamps" of "keep timestamps in
    UTC", and "jobs live" before the name of a queue, make sense only in the whole statement."""
    start = statement.find(option)
    is_plain = option.islower() and option.replace(" ", "").isalpha()
    is_about = start >= 0 and is_plain and _WHERE.match(statement, start + len(option)) is not None
    return not is_about or _TAKES.search(statement[:start]) is not None


def fact_of_learning(learning: Learning) -> NewFact | None:
    """Return what a learned fact says; None for a learning of another kind, or one that no short fact can hold."""
    text = " ".join(learning.text.split()).rstrip(".")
    if learning.kind != "fact" or not text or len(text) > MAX_OBJECT_CHARS:
        return None
    subject, predicate, said = learning.repo or EVERYWHERE, "states", text
    found = _SPLIT.fullmatch(text)
    if (
        found is not None
        and len(found["subject"].split()) <= _MAX_SUBJECT_WORDS
        and not _NEGATED.match(found["object"])
    ):
        verb = " ".join(found["verb"].lower().split())
        subject, predicate, said = found["subject"], _PREDICATES.get(verb, verb), found["object"]
    return NewFact(
        subject=subject,
        predicate=predicate,
        object=said,
        valid_from=learning.valid_from,
        valid_to=learning.valid_to,
        repo=learning.repo,
        source="learning",
        reference=f"learning:{learning.id}",
        status=learning.status if learning.status in ("hypothesis", "ranked") else "derived",
        confidence=learning.confidence,
    )


def _once(said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    tidy = ((predicate, " ".join(text.split())) for predicate, text in said)
    return [(p, text) for p, text in dict.fromkeys(tidy) if 0 < len(text) <= MAX_OBJECT_CHARS]
