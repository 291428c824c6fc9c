"""Searches: from a query to cited hits, how they matched, their number, and what was left out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, tzinfo
from functools import partial, reduce
from operator import or_

import msgspec

from recollect.index.query.candidates import POOL, Candidate, CandidateSearch, QueryPlan
from recollect.index.query.clauses import Confinement, UnitClauses
from recollect.index.query.grammar import Clause, Names, Question, as_written, is_question, parse
from recollect.index.query.languages import in_english
from recollect.index.query.query_units import Unit, UnitReader, alternatives_of
from recollect.index.query.ranking import WEIGHTS, Ranked, Weights, rank
from recollect.index.text.engine import DamagedShard
from recollect.index.text.schema import INSTRUCTIONS, TEXT
from recollect.index.text.shards import Shard, TextIndex
from recollect.model.learnings.entries import APART_KINDS, ENTRY_KINDS
from recollect.recall.abstention import (
    CERTAIN,
    UNSURE_BELOW,
    absent_of,
    absent_subject,
    confidence_of,
    covered_by,
    names_among,
    typed,
)
from recollect.recall.answers import Hit, SearchAnswer
from recollect.recall.coverage import NOT_INDEXED, NOTHING, left_out_parts, partly
from recollect.recall.question_kinds import sought_in
from recollect.recall.rerank import Contextual, PassageOrder, QuestionMeaning, is_near, rerank
from recollect.recall.result_page import FETCH_PER_HIT, MAX_VERIFIED, Findings, ResultPage, no_answer, said_once
from recollect.recall.vector_search import NOTHING_NEAR, VectorSearch
from recollect.store.entries import DOCUMENT_SHARD, NOTE_SHARD
from recollect.store.reader import Reader
from recollect.store.row_keys import SEQ_BITS
from recollect.store.rows import EventFilter, SessionKey

MAX_LIMIT = 200
MIN_INSIDE_CHARS = 4
"""A shorter word is inside of too many others to mean any of them."""
ROUND = 12
"""Hits of one session before the other sessions have their turn: a page of 4 KB shows eight."""
MAX_BESIDE = 3
"""Learnings and notes shown beside the hits."""
BESIDE_POOL = 20
"""Notes that are looked at: one that is surely about a question is among the best by its words."""
SURE = 0.55
"""The share of a question's rareness that a note holds when it is shown though nobody asked for notes. It also has
every name in it: one that is not about the question is worse than none."""

PHRASE_WORDS = 4
"""Keywords of at least so many, of which no session has enough, describe what they look for: their meaning counts."""


class Searcher:
    """Answers queries over one index and one store, one at a time.

    glossary: returns, for a time, the synonyms of a name, all in normal form. unsearched: reports, for the present and
    damaged parts of the index, what a search cannot find now. is_in_turn: search one part after the other, not several
    at once.
    """

    def __init__(
        self,
        index: TextIndex,
        store: Reader,
        *,
        meaning: VectorSearch | None = None,
        contextual: Contextual | None = None,
        weights: Weights = WEIGHTS,
        glossary: Callable[[int], Mapping[str, tuple[str, ...]]] = lambda _now_us: {},
        unsearched: Callable[[Collection[str], Collection[str]], tuple[str, ...]] = left_out_parts,
        is_in_turn: bool = False,
    ) -> None:
        self._index = index
        self._store = store
        self._meaning = meaning
        self._contextual = contextual
        self._weights = weights
        self._glossary = glossary
        self._unsearched = unsearched
        self._is_in_turn = is_in_turn
        self._shards: Sequence[Shard] = ()
        self._texts = store.hit_texts()
        """Both as of the present question."""

    def search(
        self, query: str, *, limit: int = 10, now_us: int, zone: tzinfo = UTC, names: Names = as_written
    ) -> SearchAnswer:
        """Answer a query. Any text is a query; no text raises.

        limit: hits wanted, 1 to 200. now_us, zone, names: see `index.query.grammar.parse`.

        Raises:
            IndexUnavailable: the index cannot be read at all; a damaged shard is only a note.
        """
        started = time.perf_counter()
        question = in_english(parse(query, now_us, zone, names=names))
        self._texts = self._store.hit_texts()
        while True:
            try:
                self._shards = self._index.shards()
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
        searched = [shard.name for shard in self._shards]
        answer = partly(answer, self._unsearched(searched, self._index.damaged))
        answer = msgspec.structs.replace(answer, elsewhere=self._elsewhere(question, answer, now_us))
        learned = said_once(learned, answer.hits)
        return msgspec.structs.replace(answer, learned=learned, took_ms=round((time.perf_counter() - started) * 1e3, 3))

    def _elsewhere(self, question: Question, answer: SearchAnswer, now_us: int) -> int:
        """Return how many events outside of the confines match best, if they match better than any in them.

        That is: they have more of the words, or as many and among them one that no event in the confines has.
        """
        if not question.is_confined or answer.match_level in ("exact", "stemmed"):
            return 0
        if not answer.with_words:
            return self._answer(question.unconfined, 1, now_us).with_words
        inside, outside = (self._words_had(asked, now_us) for asked in (question, question.unconfined))
        here, most = reduce(or_, inside, 0), max(map(int.bit_count, inside), default=0)
        words = Counter(had.bit_count() for had in outside if (had.bit_count(), bool(had & ~here)) > (most, False))
        return max(words.items(), default=(0, 0))[1]

    def _words_had(self, question: Question, now_us: int) -> list[int]:
        """Return which of a question's words each event has, as bits."""
        plan, _notes = self._wanted(question, self._shards, now_us)
        found = CandidateSearch(parts_for(question, self._shards), plan, pool=POOL).run()
        return [plan.surely(candidate) for candidate in found.values()]

    def _answer(self, question: Question, limit: int, now_us: int) -> SearchAnswer:
        notes = list(question.notes)
        if not question.asks_something and not question.has_filter:
            return no_answer(question, [*notes, "nothing to look for: give at least one word"])
        if question.lost:
            return no_answer(question, [*notes, f"nothing was searched: `{question.lost}:` names nothing known"])
        shards = self._shards
        if not shards:
            return no_answer(question, [*notes, NOT_INDEXED])
        shards = parts_for(question, shards)
        wanted, more_notes = self._wanted(question, shards, now_us)
        notes += more_notes
        if not question.asks_something:
            return self._newest(question, wanted, shards, notes, limit)
        if not wanted.all_units:
            return no_answer(question, [*notes, "the query has no letters or digits to look for"])
        look = partial(self._look, shards=shards, limit=limit, now_us=now_us)
        whole = _lone_compound(wanted)
        if whole is None:
            return look(question, wanted, notes=notes)
        if not whole.is_absent:
            answer = look(question, msgspec.structs.replace(wanted, units=(), must=((whole,),)), notes=notes)
            if answer.hits:
                return answer
        parts = tuple((unit,) for unit in wanted.units if unit.part_of)
        notes.append(f"{whole.clause.text} was not found as a whole; looked for events with all its parts")
        return look(question, msgspec.structs.replace(wanted, units=(whole,), must=parts), notes=notes)

    def _newest(
        self, question: Question, wanted: QueryPlan, shards: Sequence[Shard], notes: Sequence[str], limit: int
    ) -> SearchAnswer:
        """Return what filters allow, newest first: there is nothing to rank by."""
        searched = CandidateSearch(shards, wanted, pool=max(POOL, limit * FETCH_PER_HIT))
        candidates = searched.newest()
        if not candidates:
            return no_answer(question, [*notes, NOTHING], abstained=True)
        keys = self._store.session_keys(sorted({candidate.session for candidate in candidates}))
        ranked = [Ranked(candidate, CERTAIN, 1.0) for candidate in candidates if candidate.session in keys]
        found = Findings(keys, searched.certain, searched.unverified, CERTAIN, limit, (*notes, _ONLY_FILTERS))
        return ResultPage(self._texts, question, wanted, ranked, found).answer()

    def _inside_words(self, question: Question, limit: int, now_us: int) -> SearchAnswer | None:
        """Search for an absent lone word inside of longer ones; None if that finds nothing either."""
        if question.must or len(question.words) != 1 or len(question.words[0].text) < MIN_INSIDE_CHARS:
            return None
        word = question.words[0].text
        inside = parse(f"*{word}*", now_us)
        if not inside.must:
            return None
        answer = self._answer(msgspec.structs.replace(question, words=(), must=inside.must), limit, now_us)
        if not answer.hits:
            return None
        hits = tuple(msgspec.structs.replace(hit, match_level="near") for hit in answer.hits)
        notes = (*answer.notes, f"{word} was not found as a word; these have it inside longer ones")
        return msgspec.structs.replace(answer, hits=hits, match_level="near", notes=notes)

    def _beside(self, question: Question, now_us: int) -> tuple[Hit, ...]:
        """Return learnings and notes that are certainly about a question. Rareness is that of the whole memory."""
        asked = beside(question)
        shards = self._shards
        notes = [shard for shard in shards if shard.name == NOTE_SHARD]
        if asked is None or not notes or not question.asks_something or question.lost:
            return ()
        wanted, _notes = self._wanted(asked, shards, now_us)
        if not wanted.all_units or not may_be_sure(wanted, notes):
            return ()
        searched = CandidateSearch(notes, wanted, pool=BESIDE_POOL)
        candidates = searched.run()
        sure = sure_ones(candidates, wanted, asked.said)
        if not sure:
            return ()
        ranked, keys = self._rank(asked, wanted, candidates, now_us)
        ranked = [item for item in ranked if item.candidate.key in sure]
        if not ranked:
            return ()
        confidence = max(sure[item.candidate.key] for item in ranked)
        found = Findings(keys, searched.certain, searched.unverified, confidence, MAX_BESIDE)
        return ResultPage(self._texts, asked, wanted, _in_rounds(asked, ranked, keys), found).answer().hits

    def _look(
        self, question: Question, wanted: QueryPlan, shards: Sequence[Shard], notes: Sequence[str], *, limit: int,
        now_us: int, asks: bool = False,
    ) -> SearchAnswer:  # fmt: skip
        absent = () if wanted.must else absent_subject(wanted.units)
        if absent:
            return no_answer(question, [*notes, _nothing_note(absent, wanted)], abstained=True)
        asks = asks or is_question(question.meant)
        near = self._meaning.near(question, wanted, shards) if self._meaning is not None else NOTHING_NEAR
        meant = QuestionMeaning()
        if asks and self._contextual is not None and len(question.words) > 1:
            meant = self._contextual.meant(question.meant, wanted.confinement.sessions)
        said = notes
        notes = [*notes, *near.notes, *meant.notes]
        pool = max(POOL, limit * 4, MAX_VERIFIED if wanted.has_checks else 0)
        keys = (*meant.keys, *near.keys)
        near_in = self._store.session_keys({key >> SEQ_BITS for key in keys}) if keys else {}
        homes = {number: session.shard for number, session in near_in.items()}
        searched = CandidateSearch(shards, wanted, pool=pool, near=keys, homes=homes, is_in_turn=self._is_in_turn)
        candidates = searched.run()
        if self._meaning is not None and near.keys:
            for key, similarity in self._meaning.similarities(question, wanted, candidates).items():
                candidates[key].similarity = similarity
        ranked, sessions = self._rank(question, wanted, candidates, now_us)
        confidence = _confidence(question, wanted, ranked)
        is_unsure = confidence < UNSURE_BELOW
        if is_unsure and not asks and self._contextual is not None and len(question.words) >= PHRASE_WORDS:
            return self._look(question, wanted, shards, said, limit=limit, now_us=now_us, asks=True)
        if asks:
            order = rerank(
                ranked, wanted.all_units, sessions, meant, store=self._texts, contextual=self._contextual,
                sought=sought_in(question.meant), is_unsure=is_unsure,
            )  # fmt: skip
        else:
            # Words are looked for as they stand: what has none of them must be very near in meaning.
            order = PassageOrder([i for i in ranked if i.candidate.has or is_near(i.candidate)], {})
        notes += order.notes
        if not order.ranked:
            return no_answer(question, [*notes, _nothing_note((), wanted)], abstained=True)
        if is_unsure:
            notes.insert(0, _unsure_note(wanted))
        in_order = _in_rounds(question, order.ranked, sessions)
        found = Findings(
            sessions, searched.certain, searched.unverified, confidence, limit, tuple(notes), is_unsure, order.texts,
            order.shown,
        )  # fmt: skip
        return ResultPage(self._texts, question, wanted, in_order, found).answer()

    def _rank(
        self, question: Question, wanted: QueryPlan, candidates: Mapping[int, Candidate], now_us: int
    ) -> tuple[list[Ranked], Mapping[int, SessionKey]]:
        keys = self._store.session_keys(sorted({c.session for c in candidates.values()}))
        known = {key: c for key, c in candidates.items() if c.session in keys}
        ranked = rank(known, wanted, question=question.meant, sessions=keys, now_us=now_us, weights=self._weights)
        return ranked, keys

    # Understanding.

    def _confine(self, question: Question) -> Confinement:
        allowed = self._store.session_numbers(question.where) if not question.where.is_empty else None
        refused: set[int] = set()
        for where in question.where_not:
            numbers = self._store.session_numbers(where)
            # What belongs to no repository is not refused with one.
            refused.update(numbers - self._store.session_numbers(_NO_REPO) if where.repos else numbers)
        return Confinement.of(question, sessions=allowed, not_sessions=frozenset(refused))

    def _wanted(self, question: Question, shards: Sequence[Shard], now_us: int) -> tuple[QueryPlan, list[str]]:
        confinement = self._confine(question)
        reader = UnitReader(self._index, shards, with_instructions=confinement.with_instructions)
        must = [group for clauses in question.must if (group := _group(reader, clauses))]
        glossary = self._glossary(now_us) if question.words else {}
        wanted = QueryPlan(
            units=_not_missed(
                reader.words(question.words, alternatives_of(question.words, glossary), question.english),
                question.either,
            ),
            must=tuple(must),
            must_not=tuple(unit for clause in question.must_not for unit in _group(reader, (clause,))),
            confinement=confinement,
            around=question.around,
        )
        return wanted, reader.notes


