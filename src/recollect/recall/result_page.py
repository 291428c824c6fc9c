"""The page of an answer: which of the ranked are shown, and as what. Copies are shown once; the text tells what the
index cannot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from recollect.index.query.candidates import Candidate, QueryPlan, needs_text
from recollect.index.query.grammar import Question
from recollect.index.query.patterns import search_any_case
from recollect.index.query.query_units import Unit
from recollect.index.query.ranking import Masses, Ranked
from recollect.index.vectors.texts import Passage
from recollect.model.sessions import gone_among
from recollect.model.text import one_line
from recollect.recall.answers import Hit, MatchLevel, SearchAnswer
from recollect.recall.coverage import NOTHING
from recollect.recall.question_kinds import sought_in
from recollect.recall.related_events import RelatedEvent
from recollect.recall.snippets import SNIPPET_CHARS, Passages, finished, joined, snippet
from recollect.store.reader import HitTexts
from recollect.store.row_keys import SEQ_BITS
from recollect.store.rows import HitText, SessionKey

FETCH_PER_HIT = 4
"""Texts fetched at most for each hit asked for, as long as nothing is to be verified: copies fall out."""
MIN_FETCHED = 160
MAX_VERIFIED = 100
"""Candidates of a strict phrase or pattern that are compared with their text."""
ALL_VERIFIED = 50
"""Where there no longer exist of them than this, all are compared, so that the total is exact."""
MAX_MISSES = 40
"""So many in a row that don't have it end the search for more."""
RELATED_HITS = 5
"""Hits that are shown together with what belongs to them."""
RELATED_CHARS = 150
RESULT_CHARS = 300
"""Of a call's output, which often answers where the call has the words."""
FOLLOWED_HITS = 2
"""Hits of a question that are shown with the events after them: a third of the answers that a search does not find by
themselves stand beside a hit, more of them after it than before (docs/development/recall-tuning.md, seventh round)."""
FOLLOWING_CHARS = 250
SETTLED_SESSIONS = 2
"""Sessions whose last reply about the question is shown: the best passage may be a proposal."""
LATER_CHARS = 300
READ_HITS = 8
"""Hits that most readers come to: what is one of these is not said again beside another."""
PERSON_CHARS = 200
"""Of the prompt that a hit serves, and of what the person said next: why and what not is often told in a few words."""
COPIED_CHARS = 200
"""A message of this length that stands in two sessions was copied, not said again."""
_RELATED_SIZES = {"asked": PERSON_CHARS, "reply": PERSON_CHARS, "result": RESULT_CHARS}
_PERSONS = ("asked", "reply")
"""What a person said: "yes" or "/exit" tells nothing beside a hit."""
_MIN_BATCH = 8
_LEAST_WORDS = 3
"""Of a text that is looked for in another one: fewer stand in many."""
_MAX_FORMS = 20
"""Terms of a pattern, and of another name, that a snippet is cut around."""
_SAID = frozenset(("user_message", "assistant_message", "thinking"))
_LEVELS: tuple[MatchLevel, ...] = ("exact", "stemmed", "near", "semantic", "none")
"""The best first."""


class Findings(NamedTuple):
    """What was found. certain: events that match; unverified: further ones whose text must tell. limit: hits wanted.

    texts, passages: by key, as far as they were read and chosen. The first hit is as sure as the answer, the others in
    proportion: one threshold fits every question.
    """

    sessions: Mapping[int, SessionKey]
    certain: int
    unverified: int
    confidence: float
    limit: int
    notes: tuple[str, ...] = ()
    is_unsure: bool = False
    texts: Mapping[int, HitText] = MappingProxyType({})
    passages: Mapping[int, Sequence[Passage]] = MappingProxyType({})


class _Shown(NamedTuple):
    ranked: Ranked
    text: HitText
    session: SessionKey


