"""Search: from a query to cited hits, with how they matched, how many there are, and what was left out."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, tzinfo
from itertools import groupby
from typing import NamedTuple, Protocol

import msgspec

from recollect.index.candidates import POOL, Candidate, CandidateSearch, Wanted
from recollect.index.engine import DamagedShard
from recollect.index.passages.cuts import Passage
from recollect.index.query.filters import Confinement
from recollect.index.query.grammar import Clause, Names, Question, as_written, parse
from recollect.index.query.synonyms import alternatives_of
from recollect.index.ranking import WEIGHTS, Masses, Ranked, Weights, is_question, rank
from recollect.index.text_index import Shard, TextIndex
from recollect.index.units import Unit, UnitReader
from recollect.model.sessions import gone_among
from recollect.recall.abstention import (
    CERTAIN,
    UNSURE_BELOW,
    absent_of,
    absent_subject,
    confidence_of,
    covered_by,
    typed,
)
from recollect.recall.answers import Hit, MatchLevel, RelatedEvent, SearchAnswer
from recollect.recall.copies import said_once
from recollect.recall.coverage import NOT_INDEXED, NOTHING, left_out_parts, partly
from recollect.recall.meaning import NOTHING_NEAR, Meaning
from recollect.recall.passages import Passages, finished, joined
from recollect.recall.picked import Picked, Verified, has_checks, is_open, sequence_pattern
from recollect.recall.related import BESIDE_POOL, MAX_BESIDE, beside, parts_for, sure_ones
from recollect.recall.rerank import order
from recollect.recall.rerank.contextual import Comparison, Contextual, Meant, unread_note
from recollect.recall.snippets import snippet
from recollect.store.entries import NOTE_SHARD
from recollect.store.keys import ENTRY_BASE, SEQ_BITS
from recollect.store.rows import EventFilter, HitText, SessionKey

FETCH_PER_HIT = 4
"""Texts fetched at most for each hit asked for, as long as nothing is to be verified: copies fall out."""
MIN_FETCHED = 160
MAX_VERIFIED = 100
"""Candidates of a strict phrase or pattern that are compared with their text."""
ALL_VERIFIED = 50
"""Where there are no more of them than this, all are compared, so that the total is exact."""
MAX_LIMIT = 200
MIN_NEAR = 0.45
"""Similarity, of the static vectors, from which on an event without any of the words answers a search for words."""
MIN_INSIDE_CHARS = 4
"""A shorter word is inside of too many others to mean any of them."""
RELATED_HITS = 5
"""Hits that are shown together with what belongs to them."""
RELATED_CHARS = 150
READ_HITS = 8
"""Hits that most readers come to: what is one of these is not said again beside another."""
ROUND = 12
"""Hits of one session before the other sessions have their turn: a page of 4 KB shows eight."""
ASKED_CHARS = 90
"""Of the prompt that a hit serves: it tells what the work was about and seldom answers."""
_MIN_BATCH = 8


class SearchStore(order.TextStore, Protocol):
    """What search asks of the store. Unknown keys and numbers are left out of the answers."""

    def session_keys(self, numbers: Sequence[int]) -> Mapping[int, SessionKey]:
        """Return the facts of sessions by number."""
        ...

    def session_numbers(self, where: EventFilter) -> frozenset[int]:
        """Return the numbers of the sessions that the filter allows."""
        ...

    def related(self, keys: Sequence[int]) -> Mapping[int, Mapping[str, HitText]]:
        """Return, by key, what belongs to an event in its turn, by label."""
        ...


class Searcher:
    """Answers queries over one index and one store. Thread safe if the store is.

    glossary: gives, for a time, the names that mean the same as a name, all in normal form. unsearched: tells, of the
    parts of the index that are there and those that are damaged, what a search cannot find now.
    """

    def __init__(
        self,
        index: TextIndex,
        store: SearchStore,
        *,
        meaning: Meaning | None = None,
        contextual: Contextual | None = None,
        weights: Weights = WEIGHTS,
        passage_weights: order.Features = order.ORDER,
        glossary: Callable[[int], Mapping[str, tuple[str, ...]]] = lambda _now_us: {},
        unsearched: Callable[[Collection[str], Collection[str]], tuple[str, ...]] = left_out_parts,
    ) -> None:
        self._index = index
        self._store = store
        self._meaning = meaning
        self._contextual = contextual
        self._weights = weights
        self._passage_weights = passage_weights
        self._glossary = glossary
        self._unsearched = unsearched

    def search(
        self, query: str, *, limit: int = 10, now_us: int, zone: tzinfo = UTC, names: Names = as_written
    ) -> SearchAnswer:
        """Answer a query. Any text is a query; no text raises.

        limit: hits wanted, 1 to 200. now_us, zone, names: see `index.query.grammar.parse`.

        Raises:
            IndexUnavailable: the index cannot be read at all; a damaged shard is only a note.
        """
        started = _clock_ms()
        question = parse(query, now_us, zone, names=names)
        while True:
            try:
                answer = self._answer(question, max(1, min(limit, MAX_LIMIT)), now_us)
                if answer.abstained:
                    answer = self._inside_words(question, max(1, min(limit, MAX_LIMIT)), now_us) or answer
                learned = self._beside(question, now_us)
                break
            except DamagedShard as error:
                if not self._index.leave_out(error.shard):
                    raise
        if learned and answer.abstained:
            answer = msgspec.structs.replace(answer, abstained=False, notes=(*question.notes, _ONLY_LEARNED))
        searched = [shard.name for shard in self._index.shards()]
        answer = partly(answer, self._unsearched(searched, self._index.damaged))
        wide = self._answer(question.unconfined, 1, now_us) if question.is_confined and not answer.with_words else None
        answer = msgspec.structs.replace(answer, elsewhere=wide.with_words if wide else 0)
        learned = said_once(learned, answer.hits)
        return msgspec.structs.replace(answer, learned=learned, took_ms=round(_clock_ms() - started, 3))

    def _answer(self, question: Question, limit: int, now_us: int) -> SearchAnswer:
        notes = list(question.notes)
        if not question.asks_something:
            notes.append("nothing to look for: give at least one word" if not question.has_filter else _ONLY_FILTERS)
            return _empty(question, notes)
        if question.lost:
            return _empty(question, [*notes, f"nothing was searched: `{question.lost}:` names nothing that is known"])
        shards = self._index.shards()
        if not shards:
            return _empty(question, [*notes, NOT_INDEXED])
        shards = parts_for(question, shards)
        wanted, more_notes = self._wanted(question, shards, now_us)
        notes += more_notes
        if not wanted.all_units:
            return _empty(question, [*notes, "the query has no letters or digits to look for"])
        asked = _Asked(limit, now_us, tuple(notes))
        whole = _lone_compound(wanted)
        if whole is None:
            return self._look(question, wanted, shards, asked)
        if not whole.is_absent:
            answer = self._look(question, replace(wanted, units=(), must=((whole,),)), shards, asked)
            if answer.hits:
                return answer
        parts = tuple((unit,) for unit in wanted.units if unit.part_of)
        asked = asked._replace(
            notes=(*notes, f"{whole.clause.text} was not found as a whole; looked for events with all its parts")
        )
        return self._look(question, replace(wanted, units=(whole,), must=parts), shards, asked)

    def _inside_words(self, question: Question, limit: int, now_us: int) -> SearchAnswer | None:
        """Look for a lone word that is nowhere inside of longer ones; None where that finds nothing either."""
        if question.must or len(question.words) != 1 or len(question.words[0].text) < MIN_INSIDE_CHARS:
            return None
        word = question.words[0].text
        inside = parse(f"*{word}*", now_us)
        if not inside.must:
            return None
        answer = self._answer(replace(question, words=(), must=inside.must), limit, now_us)
        if not answer.hits:
            return None
        hits = tuple(msgspec.structs.replace(hit, match_level="near") for hit in answer.hits)
        notes = (*answer.notes, f"{word} was not found as a word; these have it inside longer ones")
        return msgspec.structs.replace(answer, hits=hits, match_level="near", notes=notes)

    def _beside(self, question: Question, now_us: int) -> tuple[Hit, ...]:
        """Return what was learned and noted that is surely about a question. It is as rare as in the whole memory."""
        asked = beside(question)
        shards = self._index.shards()
        notes = [shard for shard in shards if shard.name == NOTE_SHARD]
        if asked is None or not notes or not question.asks_something or question.lost:
            return ()
        wanted, _notes = self._wanted(asked, shards, now_us)
        if not wanted.all_units:
            return ()
        return self._look(asked, wanted, notes, _Asked(MAX_BESIDE, now_us, is_beside=True)).hits

    def _look(self, question: Question, wanted: Wanted, shards: Sequence[Shard], asked: _Asked) -> SearchAnswer:
        asks = is_question(question.text) and not asked.is_beside
        absent = () if wanted.must else absent_subject(wanted.units)
        if absent and not asked.is_beside:
            return _empty(question, [*asked.notes, _nothing_note(absent, wanted)], abstained=True)
        # What stands beside the hits is surely about the question by its words, or silent.
        meaning = None if asked.is_beside else self._meaning
        near = meaning.near(question, wanted, shards) if meaning is not None else NOTHING_NEAR
        meant = Meant()
        if asks and self._contextual is not None and len(question.words) > 1:
            meant = self._contextual.meant(question.text, wanted.confinement.sessions)
        asked = asked._replace(notes=(*asked.notes, *near.notes, *meant.notes))
        pool = BESIDE_POOL if asked.is_beside else _pool(wanted, asked.limit)
        searched = CandidateSearch(shards, wanted, pool=pool, near=(*meant.keys, *near.keys))
        candidates = searched.run()
        if self._meaning is not None and near.keys:
            for key, similarity in self._meaning.similarities(question, wanted, candidates).items():
                candidates[key].similarity = similarity
        keys = self._store.session_keys(sorted({c.session for c in candidates.values()}))
        ranked = rank(
            {key: c for key, c in candidates.items() if c.session in keys},
            wanted,
            question=question.text,
            sessions=keys,
            now_us=asked.now_us,
            weights=self._weights,
        )
        confidence = _confidence(question, wanted, ranked)
        if asked.is_beside:
            ranked, confidence = sure_ones(ranked, wanted, question.text)
        elif not asks:
            # Words are looked for as they stand: what has none of them must be very near in meaning.
            ranked = [i for i in ranked if i.candidate.has or _is_near(i.candidate)]
        if not ranked:
            return _empty(question, [*asked.notes, _nothing_note((), wanted)], abstained=True)
        if confidence < UNSURE_BELOW and not asked.is_beside:
            asked = asked._replace(notes=(_unsure_note(wanted), *asked.notes), is_unsure=True)
        texts: Mapping[int, HitText] = {}
        shown: Mapping[int, Sequence[Passage]] = {}
        if asks:
            ranked, texts, shown, notes = self._look_again(ranked, wanted, keys, meant, is_unsure=asked.is_unsure)
            asked = asked._replace(notes=(*asked.notes, *notes))
        if not question.is_confined:
            ranked = _in_rounds(ranked, keys)
        best = ranked[0].score
        found = _Found(keys, searched.certain, searched.unverified, asked, confidence, best, texts, shown)
        return self._assemble(question, wanted, ranked, found)

    def _look_again(
        self, ranked: Sequence[Ranked], wanted: Wanted, sessions: Mapping[int, SessionKey], meant: Meant, *,
        is_unsure: bool,
    ) -> tuple[list[Ranked], Mapping[int, HitText], Mapping[int, Sequence[Passage]], tuple[str, ...]]:  # fmt: skip
        """Put the best of a question in order by their passages, and those near in meaning; see `recall.rerank.order`.

        Returns the ranked, the texts that were read and the passages to show, both by key, and notes.
        """
        near = set(meant.keys)
        best = [item for at, item in enumerate(ranked) if at < order.LOOKED_AT or item.candidate.key in near]
        texts = self._store.texts([item.candidate.key for item in best])
        compared = Comparison()
        unread: tuple[str, ...] = ()
        if self._contextual is not None and meant.vector is not None:
            compared = self._contextual.compare(meant.vector, texts)
            unread = unread_note(compared.unread, compared.unread + len(compared.near))
        valued = list(order.value(best, texts, compared.near, sessions, Passages(wanted.all_units)))
        weights = self._passage_weights.meaning_times(order.UNSURE_MEANING if is_unsure else 1.0)
        found = order.reorder(valued, ranked, weights)
        ranked = order.seated(found.ranked, next(iter(meant.keys), None))
        return ranked, texts, found.shown, (*compared.notes, *unread)

    # Understanding.

    def _confine(self, question: Question) -> Confinement:
        allowed = self._store.session_numbers(question.where) if not question.where.is_empty else None
        refused: set[int] = set()
        for where in question.where_not:
            numbers = self._store.session_numbers(where)
            # What belongs to no repository is not refused with one.
            refused.update(numbers - self._store.session_numbers(_NO_REPO) if where.repos else numbers)
        return Confinement(
            sessions=allowed,
            not_sessions=frozenset(refused),
            kinds=question.kinds,
            not_kinds=question.not_kinds,
            tools=question.tools,
            not_tools=question.not_tools,
            paths=question.paths,
            not_paths=question.not_paths,
            after_us=question.after_us,
            before_us=question.before_us,
        )

    def _wanted(self, question: Question, shards: Sequence[Shard], now_us: int) -> tuple[Wanted, list[str]]:
        confinement = self._confine(question)
        reader = UnitReader(self._index, shards, with_instructions=confinement.with_instructions)
        must = [group for clauses in question.must if (group := _group(reader, clauses))]
        glossary = self._glossary(now_us) if question.words else {}
        wanted = Wanted(
            units=_not_missed(reader.words(question.words, alternatives_of(question.words, glossary)), question.either),
            must=tuple(must),
            must_not=tuple(unit for clause in question.must_not for unit in _group(reader, (clause,))),
            confinement=confinement,
            around=question.around,
        )
        return wanted, reader.notes

    # Answering.

    def _assemble(self, question: Question, wanted: Wanted, ranked: Sequence[Ranked], found: _Found) -> SearchAnswer:
        limit = found.asked.limit
        picked = Picked(limit, found.unverified <= ALL_VERIFIED)
        self._pick(wanted, ranked, found, picked)
        notes = list(found.asked.notes)
        shown = _living_first(picked.shown)
        if not shown:
            notes.append("events have all the words, but none has them as asked" if wanted.must else NOTHING)
            return _empty(question, notes, abstained=True)
        in_session = _per_root(ranked, found.sessions)
        visible = _per_root((item.ranked for item in shown), found.sessions)
        masses = Masses(wanted.all_units)
        hits = tuple(self._hit(item, wanted, masses, found, in_session, visible) for item in shown)
        hits = self._with_related(hits, shown, wanted)
        by_meaning = sum(item.candidate.similarity is not None and not item.candidate.has for item in ranked)
        total = max(found.certain + picked.passed - picked.hidden + by_meaning, len(hits))
        if picked.looked_at < found.unverified:
            left = found.unverified - picked.looked_at
            notes.append(
                f"at least {total:,}: {left:,} more events have the words and were not compared with their text"
            )
        gone = gone_among([found.sessions[n].evicted_at for n in {item.ranked.candidate.session for item in shown}])
        notes += [gone] if gone else []
        return SearchAnswer(
            query=question.text,
            hits=hits,
            total=total,
            by_meaning=by_meaning,
            match_level=_best_level(hits),
            left_out=total - len(hits),
            notes=tuple(dict.fromkeys(notes)),
            abstained=False,
            is_unsure=found.asked.is_unsure,
            took_ms=0.0,
        )

    def _pick(self, wanted: Wanted, ranked: Sequence[Ranked], found: _Found, picked: Picked) -> None:
        """Choose what is shown, in order. Texts are fetched a few at a time, and only of what may still be shown."""
        at_most = MAX_VERIFIED if found.unverified else max(picked.limit * FETCH_PER_HIT, MIN_FETCHED)
        fetched = at = 0
        while at < len(ranked) and fetched < at_most and picked.goes_on:
            batch: list[Ranked] = []
            room = min(max(picked.limit - len(picked.shown), _MIN_BATCH), at_most - fetched)
            while at < len(ranked) and len(batch) < room:
                item = ranked[at]
                at += 1
                if picked.has_room or (picked.looks_at_all and is_open(wanted, item.candidate)):
                    batch.append(item)
            fetched += len(batch)
            keys = [item.candidate.key for item in batch]
            texts = self._store.texts([key for key in keys if key not in found.texts])
            for item, key in zip(batch, keys, strict=True):
                text = found.texts.get(key) or texts.get(key)
                if text is not None:
                    picked.take(item, text, wanted, found.sessions[item.candidate.session])

    def _hit(
        self,
        item: Verified,
        wanted: Wanted,
        masses: Masses,
        found: _Found,
        in_session: Mapping[str, int],
        visible: Mapping[str, int],
    ) -> Hit:
        candidate, text = item.ranked.candidate, item.text
        session = found.sessions[candidate.session]
        return Hit(
            session_uid=session.session_uid,
            event_id=text.event_id,
            seq=text.seq if text.seq >= 0 else candidate.key & ((1 << SEQ_BITS) - 1),
            agent=session.agent,
            ts=text.ts,
            kind=text.kind,
            score=round(found.confidence * item.ranked.score / max(found.best, 1e-9), 4),
            snippet=snippet(text.text or text.summary, _forms(wanted), _text_patterns(wanted)),
            match_level=_level(candidate.has, candidate.exact, wanted, masses),
            root_session_uid=session.root_uid,
            part=text.part,
            more_in_session=in_session.get(session.root_uid, 0) - visible.get(session.root_uid, 0),
            title=session.title,
            repo=session.repo,
            tool=text.tool,
            summary=text.summary,
            status=text.status,
            state=text.state,
            is_undone=text.is_undone,
            passage=joined(
                text.text or text.summary,
                [finished(text.text, passage) for passage in found.shown.get(candidate.key, ())]
                or [Passages(wanted.all_units).shown(text.text or text.summary)],
            ),
        )

    def _with_related(self, hits: Sequence[Hit], shown: Sequence[Verified], wanted: Wanted) -> tuple[Hit, ...]:
        """Return the hits, the first of them with what belongs to them; what is a hit itself is not said again."""
        first = [item.ranked.candidate.key for item in shown[:RELATED_HITS]]
        said = {item.ranked.candidate.key for item in shown[:READ_HITS]}
        related = self._store.related(first)
        passages = Passages(wanted.all_units)
        told = []
        for hit, key in zip(hits, first, strict=False):
            parts = []
            for label, text in related.get(key, {}).items():
                place = (key >> SEQ_BITS << SEQ_BITS) | text.seq
                if place not in said:
                    said.add(place)
                    size = ASKED_CHARS if label == "asked" else RELATED_CHARS
                    words = text.text or text.summary
                    words = joined(words, [passages.shown(words, size=size, most=size)])
                    parts.append(RelatedEvent(label, text.seq, words))
            told.append(msgspec.structs.replace(hit, related=tuple(parts)))
        return (*told, *hits[len(told) :])


class _Asked(NamedTuple):
    """is_beside: for what is shown beside the hits, where it is surely about the question. is_unsure: of the answer."""

    limit: int
    now_us: int
    notes: tuple[str, ...] = ()
    is_beside: bool = False
    is_unsure: bool = False


class _Found(NamedTuple):
    """certain: events that match; unverified: further ones whose text must tell. best: the score of the first.
    texts: by key, as far as they were read. shown: by key, the passages to show of the best.

    The first hit is as sure as the answer, the others in proportion: one threshold fits every question.
    """

    sessions: Mapping[int, SessionKey]
    certain: int
    unverified: int
    asked: _Asked
    confidence: float
    best: float
    texts: Mapping[int, HitText]
    shown: Mapping[int, Sequence[Passage]]


_ONLY_LEARNED = "nothing found in what agents did; something was learned or noted of it"
_NO_REPO = EventFilter(repos=("=",))
_ONLY_FILTERS = "the query has filters only: add a word to look for, or list sessions instead"


def _clock_ms() -> float:
    return time.perf_counter() * 1e3


def _pool(wanted: Wanted, limit: int) -> int:
    """How many candidates to look at: more where hits fall out by verification, or many are wanted."""
    return max(POOL, limit * 4, MAX_VERIFIED if has_checks(wanted) else 0)


def _group(reader: UnitReader, clauses: Sequence[Clause]) -> tuple[Unit, ...]:
    units: list[Unit] = []
    for clause in clauses:
        if clause.pattern is not None:
            units.append(reader.pattern(clause, clause.pattern))
        else:
            unit = reader.exact(clause)
            if unit is not None:
                units.append(unit)
    return tuple(units)


def _not_missed(units: Sequence[Unit], either: Sequence[Sequence[Clause]]) -> tuple[Unit, ...]:
    """Return the units without those of words that occur nowhere, where a word with OR beside them does."""
    there = {unit.clause for unit in units if not unit.is_absent}
    idle = {clause for group in either if there.intersection(group) for clause in group} - there
    return tuple(unit for unit in units if unit.clause not in idle)


def _lone_compound(wanted: Wanted) -> Unit | None:
    """Return the identifier or other compound that is all that was asked for; its parts are only a fallback.

    One that has another name is looked for as words are.
    """
    whole = [unit for unit in wanted.units if not unit.part_of]
    if len(whole) != 1 or len(wanted.units) == 1 or wanted.must or whole[0].also:
        return None
    return whole[0]


def _text_patterns(wanted: Wanted) -> list[re.Pattern[str]]:
    patterns: list[re.Pattern[str]] = []
    for unit in wanted.all_units:
        if unit.clause.pattern is not None:
            patterns.append(unit.clause.pattern.text or unit.clause.pattern.pieces[0].pattern)
        elif unit.sequence:
            patterns.append(sequence_pattern(unit))
    return patterns


def _forms(wanted: Wanted) -> list[str]:
    return [term for unit in wanted.all_units for term, _ in unit.terms] + [
        term for unit in wanted.all_units for piece in (*unit.pieces, *unit.also) for term in piece[:20]
    ]


def _level(has: int, exact: int, wanted: Wanted, masses: Masses) -> MatchLevel:
    """exact: all words as typed; stemmed: all, some only inflected; near: only a part of them."""
    whole = 0
    for i, unit in enumerate(wanted.all_units):
        if not unit.part_of:
            whole |= 1 << i
        if unit.sequence:  # having its terms somewhere is not having it
            has &= exact | ~(1 << i)
    if exact & whole == whole:
        return "exact"
    if has & whole == whole:
        return "stemmed"
    return "near" if masses.of(has) > 0 else "semantic"


def _best_level(hits: Sequence[Hit]) -> MatchLevel:
    order: tuple[MatchLevel, ...] = ("exact", "stemmed", "near", "semantic", "none")
    return min((hit.match_level for hit in hits), key=order.index, default="none")


def _per_root(ranked: Iterable[Ranked], sessions: Mapping[int, SessionKey]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in ranked:
        root = sessions[item.candidate.session].root_uid
        counts[root] = counts.get(root, 0) + 1
    return counts


def _in_rounds(ranked: Iterable[Ranked], sessions: Mapping[int, SessionKey]) -> list[Ranked]:
    """Return the ranked so that a session gives at most `ROUND` of them before every other has given as many: a session
    of a hundred thousand events has all words of every question."""
    counts: dict[str, int] = {}
    rounds: dict[int, list[Ranked]] = {}
    for item in ranked:
        root = sessions[item.candidate.session].root_uid
        rounds.setdefault(counts.get(root, 0) // ROUND, []).append(item)
        counts[root] = counts.get(root, 0) + 1
    return [item for _, of_round in sorted(rounds.items()) for item in of_round]


def _living_first(shown: Sequence[Verified]) -> list[Verified]:
    """Return what is shown, of equally good ones first what was not undone."""
    ties = groupby(shown, key=lambda item: round(item.ranked.score, 9))
    return [item for _, tie in ties for item in sorted(tie, key=lambda item: item.text.is_undone)]


def _confidence(question: Question, wanted: Wanted, ranked: Sequence[Ranked]) -> float:
    """Tell how sure the answer is; what is required is there or not, so that a strict answer is certain."""
    if wanted.must:
        return CERTAIN
    in_session: dict[int, int] = {}
    for item in ranked:
        number = item.candidate.session
        in_session[number] = in_session.get(number, 0) | item.candidate.has
    covered = covered_by(in_session.values(), wanted.all_units)
    return confidence_of(wanted.units, question.text, covered=covered)


def _is_near(candidate: Candidate) -> bool:
    """Documents and notes are few and about something: of events one is always near by accident."""
    return candidate.session >= ENTRY_BASE or (candidate.similarity or 0.0) >= MIN_NEAR


def _unsure_note(wanted: Wanted) -> str:
    absent = dict.fromkeys(typed(unit) for unit in absent_of(wanted.units))
    return "no exact match; closest results" + (f" (nowhere in the memory: {', '.join(absent)})" if absent else "")


def _nothing_note(missing: Sequence[str], wanted: Wanted) -> str:
    absent = [unit.clause.text for group in wanted.must if all(u.is_absent for u in group) for unit in group]
    if missing or absent:
        return "nothing found: nowhere in the memory is " + ", ".join(dict.fromkeys(missing or absent))
    return NOTHING


def _empty(question: Question, notes: Sequence[str], *, abstained: bool = False) -> SearchAnswer:
    return SearchAnswer(
        query=question.text,
        hits=(),
        total=0,
        match_level="none",
        left_out=0,
        notes=tuple(dict.fromkeys(notes)),
        abstained=abstained,
        took_ms=0.0,
    )
