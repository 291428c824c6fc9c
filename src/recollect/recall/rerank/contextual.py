"""How near the best candidates of a question are to it, passage by passage, by the contextual model.

Vectors that were made in the background are looked up; of candidates that have none yet, a small fixed number of
passages is read while the question waits, and these vectors are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from recollect.errors import EmbeddingUnavailable, IndexUnavailable, StoreError
from recollect.index.passages.client import PassageReader
from recollect.index.passages.cuts import Passage, passages_of
from recollect.model.text import TextClass
from recollect.store.passages import PassageStore, hash_of
from recollect.store.rows import HitText
from recollect.units import plural

if TYPE_CHECKING:
    from recollect.index.vectors.embedder import Vectors

TALK_NEAREST = 10
"""Events that become candidates because their talk is near to a question, whatever its words. 5 to 10 of talk help on
every set, of tools too on none (docs/recall-tuning.md, fifth round)."""
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


class Meant(NamedTuple):
    """What a question means. vector: None where the model could not be asked; notes say why. keys: of the events whose
    talk is nearest to it, nearest first."""

    vector: Vectors | None = None
    keys: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()


class Contextual:
    """Compares candidates with questions. Never raises: a search goes on by words and static vectors. Thread safe."""

    def __init__(self, open_store: Callable[[], PassageStore], reader: PassageReader, *, at_once: int) -> None:
        """open_store: gives the store of the thread that asks. at_once: passages read while a question waits."""
        self._open_store = open_store
        self._reader = reader
        self._at_once = at_once

    def meant(self, question: str, sessions: Collection[int] | None = None) -> Meant:
        """Return what a question means. sessions: numbers of those that talk may be of; None for all."""
        try:
            vector = self._reader.embed([question])[0]
        except EmbeddingUnavailable as error:
            return Meant(notes=(f"ranked by words and static vectors only: {error}",))
        try:
            from recollect.index.passages.talk import nearest_talk

            return Meant(vector, tuple(nearest_talk(self._open_store(), vector, limit=TALK_NEAREST, sessions=sessions)))
        except (IndexUnavailable, StoreError, OSError, ValueError) as error:
            return Meant(vector, notes=(f"{error}; `recollect embed` mends it",))

    def compare(self, vector: Vectors, texts: Mapping[int, HitText]) -> Comparison:
        """Return how near texts are to a question's vector. texts: by key of the event, best candidate first."""
        try:
            return self._compare(vector, texts)
        except EmbeddingUnavailable as error:
            return Comparison(notes=(f"ranked by words and static vectors only: {error}",))
        except (IndexUnavailable, StoreError) as error:
            return Comparison(notes=(f"ranked by words and static vectors only: {error}; `recollect embed` mends it",))

    def _compare(self, vector: Vectors, texts: Mapping[int, HitText]) -> Comparison:
        from recollect.index.passages.codes import cosines, encode

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


def unread_note(unread: int, of: int) -> tuple[str, ...]:
    """Say how many candidates could not be compared for want of a vector; nothing for none."""
    if not unread:
        return ()
    return (f"{unread} of {plural(of, 'candidate')} not compared by meaning yet: `recollect embed` reads the rest",)
