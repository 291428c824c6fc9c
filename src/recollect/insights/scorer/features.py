"""The scorer's features: each message with the one before and the one after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from struct import Struct
from typing import TYPE_CHECKING, Any, Final, NamedTuple, get_args
from zlib import crc32

from recollect.insights.language.prose_mask import OPAQUE, folded, project
from recollect.insights.session_events import SessionEvents, speaker_of, words_of_talk
from recollect.late import late_pattern
from recollect.model.events import Event
from recollect.model.insights.nodes import Speaker
from recollect.model.payloads import AssistantMessage, FileEdit, UserMessage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Found = tuple[NDArray[np.uint32], NDArray[np.uint32]]
    """The hashes of some features, and the number of the sentence that each is of."""

SENTENCES: Final = 80
"""Sentences of a message that are looked at, at most."""
TOKENS: Final = 160
"""Tokens of a sentence, at most: more is no sentence."""
NUMBER: Final = "0"
"""Stands for every number."""

_ITEM: Final = r"[ \t]*(?:[-*+•]|\d{1,2}[.)])?[ \t]*"
_TOKEN: Final = late_pattern(
    rf"[a-z0-9_'\u00c0-\u024f\u0400-\u04ff]+|[\u3040-\u30ff\u3400-\u9fff]|{OPAQUE}+|\n{_ITEM}"
    r"|[?!:;,().…。！？、，；：-]"
)
_ENDS: Final = frozenset("\n?!。！？….")
"""What may end a sentence: a line's end, which is in none, or a mark, which is its last token. Each is a token."""


class TokenSentence(NamedTuple):
    """The tokens of a sentence, as they are written, and its range in characters of the message."""

    tokens: list[str]
    start: int
    end: int


def sentences_of(text: str, speaker: Speaker) -> list[TokenSentence]:
    """Return the sentences of a message's prose; code, quotations and logs are in none of them."""
    low = folded(project(text, of_human=speaker == "human"))
    tokens = _TOKEN.findall(low)
    found: list[TokenSentence] = []
    first = start = after = 0
    for place in [*[place for place, token in enumerate(tokens) if token[0] in _ENDS], len(tokens)]:
        mark = tokens[place] if place < len(tokens) else "\n"
        end = low.find(mark[0], after) if place < len(tokens) else len(low)
        after = end + len(mark)
        if mark == "." and low[after : after + 1].strip():
            continue
        own = tokens[first : place + (mark[0] != "\n")]
        if any(map(str.isalnum, own)):
            last = own[-1]
            stop = low.rfind(last, start, after if last is mark else end) + len(last)
            found.append(TokenSentence(own[:TOKENS], low.find(own[0], start), stop))
            if len(found) == SENTENCES:
                break
        first, start = place + 1, after
    return found


def _plain(token: str) -> str:
    """Return the class of a token: all numbers are one, and so is all covered text."""
    if token[0] == OPAQUE:
        return OPAQUE
    return NUMBER if token.isdigit() else token


BITS: Final = 18
PLACES: Final = 1 << BITS
BEGINNING: Final = 12
"""Tokens of the sentences beside it that count."""
_TAIL: Final = 14
_TAIL_CHARACTERS: Final = 200
_NEXT: Final = 6
_NEXT_CHARACTERS: Final = 100
_SHORT: Final = 120
"""Characters up to which a turn is short: an answer rather than an order."""
PAIR_FACTOR, SPREAD_FACTOR, LAST_FACTOR = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
SPEAKERS: Final[tuple[Speaker, ...]] = get_args(Speaker)
MOST: Final[Mapping[str, int]] = {"length": 8, "of": 6, "at": 3, "code": 3}
"""What counts of a sentence, and the greatest count of each that is told from others."""


class Turn(NamedTuple):
    """A message with its context. before: the other side's last message; after: the next message; is_edited: whether
    edits follow before a person speaks again.
    """

    text: str
    speaker: Speaker
    before: str = ""
    after: str = ""
    is_edited: bool = False


class TurnFeatures(NamedTuple):
    """The sentences of turns, the places of their features, and the number of the sentence that each is of.

    A sentence may have a place several times.
    """

    sentences: list[TokenSentence]
    places: NDArray[np.uint32]
    owners: NDArray[np.uint32]
    counts: list[int]
    """Sentences of each turn."""


def features_of(*turns: Turn) -> TurnFeatures:
    """Return the sentences of turns with their features. Pure; many turns at once cost less than one by one."""
    import numpy as np

    of_turns = [sentences_of(turn.text, turn.speaker) for turn in turns]
    counts = [len(of_one) for of_one in of_turns]
    sentences = [one for of_one in of_turns for one in of_one]
    if not sentences:
        return TurnFeatures([], np.zeros(0, np.uint32), np.zeros(0, np.uint32), counts)
    at = _Positions(turns, counts, sentences)
    places, owners = zip(*_of_words(sentences, at), *_of_shape(sentences, at), _of_turns(turns, counts), strict=True)
    return TurnFeatures(sentences, np.concatenate(places) & np.uint32(PLACES - 1), np.concatenate(owners), counts)


