"""The messages of a session, each with what was said before it and what came after."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.insights.language.projection import OPAQUE, folded, project
from recollect.insights.stream import SessionEvents
from recollect.model.events import Event
from recollect.model.insights.nodes import Speaker
from recollect.model.payloads import AssistantMessage, FileEdit, UserMessage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


SENTENCES: Final = 80
"""Sentences of a message that are looked at, at most."""
TOKENS: Final = 160
"""Tokens of a sentence, at most: more is no sentence."""
NUMBER: Final = "0"
"""Stands for every number."""

_LINE: Final = r"\n[ \t]*(?:[-*+•]|\d{1,2}[.)])?[ \t]*"
_TOKEN: Final = re.compile(
    rf"[a-z0-9_'\u00c0-\u024f\u0400-\u04ff]+|[\u3040-\u30ff\u3400-\u9fff]|{OPAQUE}+|{_LINE}|[?!:;,.()…。！？、，；：-]"
)
_END: Final = re.compile(rf"{_LINE}|[?!。！？…]|\.(?!\S)")
"""What ends a sentence: a line's end, which is in none, or a mark, which is its last token."""


class TokenSentence(NamedTuple):
    """The tokens of a sentence, and its range in characters of the message."""

    tokens: tuple[str, ...]
    start: int
    end: int


def sentences_of(text: str, speaker: Speaker) -> list[TokenSentence]:
    """Return the sentences of a message's prose; code, quotations and logs are in none of them."""
    low = folded(project(text, of_human=speaker == "human"))
    found: list[TokenSentence] = []
    start = 0
    while start < len(low) and len(found) < SENTENCES:
        mark = _END.search(low, start)
        end, after = (len(low), len(low)) if mark is None else mark.span()
        piece = low[start : end if end < after and low[end] == "\n" else after]
        tokens = _TOKEN.findall(piece)
        plain = tuple(map(_plain, tokens))
        if any(map(str.isalnum, plain)):
            begin, last = piece.find(tokens[0]), piece.rfind(tokens[-1]) + len(tokens[-1])
            found.append(TokenSentence(plain[:TOKENS], start + begin, start + last))
        start = after
    return found


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the tokens of a piece of text, lines as marks left out."""
    return tuple(_plain(token) for token in _TOKEN.findall(folded(text)) if token[0] != "\n")


def _plain(token: str) -> str:
    if token[0] == OPAQUE:
        return OPAQUE
    return NUMBER if token.isdigit() else token


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
    """The sentences of turns, the places of their features, and the number of the sentence that each is of."""

    sentences: list[TokenSentence]
    places: NDArray[np.int64]
    owners: NDArray[np.int64]
    counts: list[int]
    """Sentences of each turn."""


def features_of(*turns: Turn) -> TurnFeatures:
    """Return the sentences of turns with their features. Pure; many turns at once cost less than one by one."""
    import numpy as np

    of_turns = [sentences_of(turn.text, turn.speaker) for turn in turns]
    counts = [len(of_one) for of_one in of_turns]
    sentences = [one for of_one in of_turns for one in of_one]
    if not sentences:
        return TurnFeatures([], np.zeros(0, np.int64), np.zeros(0, np.int64), counts)
    lengths = np.array([len(one.tokens) for one in sentences])
    of = np.repeat(np.arange(len(sentences)), lengths)
    words = np.array([_number(token) for one in sentences for token in one.tokens], np.uint32)
    speakers = np.array([_number(turn.speaker) for turn in turns], np.uint32)
    mine = np.repeat(np.repeat(speakers, counts), lengths)
    pairs, is_pair = words[:-1] * np.uint32(_A) + words[1:], of[:-1] == of[1:]
    triples, is_triple = pairs[:-1] * np.uint32(_A) + words[2:], of[:-2] == of[2:]
    pairs, of_pairs, of_triples = pairs[is_pair], of[:-1][is_pair], of[:-2][is_triple]
    places = [
        _mixed(words, "word"),
        _mixed(words ^ mine, "own word"),
        _mixed(pairs, "pair"),
        _mixed(pairs ^ mine[:-1][is_pair], "own pair"),
        _mixed(triples[is_triple], "triple"),
    ]
    around: list[int] = []
    of_around: list[int] = []
    first = 0
    for turn, of_one in zip(turns, of_turns, strict=True):
        if of_one:
            _add_around(turn, of_one, first, around, of_around)
            first += len(of_one)
    return TurnFeatures(
        sentences,
        np.concatenate([*places, np.array(around, np.uint32)]).astype(np.int64) % PLACES,
        np.concatenate([of, of, of_pairs, of_pairs, of_triples, np.array(of_around, np.int64)]),
        counts,
    )


def _add_around(turn: Turn, sentences: list[TokenSentence], first: int, places: list[int], owners: list[int]) -> None:
    """Add what does not depend on single words: the places and the sentence of each. first: the first one's number."""
    of_turn = _of_turn(turn)
    beginnings = [_beginning(one.tokens) for one in sentences]
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
        owners += [first + at] * len(own)


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


class TurnOfEvent(NamedTuple):
    """A message of a session as the scorer reads it."""

    event: Event
    turn: Turn


def turns_of(session: SessionEvents) -> Iterator[TurnOfEvent]:
    """Yield every message that a person or the model said, in order."""
    talk = list(session.talk())
    edited = _edited(session)
    said: dict[Speaker, str] = {"human": "", "assistant": ""}
    for at, event in enumerate(talk):
        speaker = _speaker(event)
        text = _text(event)
        after = _text(talk[at + 1]) if at + 1 < len(talk) else ""
        before = said["assistant" if speaker == "human" else "human"]
        yield TurnOfEvent(event, Turn(text, speaker, before, after, (event.event_id, event.part) in edited))
        said[speaker] = text


def _edited(session: SessionEvents) -> set[tuple[str, int]]:
    """Return the messages that edits follow before a person speaks again."""
    found: set[tuple[str, int]] = set()
    is_edited = False
    for event in reversed(session.of(UserMessage, AssistantMessage, FileEdit)):
        if isinstance(event.payload, FileEdit):
            is_edited = True
            continue
        if is_edited:
            found.add((event.event_id, event.part))
        if isinstance(event.payload, UserMessage):
            is_edited = False
    return found


def _speaker(event: Event) -> Speaker:
    return "human" if isinstance(event.payload, UserMessage) else "assistant"


def _text(event: Event) -> str:
    payload = event.payload
    return payload.text if isinstance(payload, UserMessage | AssistantMessage) else ""
