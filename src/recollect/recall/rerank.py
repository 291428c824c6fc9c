"""Rates the best candidates passage by passage with the contextual model.

Vectors that were made in the background are looked up; of candidates that have none yet, a small fixed number of
passages is read while the question waits, and these vectors are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable, IndexUnavailable, StoreError
from recollect.index.query.query_units import Unit
from recollect.index.query.ranking import WEIGHTS as RANKING
from recollect.index.query.ranking import Ranked
from recollect.index.vectors.texts import Passage, passages_of
from recollect.model.text import TextClass
from recollect.recall.question_kinds import Sought, share_in
from recollect.recall.snippets import Passages
from recollect.store.passages import PassageStore, hash_of
from recollect.store.reader import HitTexts
from recollect.store.row_keys import ENTRY_BASE, SEQ_BITS, SEQ_MASK
from recollect.store.rows import HitText, SessionKey
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.index.query.candidates import Candidate
    from recollect.index.vectors.passage_process import PassageReader
    from recollect.index.vectors.vector_index import Vectors


TALK_NEAREST = 10
"""Events that become candidates because their talk is near to a question, whatever its words. 5 to 10 of talk help on
every set, of tools too on none (docs/development/recall-tuning.md, fifth round)."""
NEAREST = 10
"""Candidates that are looked at because they are near to a question, wherever their words place them: of 454 questions,
32 were missed whose answer was a candidate and not looked at, and 13 of these answers were among the ten nearest."""
_CLASSES: dict[str, TextClass] = {
    "user_message": "talk",
    "assistant_message": "talk",
    "compaction": "talk",
    "thinking": "thinking",
    "tool_call": "tool_input",
    "file_edit": "tool_input",
    "tool_result": "tool_output",
}


class PassageMatch(NamedTuple):
    """How near an event is: the cosine of its best passage, and of every one by its place in the text."""

    cosine: float
    passages: Sequence[tuple[Passage, float]]

    def within(self, stretch: Passage) -> float:
        """Return how near a stretch of the text is: the mean of the passages that it shares, by how much of each."""
        if len(self.passages) == 1:
            return self.cosine
        shared = [
            (min(stretch.end, passage.end) - max(stretch.start, passage.start), cosine)
            for passage, cosine in self.passages
            if passage.start < stretch.end and stretch.start < passage.end
        ]
        total = sum(many for many, _ in shared)
        return sum(many * cosine for many, cosine in shared) / total if total else self.cosine


class Comparison(NamedTuple):
    """near: by key, of the candidates that could be compared. unread: candidates that could not be, for want of a
    vector. notes: why the model could not be asked."""

    near: Mapping[int, PassageMatch] = {}
    unread: int = 0
    notes: tuple[str, ...] = ()


class QuestionMeaning(NamedTuple):
    """What a question means. vector: None where the model could not be asked; notes say why. keys: of the events whose
    talk is nearest to it, nearest first."""

    vector: Vectors | None = None
    keys: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Contextual:
    """Compares candidates with questions. Never raises: a search continues with words and static vectors. Thread
    safe.
    """

    def __init__(self, open_store: Callable[[], PassageStore], reader: PassageReader, *, at_once: int) -> None:
        """open_store: gives the store of the thread that asks. at_once: passages read while a question waits."""
        self._open_store = open_store
        self._reader = reader
        self._at_once = at_once

    def meant(self, question: str, sessions: Collection[int] | None = None) -> QuestionMeaning:
        """Return what a question means. sessions: numbers of those that talk may be of; None for all."""
        try:
            vector = self._reader.embed([question])[0]
        except EmbeddingUnavailable as error:
            return QuestionMeaning(notes=(f"ranked by words and static vectors only: {error}",))
        try:
            from recollect.index.vectors.nearest_messages import nearest_talk

            return QuestionMeaning(
                vector, tuple(nearest_talk(self._open_store(), vector, limit=TALK_NEAREST, sessions=sessions))
            )
        except (IndexUnavailable, StoreError, OSError, ValueError) as error:
            return QuestionMeaning(vector, notes=(f"{error}; `recollect embed` mends it",))

    def nearest(self, vector: Vectors, keys: Collection[int]) -> list[int]:
        """Return the keys of those of some events that are nearest to a question's vector, nearest first."""
        from recollect.index.vectors.nearest_messages import nearest_among

        try:
            return nearest_among(self._open_store(), vector, keys)[:NEAREST]
        except (IndexUnavailable, StoreError):  # the comparison of the texts says so
            return []

    def compare(self, vector: Vectors, texts: Mapping[int, HitText]) -> Comparison:
        """Return how near texts are to a question's vector. texts: by key of the event, best candidate first."""
        try:
            return self._compare(vector, texts)
        except EmbeddingUnavailable as error:
            return Comparison(notes=(f"ranked by words and static vectors only: {error}",))
        except (IndexUnavailable, StoreError) as error:
            return Comparison(notes=(f"ranked by words and static vectors only: {error}; `recollect embed` mends it",))

    def _compare(self, vector: Vectors, texts: Mapping[int, HitText]) -> Comparison:
        from recollect.index.vectors.nearest_messages import cosines, encode

        store = self._open_store()
        pieces = {key: _pieces(text) for key, text in texts.items()}
        hashes = {key: [hash_of(piece) for _, piece in of_text] for key, of_text in pieces.items()}
        codes = store.codes(one for of_text in hashes.values() for one in of_text)
        missing: dict[int, str] = {}
        for key, of_text in pieces.items():
            for one, (_, piece) in zip(hashes[key], of_text, strict=True):
                if one not in codes and len(missing) < self._at_once:
                    missing[one] = piece
        if missing:
            new = dict(zip(missing, encode(self._reader.embed(list(missing.values()))), strict=True))
            codes |= new
            read = {key: [one for one in of_text if one in codes] for key, of_text in hashes.items()}
            made = {key: ones for key, ones in read.items() if not missing.keys().isdisjoint(ones)}
            store.keep(new, made, [key for key in made if _CLASSES.get(texts[key].kind) == "talk"])
        order = list(codes)
        near = dict(zip(order, cosines(vector, [codes[one] for one in order]).tolist(), strict=True)) if order else {}
        found: dict[int, PassageMatch] = {}
        for key, of_text in pieces.items():
            scored = [
                (passage, near[one]) for one, (passage, _) in zip(hashes[key], of_text, strict=True) if one in near
            ]
            if scored:
                found[key] = PassageMatch(max(cosine for _, cosine in scored), scored)
        return Comparison(found, sum(bool(of_text) for of_text in pieces.values()) - len(found))


