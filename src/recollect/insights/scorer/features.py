"""What is known of the sentences of a turn, as places in a table of weights. Whole numbers only: the same turn gives
the same places on every machine.

A feature is a word, two or three words in a row, how the sentence begins and ends, the beginnings of the sentences
beside it, what the other side said before, and what came after. It has no name: its hash is its place.
"""

from __future__ import annotations

import zlib
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.insights.language.projection import OPAQUE
from recollect.insights.scorer.tokens import TokenSentence, sentences_of, tokens_of
from recollect.model.insights.nodes import Speaker

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BITS: Final = 18
PLACES: Final = 1 << BITS
_BEGINNING: Final = 12
"""Tokens of the sentences beside it that count."""
_TAIL: Final = 14
_TAIL_CHARACTERS: Final = 200
_NEXT: Final = 6
_NEXT_CHARACTERS: Final = 100
_SHORT: Final = 120
"""Characters up to which a turn is short: an answer rather than an order."""
_A, _B, _C = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D


class Turn(NamedTuple):
    """A message and what stands around it. before: what the other side said last; after: the message that follows;
    is_edited: whether edits follow before a person speaks again."""

    text: str
    speaker: Speaker
    before: str = ""
    after: str = ""
    is_edited: bool = False


class TurnFeatures(NamedTuple):
    """The sentences of a turn, the places of their features, and of which sentence each is."""

    sentences: list[TokenSentence]
    places: NDArray[np.int64]
    owners: NDArray[np.int64]


def features_of(turn: Turn) -> TurnFeatures:
    """Return the sentences of a turn with their features. Pure."""
    import numpy as np

    sentences = sentences_of(turn.text, turn.speaker)
    if not sentences:
        return TurnFeatures([], np.zeros(0, np.int64), np.zeros(0, np.int64))
    places: list[NDArray[np.uint32]] = []
    owners: list[NDArray[np.int64]] = []
    lengths = np.array([len(one.tokens) for one in sentences])
    of = np.repeat(np.arange(len(sentences)), lengths)
    words = np.array([_number(token) for one in sentences for token in one.tokens], np.uint32)
    mine = np.uint32(_number(turn.speaker))
    pairs, is_pair = words[:-1] * np.uint32(_A) + words[1:], of[:-1] == of[1:]
    triples, is_triple = pairs[:-1] * np.uint32(_A) + words[2:], of[:-2] == of[2:]
    for name, values, owner in (
        ("word", words, of),
        ("pair", pairs[is_pair], of[:-1][is_pair]),
        ("triple", triples[is_triple], of[:-2][is_triple]),
    ):
        places.append(_mixed(values, name))
        owners.append(owner)
        if name != "triple":
            places.append(_mixed(values ^ mine, f"own {name}"))
            owners.append(owner)
    around, of_around = _around(turn, sentences)
    return TurnFeatures(
        sentences,
        np.concatenate([*places, np.array(around, np.uint32)]).astype(np.int64) % PLACES,
        np.concatenate([*owners, np.array(of_around, np.int64)]),
    )


def _around(turn: Turn, sentences: list[TokenSentence]) -> tuple[list[int], list[int]]:
    """Return what does not depend on single words: the places and the sentence of each."""
    of_turn = _of_turn(turn)
    beginnings = [_beginning(one.tokens) for one in sentences]
    places: list[int] = []
    owners: list[int] = []
    for at, sentence in enumerate(sentences):
        own = [
            *(_place("start", turn.speaker, *sentence.tokens[:count]) for count in (1, 2, 3)),
            _place("end", turn.speaker, sentence.tokens[-1]),
            _place("length", turn.speaker, str(min(len(sentence.tokens) // 4, 8))),
            _place("of", turn.speaker, str(min(len(sentences), 6))),
            _place("at", turn.speaker, str(min(at, 3))),
            _place("last", turn.speaker, str(at == len(sentences) - 1)),
            _place("code", turn.speaker, str(min(sentence.tokens.count(OPAQUE), 3))),
            *of_turn,
        ]
        if at:
            own += (_place("previous", name) for name in beginnings[at - 1])
        if at + 1 < len(sentences):
            own += (_place("next", name) for name in beginnings[at + 1])
        places += own
        owners += [at] * len(own)
    return places, owners


def _of_turn(turn: Turn) -> list[int]:
    """Return what is the same for all sentences of a turn."""
    tail = turn.before.rstrip()[-_TAIL_CHARACTERS:]
    length = "short" if len(turn.text) < _SHORT else "long"
    return [
        _place("answers", turn.speaker, str(bool(tail))),
        _place("asked", turn.speaker, length, str(tail.endswith(("?", "？")))),
        *(_place("before", turn.speaker, length, token) for token in tokens_of(tail)[-_TAIL:]),
        *(_place("after", turn.speaker, token) for token in tokens_of(turn.after[:_NEXT_CHARACTERS])[:_NEXT]),
        _place("edited", turn.speaker, str(turn.is_edited)),
    ]


@lru_cache(4096)
def _beginning(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return (*tokens[:_BEGINNING], " ".join(tokens[:2]) + " …")


@lru_cache(1 << 16)
def _number(token: str) -> int:
    return zlib.crc32(token.encode("utf-8", "replace"))


@lru_cache(1 << 16)
def _place(*names: str) -> int:
    return zlib.crc32("\0".join(names).encode("utf-8", "replace"))


def _mixed(values: NDArray[np.uint32], name: str) -> NDArray[np.uint32]:
    """Return the values, spread, so that the same words give other places under another name."""
    import numpy as np

    spread = (values ^ np.uint32(_number(name))) * np.uint32(_B)
    spread ^= spread >> np.uint32(15)
    spread *= np.uint32(_C)
    return spread ^ (spread >> np.uint32(13))