class ResultPage:
    """Makes the answer of the ranked. Use once: `answer`."""

    def __init__(
        self, texts: HitTexts, question: Question, wanted: QueryPlan, ranked: Sequence[Ranked], found: Findings
    ) -> None:
        self._texts = texts
        self._question = question
        self._wanted = wanted
        self._ranked = ranked
        self._found = found
        self._passages = Passages(wanted.all_units, sought_in(question.meant))
        self._masses = Masses(wanted.all_units)
        self._looks_at_all = bool(wanted.strict) and found.unverified <= ALL_VERIFIED
        """Whether every unverified event is compared with its text, for the sake of the total."""
        self._shown: list[_Shown] = []
        self._seen: dict[object, int] = {}
        """Where something is shown, by what makes another event the same."""
        self._looked_at = self._passed = self._hidden = self._misses = 0
        """Unverified events compared with their text; those of them that match; hidden ones; misses in a row."""

    @cached_property
    def _forms(self) -> frozenset[str]:
        """What a snippet is cut around."""
        units = self._wanted.all_units
        pieces = (term for unit in units for piece in (*unit.pieces, *unit.also) for term in piece[:_MAX_FORMS])
        return frozenset((*(term for unit in units for term, _ in unit.terms), *pieces))

    @cached_property
    def _patterns(self) -> list[re.Pattern[str]]:
        return _text_patterns(self._wanted.all_units)

    def answer(self) -> SearchAnswer:
        """Return the hits, and how many more there are."""
        found = self._found
        self._pick()
        notes = list(found.notes)
        shown = _living_first(self._shown)
        if not shown:
            notes.append("events have all the words, but none has them as asked" if self._wanted.must else NOTHING)
            return no_answer(self._question, notes, abstained=True)
        more = Counter(found.sessions[item.candidate.session].root_uid for item in self._ranked)
        more.subtract(item.session.root_uid for item in shown)
        hits = self._with_related([self._hit(item, more[item.session.root_uid]) for item in shown], shown)
        by_meaning = sum(item.candidate.similarity is not None and not item.candidate.has for item in self._ranked)
        total = max(found.certain + self._passed - self._hidden + by_meaning, len(hits))
        if self._looked_at < found.unverified:
            left = found.unverified - self._looked_at
            notes.append(
                f"at least {total:,}: {left:,} more events have the words and were not compared with their text"
            )
        gone = gone_among([found.sessions[n].evicted_at for n in {item.ranked.candidate.session for item in shown}])
        notes += [gone] if gone else []
        return SearchAnswer(
            query=self._question.text,
            hits=hits,
            total=total,
            by_meaning=by_meaning,
            match_level=min((hit.match_level for hit in hits), key=_LEVELS.index),
            left_out=total - len(hits),
            notes=tuple(dict.fromkeys(notes)),
            abstained=False,
            is_unsure=found.is_unsure,
            took_ms=0.0,
        )

    def _pick(self) -> None:
        """Choose what is shown, in order. Texts are fetched a few at a time, and only of what may still be shown."""
        found, limit = self._found, self._found.limit
        at_most = MAX_VERIFIED if found.unverified else max(limit * FETCH_PER_HIT, MIN_FETCHED)
        fetched = at = 0
        while at < len(self._ranked) and fetched < at_most and self._goes_on():
            batch: list[Ranked] = []
            room = min(max(limit - len(self._shown), _MIN_BATCH), at_most - fetched)
            while at < len(self._ranked) and len(batch) < room:
                item = self._ranked[at]
                at += 1
                if len(self._shown) < limit or (self._looks_at_all and self._is_open(item.candidate)):
                    batch.append(item)
            fetched += len(batch)
            keys = [item.candidate.key for item in batch]
            texts = self._texts.texts([key for key in keys if key not in found.texts])
            for item, key in zip(batch, keys, strict=True):
                text = found.texts.get(key) or texts.get(key)
                if text is not None:
                    self._take(item, text)

    def _goes_on(self) -> bool:
        return self._looks_at_all or (len(self._shown) < self._found.limit and self._misses < MAX_MISSES)

    def _is_open(self, candidate: Candidate) -> bool:
        """Whether only the text can tell that this event is as asked."""
        return any(needs_text(unit, candidate.voice) for unit in self._wanted.strict)

    def _take(self, item: Ranked, text: HitText) -> None:
        if self._is_open(item.candidate):
            self._looked_at += 1
            if not _passes(self._wanted, item.candidate, text):
                self._misses += 1
                return
            self._misses = 0
            self._passed += 1
        if text.is_hidden:
            self._hidden += 1
            return
        session = self._found.sessions[item.candidate.session]
        same = _sameness(text, session, by_file="file_edit" in self._question.kinds)
        place = next((self._seen[mark] for mark in same if mark in self._seen), None)
        if place is not None:
            known = self._shown[place]
            is_original = known.session.origin_uid != "" and session.origin_uid == ""
            if (known.text.is_undone, is_original) > (text.is_undone, False):
                self._shown[place] = _Shown(item._replace(score=known.ranked.score), text, session)
        elif len(self._shown) < self._found.limit:
            self._seen |= dict.fromkeys(same, len(self._shown))
            self._shown.append(_Shown(item, text, session))

    def _hit(self, item: _Shown, more_in_session: int) -> Hit:
        candidate, text, session = item.ranked.candidate, item.text, item.session
        best = max(self._ranked[0].score, 1e-9)
        whole = text.text or text.summary
        chosen = [finished(text.text, passage) for passage in self._found.passages.get(candidate.key, ())]
        return Hit(
            session_uid=session.session_uid,
            event_id=text.event_id,
            seq=text.seq if text.seq >= 0 else candidate.key & ((1 << SEQ_BITS) - 1),
            agent=session.agent,
            ts=text.ts,
            kind=text.kind,
            score=round(self._found.confidence * item.ranked.score / best, 4),
            snippet=one_line(_with_file(text, snippet(whole, self._forms, self._patterns)), SNIPPET_CHARS),
            match_level=self._level(candidate),
            root_session_uid=session.root_uid,
            part=text.part,
            more_in_session=more_in_session,
            title=session.title,
            repo=session.repo,
            tool=text.tool,
            summary=text.summary,
            status=text.status,
            state=text.state,
            is_undone=text.is_undone,
            passage=_with_file(text, joined(whole, chosen or [self._passages.shown(whole)])),
        )

    def _level(self, candidate: Candidate) -> MatchLevel:
        """exact: all words as typed; stemmed: all, some only inflected; near: only a part of them."""
        whole = sum(1 << i for i, unit in enumerate(self._wanted.all_units) if not unit.part_of)
        has = self._wanted.surely(candidate)
        if candidate.exact & whole == whole:
            return "exact"
        if has & whole == whole:
            return "stemmed"
        return "near" if self._masses[has] > 0 else "semantic"

    def _with_related(self, hits: Sequence[Hit], shown: Sequence[_Shown]) -> tuple[Hit, ...]:
        """Return the hits, the first of them with what belongs to them; what is a hit itself is not said again."""
        first = [item.ranked.candidate.key for item in shown[:RELATED_HITS]]
        said = {item.ranked.candidate.key for item in shown[:READ_HITS]}
        related = self._texts.related(first)
        following = self._texts.following(first[:FOLLOWED_HITS]) if self._found.texts else {}
        sessions: set[int] = set()
        told = []
        for hit, key in zip(hits, first, strict=False):
            parts = []
            for label, text in related.get(key, {}).items():
                place = (key >> SEQ_BITS << SEQ_BITS) | text.seq
                is_trivial = label in _PERSONS and len((text.text or text.summary).split()) < _LEAST_WORDS
                if place not in said and not is_trivial:
                    said.add(place)
                    parts.append(self._told(label, text, _RELATED_SIZES.get(label, RELATED_CHARS)))
            later = [
                self._told("next", text, FOLLOWING_CHARS)
                for place, text in following.get(key, {}).items()
                if place not in said
            ]
            said.update(following.get(key, ()))
            if key >> SEQ_BITS not in sessions and len(sessions) < SETTLED_SESSIONS:
                sessions.add(key >> SEQ_BITS)
                if (settling := self._settling(key, said)) is not None:
                    said.add(settling)
                    later.append(self._told("later", self._found.texts[settling], LATER_CHARS))
            told.append(msgspec.structs.replace(hit, related=tuple(parts), later=tuple(later)))
        return (*told, *hits[len(told) :])

    def _told(self, label: str, text: HitText, size: int) -> RelatedEvent:
        words = text.text or text.summary
        shown = _with_file(text, joined(words, [self._passages.shown(words, size=size, most=size)]))
        return RelatedEvent(label, text.seq, shown)

    def _settling(self, key: int, said: Collection[int]) -> int | None:
        """Return the last reply after an event in its session that was compared with the question and is not said yet:
        what is decided, fixed or written differs from what was proposed at first."""
        texts = self._found.texts
        return max(
            (
                place
                for place in (item.candidate.key for item in self._ranked[: len(texts)])
                if place > key and place >> SEQ_BITS == key >> SEQ_BITS and place not in said and place in texts
                if texts[place].kind == "assistant_message" and not (texts[place].is_undone or texts[place].is_hidden)
            ),
            default=None,
        )