def _pieces(text: HitText) -> list[tuple[Passage, str]]:
    of_class = _CLASSES.get(text.kind)
    if of_class is None:
        return []
    return [(piece, text.text[piece.start : piece.end].strip()) for piece in passages_of(of_class, text.text)]


LOOKED_AT = 40
"""So many of the best are looked at: 60 win one question of three hundred and cost a sixth more time, 25 lose five."""
SHOWN_PASSAGES = 10
"""An event is shown with its best passage and with others that are among so many best of all; 6 to 15 give the same."""
MOST_OF_EVENT = 3
SEAT = 5
"""The talk nearest in meaning comes after at most so many others: it may share no word with the question."""
SHORT_CHARS = 80
_SETTLING = frozenset(("assistant_message", "compaction"))


class Features(NamedTuple):
    """The features of a passage and its event; also, under the same names, their weights.

    score: of the event, as a share of the best. near: the cosine of its best passage. nearer: how much nearer this
    passage is. session_nearest, session_near: the best, and the mean of the three best, of its session's cosines.
    words: the share of the question's rareness in the passage. late: an agent's event's position in its session, 0 to
    1. closing: the reply that closes a turn of work. later_session: the log of its session's place. length: the log of
    the text's length in characters. short: less than SHORT_CHARS. thinking: its kind. in_period: its date is one
    that the question names. sought: how much of what is asked for the passage has, a number or a path. settled: the log
    of how many later replies in its session are about the same.
    """

    score: float = 0.0
    near: float = 0.0
    nearer: float = 0.0
    session_nearest: float = 0.0
    session_near: float = 0.0
    words: float = 0.0
    late: float = 0.0
    closing: float = 0.0
    later_session: float = 0.0
    length: float = 0.0
    short: float = 0.0
    thinking: float = 0.0
    in_period: float = 0.0
    sought: float = 0.0
    settled: float = 0.0

    def times(self, weights: Features) -> float:
        """Return the sum of all, each times its weight."""
        return sum(a * b for a, b in zip(self, weights, strict=True))

    def meaning_times(self, factor: float) -> Features:
        """Return weights with what the contextual model says counting `factor` times."""
        return self._replace(
            near=self.near * factor,
            nearer=self.nearer * factor,
            session_nearest=self.session_nearest * factor,
            session_near=self.session_near * factor,
        )


