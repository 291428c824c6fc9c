"""The features of a few sentences, without numpy: to load it takes longer than to read what one person says in a day.

The same as `features.features_of` gives; a property test compares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from recollect.insights.scorer.features import (
    BEGINNING,
    EDGE_HASHES,
    HASHES_OF,
    LAST_FACTOR,
    MOST,
    PAIR_FACTOR,
    PLACES,
    SPEAKERS,
    SPREAD_FACTOR,
    TOKEN_HASHES,
    TokenSentence,
    Turn,
    hashed,
    of_edges,
    of_turn,
    sentences_of,
)

_WORD: Final = 0xFFFF_FFFF


class FewFeatures(NamedTuple):
    """A sentence and the places of its features, each once."""

    sentence: TokenSentence
    places: set[int]


def few_features_of(turn: Turn) -> list[FewFeatures]:
    """Return the sentences of a turn with their features."""
    sentences = sentences_of(turn.text, turn.speaker)
    if not sentences:
        return []
    speaker = SPEAKERS.index(turn.speaker)
    tokens = [[TOKEN_HASHES.unpack(HASHES_OF[token]) for token in one.tokens] for one in sentences]
    edges = [EDGE_HASHES.unpack(of_edges(one, speaker)) for one in sentences]
    of_all = of_turn(turn)
    found: list[FewFeatures] = []
    for at, sentence in enumerate(sentences):
        hashes = [*of_all, *edges[at][:4], *_of_words([own for own, *_ in tokens[at]], turn.speaker)]
        if at > 0:
            hashes += [previous for _, previous, _, _ in tokens[at - 1][:BEGINNING]]
            hashes.append(edges[at - 1][4])
        if at + 1 < len(sentences):
            hashes += [following for _, _, following, _ in tokens[at + 1][:BEGINNING]]
            hashes.append(edges[at + 1][5])
        counts = {
            "code": sum(covered for *_, covered in tokens[at]),
            "length": len(sentence.tokens) // 4,
            "of": len(sentences),
            "at": at,
        }
        hashes += [hashed(name, turn.speaker, str(min(count, MOST[name]))) for name, count in counts.items()]
        hashes.append(hashed("last", turn.speaker, str(at + 1 == len(sentences))))
        found.append(FewFeatures(sentence, {one & (PLACES - 1) for one in hashes}))
    return found


def _of_words(words: Sequence[int], speaker: str) -> Iterator[int]:
    """Yield what depends on the words of a sentence."""
    mine = hashed(speaker)
    pairs = [(one * PAIR_FACTOR + two) & _WORD for one, two in pairwise(words)]
    triples = [(pair * PAIR_FACTOR + word) & _WORD for pair, word in zip(pairs, words[2:], strict=False)]
    for name, own_name, hashes in (("word", "own word", words), ("pair", "own pair", pairs)):
        yield from _mixed(hashes, hashed(name))
        yield from _mixed(hashes, mine ^ hashed(own_name))
    yield from _mixed(triples, hashed("triple"))


def _mixed(hashes: Sequence[int], name: int) -> Iterator[int]:
    for one in hashes:
        spread = (one ^ name) * SPREAD_FACTOR & _WORD
        spread = (spread ^ spread >> 15) * LAST_FACTOR & _WORD
        yield spread ^ spread >> 13