def no_answer(question: Question, notes: Sequence[str], *, abstained: bool = False) -> SearchAnswer:
    """Return an answer without hits."""
    return SearchAnswer(question.text, (), 0, "none", 0, tuple(dict.fromkeys(notes)), abstained, 0.0)


def said_once(learned: Iterable[Hit], hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return learnings without those that repeat the words of a hit or of an earlier learning: one sentence may give
    a learning, an action and a fact.
    """
    told = [words for hit in hits if not hit.is_undone for words in (_words(hit.snippet), _words(hit.summary))]
    kept: list[Hit] = []
    for one in learned:
        words = _words(one.snippet)
        is_told = words.count(" ") + 1 >= _LEAST_WORDS and any(words in other for other in told)
        if not is_told:
            kept.append(one)
            told.append(words)
    return tuple(kept)


def _words(text: str) -> str:
    return " ".join(text.casefold().replace("…", " ").split()).rstrip(".!?")


def _living_first(shown: Sequence[_Shown]) -> list[_Shown]:
    """Return what is shown; among equals, first what was not undone."""
    ties = groupby(shown, key=lambda item: round(item.ranked.score, 9))
    return [item for _, tie in ties for item in sorted(tie, key=lambda item: item.text.is_undone)]


def _sameness(text: HitText, session: SessionKey, *, by_file: bool) -> set[object]:
    """Return what two events share that are one hit: the id that a replay in a fork keeps, or the text.

    The same few words said in unrelated sessions are hits of their own. The same file read in them is not, nor is a
    long message: nobody says that twice, it is a copy (a fork of Claude Code names no origin). by_file: an edit is that
    of its file; where edits were not asked for, those that match a word like "create" would fill the page.
    """
    is_own = text.kind in _SAID and len(text.text) < COPIED_CHARS
    where = session.origin_uid or session.session_uid if is_own else ""
    said = _with_file(text, text.text) if by_file else text.text
    return {(text.event_id, text.part), (where, text.kind, said or text.event_id)}


def _with_file(text: HitText, shown: str) -> str:
    """Return what is shown of an event; of an edit, whose text has its operation alone, also the file."""
    if text.kind != "file_edit" or not text.text:
        return shown
    operation = text.summary.partition(" ")[0]
    return f"{text.summary}\n{shown.removeprefix(operation).strip()}".strip()


def _passes(wanted: QueryPlan, candidate: Candidate, text: HitText) -> bool:
    """Tell from the text what the index could not."""
    units = wanted.all_units

    def has(unit: Unit) -> bool:
        if needs_text(unit, candidate.voice):
            return _is_in(unit, text)
        return unit in units and bool(candidate.exact >> units.index(unit) & 1)

    if not all(any(has(unit) for unit in group) for group in wanted.must):
        return False
    return not any(needs_text(unit, candidate.voice) and _is_in(unit, text) for unit in wanted.must_not)


def _is_in(unit: Unit, text: HitText) -> bool:
    if unit.clause.pattern is not None:
        return unit.clause.pattern.is_in(text.text)
    return not unit.sequence or search_any_case(_sequence_pattern(unit.sequence), text.text) is not None


def _text_patterns(units: Sequence[Unit]) -> list[re.Pattern[str]]:
    patterns: list[re.Pattern[str]] = []
    for unit in units:
        if unit.clause.pattern is not None:
            patterns.append(unit.clause.pattern.text or unit.clause.pattern.pieces[0].pattern)
        elif unit.sequence:
            patterns.append(_sequence_pattern(unit.sequence))
    return patterns


@lru_cache(maxsize=64)
def _sequence_pattern(terms: tuple[str, ...]) -> re.Pattern[str]:
    # Between the terms may be anything that is neither letter nor digit, or nothing (camelCase).
    return re.compile(r"[\W_]*".join(re.escape(term) for term in terms), re.IGNORECASE)