ORDER = Features(
    score=2.4,
    near=4.2,
    nearer=5.6,
    session_nearest=4.4,
    session_near=4.2,
    words=6.0,
    late=1.0,
    closing=0.8,
    later_session=-0.32,
    length=-0.77,
    short=-2.8,
    thinking=-1.5,
    in_period=7.0,
    sought=1.5,
    settled=-0.45,
)
"""Fitted, but for `in_period`: that a date prefers strongly is promised, and few questions name one."""
UNSURE_MEANING = 2.0
"""What the contextual model says counts so many times where no session has the words of the question: what scores there
are come of accidents."""


NEAR_ENOUGH = 0.25
"""Cosine from which on an event that has none of a question's words answers it. Ten questions about bread or the moon
are at most this near to 400 passages of transcripts; of 490 real questions, one has no passage that is nearer."""
STATICALLY_NEAR = 0.45
"""Similarity, of the static vectors, from which on an event without any of the words answers."""
SAME_MATTER = 0.8
"""A later reply is about the same if its best passage has this share of the words of the event's best one."""


class Valued(NamedTuple):
    """A passage of an event, by its key."""

    key: int
    passage: Passage
    features: Features


class PassageOrder(NamedTuple):
    """ranked: in the final order. shown: of the best, by key, the passages to show, in the order of the text. texts: by
    key, those that were read."""

    ranked: list[Ranked]
    shown: Mapping[int, list[Passage]]
    texts: Mapping[int, HitText] = {}
    notes: tuple[str, ...] = ()


def rerank(
    ranked: Sequence[Ranked], units: Sequence[Unit], sessions: Mapping[int, SessionKey], meant: QuestionMeaning, *,
    store: HitTexts, contextual: Contextual | None, sought: Sought, is_unsure: bool,
) -> PassageOrder:  # fmt: skip
    """Put the best of a question in order by their passages, and those near in meaning; what neither has any of the
    words nor is near is left out.
    """
    near = set(meant.keys)
    rest = [item.candidate.key for item in ranked[LOOKED_AT:]]
    if contextual is not None and meant.vector is not None and rest:
        near.update(contextual.nearest(meant.vector, rest))
    best = [item for at, item in enumerate(ranked) if at < LOOKED_AT or item.candidate.key in near]
    by_key = store.texts([item.candidate.key for item in best], with_closing=True)
    texts = {key: by_key[key] for item in best if (key := item.candidate.key) in by_key}
    compared = Comparison()
    if contextual is not None and meant.vector is not None:
        compared = contextual.compare(meant.vector, texts)
    notes = compared.notes
    if compared.unread:
        of = plural(compared.unread + len(compared.near), "candidate")
        notes += (f"{compared.unread} of {of} not compared by meaning yet: `recollect embed` reads the rest",)
    valued = list(value(best, texts, compared.near, sessions, Passages(units), sought))
    about = [item for item in ranked if item.candidate.has or is_near(item.candidate, compared.near)]
    found = reorder(valued, about, ORDER.meaning_times(UNSURE_MEANING if is_unsure else 1.0))
    ranked = seated(found.ranked, next(iter(meant.keys), None))
    return found._replace(ranked=ranked, texts=texts, notes=notes)


def is_near(candidate: Candidate, near: Mapping[int, PassageMatch] = MappingProxyType({})) -> bool:
    """Return whether what has none of the words is near enough to be a hit. near: by key, as far as compared.

    Documents and notes are few and about something: of events one is always near by accident.
    """
    match = near.get(candidate.key)
    if match is not None:
        return match.cosine >= NEAR_ENOUGH
    return candidate.session >= ENTRY_BASE or (candidate.similarity or 0.0) >= STATICALLY_NEAR


def reorder(valued: Sequence[Valued], ranked: Sequence[Ranked], weights: Features = ORDER) -> PassageOrder:
    """Return the ranked with the events of `valued` first, by their best passage, and what to show of them.

    The scores stay, in order: how sure an answer is does not change.
    """
    order = sorted(((one.features.times(weights), -at, one) for at, one in enumerate(valued)), reverse=True)
    shown: dict[int, list[Passage]] = {}
    for at, (_, _, one) in enumerate(order):
        of_event = shown.setdefault(one.key, [])
        if not of_event or (at < SHOWN_PASSAGES and len(of_event) < MOST_OF_EVENT):
            of_event.append(one.passage)
    by_key = {item.candidate.key: item for item in ranked}
    first = [by_key[key] for key in shown if key in by_key]
    rest = [item for item in ranked if item.candidate.key not in shown]
    scores = sorted((item.score for item in first), reverse=True)
    placed = [item._replace(score=score) for item, score in zip(first, scores, strict=True)]
    return PassageOrder(placed + rest, {key: _merged(passages) for key, passages in shown.items()})