_ONLY_LEARNED = "nothing found in what agents did; something was learned or noted of it"
_NO_REPO = EventFilter(repos=("=",))
_ONLY_FILTERS = "the query has filters only: these are the newest events that they allow"


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
    """Return the units without absent words that have an OR alternative which occurs."""
    there = {unit.clause for unit in units if not unit.is_absent}
    idle = {clause for group in either if there.intersection(group) for clause in group} - there
    return tuple(unit for unit in units if unit.clause not in idle)


def _lone_compound(wanted: QueryPlan) -> Unit | None:
    """Return the identifier or other compound that is the whole query; its parts are only a fallback.

    One with a synonym is searched as words are.
    """
    whole = [unit for unit in wanted.units if not unit.part_of]
    if len(whole) != 1 or len(wanted.units) == 1 or wanted.must or whole[0].also:
        return None
    return whole[0]


def _in_rounds(question: Question, ranked: Sequence[Ranked], sessions: Mapping[int, SessionKey]) -> Sequence[Ranked]:
    """Return the ranked so that a session gives at most `ROUND` of them before every other has given as many: a session
    of a hundred thousand events has all words of every question. Not where sessions or repositories are named."""
    if question.is_confined:
        return ranked
    counts: dict[str, int] = {}
    rounds: dict[int, list[Ranked]] = {}
    for item in ranked:
        root = sessions[item.candidate.session].root_uid
        count = counts.get(root, 0)
        rounds.setdefault(count // ROUND, []).append(item)
        counts[root] = count + 1
    return [item for _, of_round in sorted(rounds.items()) for item in of_round]


def _confidence(question: Question, wanted: QueryPlan, ranked: Sequence[Ranked]) -> float:
    """Rate how sure the answer is; a strict query's required words either occur or not, so its answer is certain."""
    if wanted.must:
        return CERTAIN
    in_session: dict[int, int] = {}
    for item in ranked:
        number = item.candidate.session
        in_session[number] = in_session.get(number, 0) | item.candidate.has
    covered = covered_by(in_session.values(), wanted.all_units)
    return confidence_of(wanted.units, question.text, covered=covered)


def _unsure_note(wanted: QueryPlan) -> str:
    absent = dict.fromkeys(typed(unit) for unit in absent_of(wanted.units))
    return "no exact match; closest results" + (f" (in no event:  {', '.join(absent)})" if absent else "")


def _nothing_note(missing: Sequence[str], wanted: QueryPlan) -> str:
    absent = [unit.clause.text for group in wanted.must if all(u.is_absent for u in group) for unit in group]
    if missing or absent:
        return "nothing found: no event contains  " + ", ".join(dict.fromkeys(missing or absent))
    return NOTHING


def parts_for(question: Question, shards: Sequence[Shard]) -> list[Shard]:
    """Return the parts of the index that a question's hits come from: no notes, unless it asks for them by kind."""
    kinds = frozenset(question.kinds)
    with_events = not kinds or bool(kinds.difference(ENTRY_KINDS))
    left_out = set()
    if (kinds and "document" not in kinds) or "document" in question.not_kinds:
        left_out.add(DOCUMENT_SHARD)
    if not kinds.intersection(APART_KINDS):
        left_out.add(NOTE_SHARD)
    entry_shards = (DOCUMENT_SHARD, NOTE_SHARD)
    return [s for s in shards if s.name not in left_out and (with_events or s.name in entry_shards)]


def beside(question: Question) -> Question | None:
    """Return what is asked of notes beside the events; None where the question confines them away."""
    kinds = tuple(kind for kind in APART_KINDS if kind not in question.not_kinds)
    where = question.where
    if question.kinds or question.tools or where.sessions or where.branches or where.is_subagent or not kinds:
        return None
    return msgspec.structs.replace(question, kinds=kinds, not_kinds=())


def may_be_sure(wanted: QueryPlan, notes: Sequence[Shard]) -> bool:
    """Return whether notes have enough of the words in total that one of them may have enough."""
    if wanted.must:
        return True
    clauses = UnitClauses((INSTRUCTIONS, TEXT) if wanted.confinement.with_instructions else (TEXT,), ())
    units = wanted.all_units
    there = sum(1 << i for i, u in enumerate(units) if any(clauses.found(shard, u) is not None for shard in notes))
    return covered_by((there,), units) >= SURE


def sure_ones(candidates: Mapping[int, Candidate], wanted: QueryPlan, question: str) -> dict[int, float]:
    """Return those that are surely about the question, by key, and how sure each is: the share that it holds, 0 to 1.

    Where something is required, what has it is about the question.
    """
    if wanted.must:
        return dict.fromkeys(candidates, 1.0)
    units = wanted.all_units
    names = sum(1 << units.index(unit) for unit in names_among(units, question))
    sure: dict[int, float] = {}
    for key, candidate in candidates.items():
        has = wanted.surely(candidate)
        held = covered_by((has,), units)
        if held >= SURE and has & names == names:
            sure[key] = held
    return sure