class _Positions:
    """The positions of sentences in their turn, one array per question; and their speakers."""

    def __init__(self, turns: Sequence[Turn], counts: Sequence[int], sentences: Sequence[TokenSentence]) -> None:
        import numpy as np

        self.numbers = np.arange(len(sentences), dtype=np.uint32)
        self.speakers = np.repeat([SPEAKERS.index(turn.speaker) for turn in turns], counts)
        self.lengths = np.array([len(one.tokens) for one in sentences])
        self.at = self.numbers - np.repeat(np.cumsum(counts) - counts, counts)
        self.of = np.repeat(counts, counts)
        self.is_last = self.at + 1 == self.of


def _of_words(sentences: Sequence[TokenSentence], at: _Positions) -> Iterator[_Found]:
    """Yield what depends on single words: those of a sentence, and the first ones of the sentences beside it."""
    import numpy as np

    of = np.repeat(at.numbers, at.lengths)
    of_tokens = map(HASHES_OF.__getitem__, chain.from_iterable([one.tokens for one in sentences]))
    words, previous, following, is_covered = _unpacked(of_tokens, TOKEN_HASHES)
    mine = np.array([hashed(name) for name in SPEAKERS], np.uint32)[at.speakers][of]
    pairs, is_pair = words[:-1] * np.uint32(PAIR_FACTOR) + words[1:], of[:-1] == of[1:]
    triples, is_triple = pairs[:-1] * np.uint32(PAIR_FACTOR) + words[2:], of[:-2] == of[2:]
    pairs, of_pairs = pairs[is_pair], of[:-1][is_pair]
    yield _mixed(words, "word"), of
    yield _mixed(words ^ mine, "own word"), of
    yield _mixed(pairs, "pair"), of_pairs
    yield _mixed(pairs ^ mine[:-1][is_pair], "own pair"), of_pairs
    yield _mixed(triples[is_triple], "triple"), of[:-2][is_triple]
    is_near = np.arange(len(of)) - np.repeat(np.cumsum(at.lengths) - at.lengths, at.lengths) < BEGINNING
    yield from _beside(previous[is_near], following[is_near], of[is_near], at)
    covered = np.add.reduceat(is_covered, np.cumsum(at.lengths) - at.lengths)
    yield _counted("code", covered, at)