def seated(ranked: list[Ranked], key: int | None) -> list[Ranked]:
    """Return the ranking with an event at place SEAT at the latest, with the score of the event it displaces."""
    at = next((i for i, item in enumerate(ranked) if item.candidate.key == key), 0)
    if at <= SEAT:
        return ranked
    item = ranked[at]._replace(score=ranked[SEAT].score)
    return [*ranked[:SEAT], item, *ranked[SEAT:at], *ranked[at + 1 :]]


def value(
    ranked: Sequence[Ranked],
    texts: Mapping[int, HitText],
    near: Mapping[int, PassageMatch],
    sessions: Mapping[int, SessionKey],
    passages: Passages,
    sought: Sought = (),
) -> Iterator[Valued]:
    """Yield every passage of the examined events.

    ranked: these, best first. near: their known similarity in meaning; unknown ones count as the mean.
    """
    best = max((_undated(item) for item in ranked), default=0.0) or 1.0
    known = [match.cosine for match in near.values()]
    mean = sum(known) / len(known) if known else 0.0
    in_session: dict[int, list[float]] = {}
    for key, found in near.items():
        in_session.setdefault(key >> SEQ_BITS, []).append(found.cosine)
    session_near = {number: sorted(cosines, reverse=True) for number, cosines in in_session.items()}
    shares = {key: list(passages.shares(text.text or text.summary)) for key, text in texts.items()}
    settled = _settled(texts, {key: max((words for _, words in ones), default=0.0) for key, ones in shares.items()})
    places: dict[str, int] = {}
    for item in ranked:
        candidate = item.candidate
        session = sessions[candidate.session]
        place = places.setdefault(session.root_uid, len(places))
        text = texts.get(candidate.key)
        if text is None:
            continue
        match = near.get(candidate.key)
        nearest = [*session_near.get(candidate.session, ()), mean, mean, mean][:3]
        of_event = Features(
            score=_undated(item) / best,
            near=mean if match is None else match.cosine,
            session_nearest=nearest[0],
            session_near=sum(nearest) / len(nearest),
            late=_lateness(item, session),
            closing=float(text.is_closing),
            later_session=math.log1p(place),
            length=math.log(50 + len(text.text)),
            short=float(len(text.text) < SHORT_CHARS),
            thinking=float(text.kind == "thinking"),
            in_period=float(candidate.in_period),
            settled=settled[candidate.key],
        )
        whole = text.text or text.summary
        for passage, words in shares[candidate.key]:
            nearer = 0.0 if match is None else match.within(passage) - match.cosine
            has = share_in(whole[passage.start : passage.end], sought)
            yield Valued(candidate.key, passage, of_event._replace(words=words, nearer=nearer, sought=has))


def _settled(texts: Mapping[int, HitText], words: Mapping[int, float]) -> dict[int, float]:
    """Return, by key, the log of how many later replies in an event's session are about the same matter: what is first
    said of it is often a proposal."""
    found: dict[int, float] = {}
    later: dict[int, list[float]] = {}
    for key in sorted(texts, reverse=True):
        replies = later.setdefault(key >> SEQ_BITS, [])
        found[key] = math.log1p(sum(one >= SAME_MATTER * words[key] for one in replies))
        if texts[key].kind in _SETTLING:
            replies.append(words[key])
    return found


def _undated(item: Ranked) -> float:
    """Return a score without what a date adds to it."""
    return item.score - (RANKING.in_period if item.candidate.in_period else 0.0)


def _lateness(item: Ranked, session: SessionKey) -> float:
    """Return an agent's event's position in its session, 0 to 1; the middle for an event without a session."""
    candidate = item.candidate
    if candidate.session >= ENTRY_BASE:
        return 0.5
    if candidate.voice == "prompt":
        return 0.0
    return min(1.0, (candidate.key & SEQ_MASK) / max(session.event_count, 1))


def _merged(passages: Sequence[Passage]) -> list[Passage]:
    """Return passages in the order of their text, those that touch or overlap as one."""
    merged: list[Passage] = []
    for one in sorted(passages):
        if merged and one.start <= merged[-1].end:
            merged[-1] = Passage(merged[-1].start, max(merged[-1].end, one.end))
        else:
            merged.append(one)
    return merged