def _of_shape(sentences: Sequence[TokenSentence], at: _Positions) -> Iterator[_Found]:
    """Yield how a sentence begins and ends, its length, and its position."""
    *own, previous, following = _unpacked(map(of_edges, sentences, at.speakers.tolist()), EDGE_HASHES)
    yield from ((hashes, at.numbers) for hashes in own)
    yield from _beside(previous, following, at.numbers, at)
    yield _counted("length", at.lengths // 4, at)
    yield _counted("of", at.of, at)
    yield _counted("at", at.at, at)
    yield _table("last", "False", "True")[at.speakers, at.is_last.astype(int)], at.numbers


def _counted(name: str, counts: NDArray[Any], at: _Positions) -> _Found:
    """Return what a count of each sentence tells; counts above a bound are one."""
    import numpy as np

    most = MOST[name]
    return _table(name, *map(str, range(most + 1)))[at.speakers, np.minimum(counts, most)], at.numbers


def _beside(
    previous: NDArray[np.uint32], following: NDArray[np.uint32], of: NDArray[np.uint32], at: _Positions
) -> Iterator[_Found]:
    """Yield features of some sentences as those of the one behind and of the one before them in their turn.

    previous, following: as what they count there. of: the sentences' numbers.
    """
    import numpy as np

    has_next, has_previous = ~at.is_last[of], at.at[of] > 0
    yield previous[has_next], of[has_next] + np.uint32(1)
    yield following[has_previous], of[has_previous] - np.uint32(1)


def _of_turns(turns: Sequence[Turn], counts: Sequence[int]) -> _Found:
    """Return what is the same for all sentences of a turn."""
    import numpy as np

    found = [of_turn(turn) if count else () for turn, count in zip(turns, counts, strict=True)]
    owners = np.repeat(np.arange(sum(counts), dtype=np.uint32), np.repeat([len(of_one) for of_one in found], counts))
    hashes = chain.from_iterable(of_one * count for of_one, count in zip(found, counts, strict=True))
    return np.fromiter(hashes, np.uint32, len(owners)), owners


def of_turn(turn: Turn) -> tuple[int, ...]:
    tail = turn.before.rstrip()[-_TAIL_CHARACTERS:]
    return (
        *_of_answer(tail, turn.speaker, "short" if len(turn.text) < _SHORT else "long"),
        *_of_tokens(_tokens_of(turn.after[:_NEXT_CHARACTERS])[:_NEXT], "after", turn.speaker),
        hashed("edited", turn.speaker, str(turn.is_edited)),
    )


@lru_cache(256)
def _of_answer(tail: str, speaker: Speaker, length: str) -> tuple[int, ...]:
    """Return what tells what a turn answers. tail: the end of what the other side said last."""
    return (
        hashed("answers", speaker, str(bool(tail))),
        hashed("asked", speaker, length, str(tail.endswith(("?", "？")))),
        *_of_tokens(_tokens_of(tail)[-_TAIL:], "before", speaker, length),
    )


def _tokens_of(text: str) -> list[str]:
    """Return the tokens of a piece of text, lines as marks left out."""
    return [token for token in _TOKEN.findall(folded(text)) if token[0] != "\n"]


def _of_tokens(tokens: Iterable[str], *names: str) -> list[int]:
    behind = hashed(*names, "")
    return [crc32(_ENCODED[token], behind) for token in tokens]


class _EncodedTokens(dict[str, bytes]):
    """The class of each token that stands at an edge, as it is hashed."""

    def __missing__(self, token: str) -> bytes:
        if len(self) >= _KNOWN_EDGES:
            self.clear()
        found = self[token] = _plain(token).encode()
        return found


class _TokenHashes(dict[str, bytes]):
    """The hashes of each token: its own, and what it counts in the sentence behind and in the one before; and whether
    it is covered up. Asking costs half as much as with `lru_cache`."""

    def __missing__(self, token: str) -> bytes:
        if len(self) >= _KNOWN_TOKENS:
            self.clear()
        plain = _plain(token).encode()
        hashes = crc32(plain), crc32(plain, _PREVIOUS), crc32(plain, _NEXT_ONE), token[0] == OPAQUE
        found = self[token] = TOKEN_HASHES.pack(*hashes)
        return found


def of_edges(sentence: TokenSentence, speaker: int) -> bytes:
    """Return the hashes of a sentence's first three tokens and of its last one, and what the first two count in the
    sentence behind and in the one before."""
    tokens = sentence.tokens
    opening = _ENCODED[tokens[0]]
    one = two = three = crc32(opening, _START[speaker])
    if len(tokens) > 1:
        second = _ENCODED[tokens[1]]
        two = three = crc32(b"\0" + second, one)
        opening += b" " + second
    if len(tokens) > 2:
        three = crc32(b"\0" + _ENCODED[tokens[2]], two)
    last = crc32(_ENCODED[tokens[-1]], _STOP[speaker])
    opening += _AND_SO_ON
    return EDGE_HASHES.pack(one, two, three, last, crc32(opening, _PREVIOUS), crc32(opening, _NEXT_ONE))


@cache
def _table(name: str, *values: str) -> NDArray[np.uint32]:
    """Return the hashes of the values that a feature can have, a row for each speaker."""
    import numpy as np

    return np.array([[hashed(name, who, value) for value in values] for who in SPEAKERS], np.uint32)


def _unpacked(found: Iterable[bytes], form: Struct) -> NDArray[np.uint32]:
    """Return what a form packed, a row for each of its numbers."""
    import numpy as np

    return np.frombuffer(b"".join(found), np.uint32).reshape(-1, form.size // 4).T


@lru_cache(1024)
def hashed(*names: str) -> int:
    """Return the hash of names. With "" as the last one, that of what comes behind them begins with it."""
    return crc32("\0".join(names).encode())


_PREVIOUS: Final = hashed("previous", "")
_NEXT_ONE: Final = hashed("next", "")
_START: Final = [hashed("start", who, "") for who in SPEAKERS]
_STOP: Final = [hashed("end", who, "") for who in SPEAKERS]
_AND_SO_ON: Final = " …".encode()
TOKEN_HASHES: Final = Struct("=4I")
EDGE_HASHES: Final = Struct("=6I")
_KNOWN_TOKENS: Final = 1 << 14
_KNOWN_EDGES: Final = 1 << 12
_ENCODED: Final = _EncodedTokens()
HASHES_OF: Final = _TokenHashes()


def _mixed(values: NDArray[np.uint32], name: str) -> NDArray[np.uint32]:
    """Return the values, spread, so that the same words give other places under another name."""
    import numpy as np

    spread = (values ^ np.uint32(hashed(name))) * np.uint32(SPREAD_FACTOR)
    spread ^= spread >> np.uint32(15)
    spread *= np.uint32(LAST_FACTOR)
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
        speaker = speaker_of(event)
        text = words_of_talk(event)
        after = words_of_talk(talk[at + 1]) if at + 1 < len(talk) else ""
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
