"""Finds what a person said later about the same thing as an earlier statement, whether that changes it or not.

How people take something back has no end, but mostly they name it again. So nothing here judges the words: of the
messages since, those are shown that share names or rare words with the statement, and the reader decides. How rare a
word is, the person's messages in the same repository tell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from recollect.errors import IndexUnavailable
from recollect.index.text.mentions import Mentions, ordinary_words
from recollect.index.text.shards import TextIndex
from recollect.index.text.terms import stem
from recollect.insights.language.pack import stop_words
from recollect.insights.subjects import code_in, identifiers_in, paths_in, words_in
from recollect.model.marker import names_marker
from recollect.model.own import without_own_blocks
from recollect.model.payloads import UserMessage
from recollect.model.text import one_line
from recollect.recall.related_events import EarlierStatement, RelatedEvent
from recollect.store.context_reader import RecentReader
from recollect.store.context_rows import SessionsOfPlace
from recollect.store.row_keys import SEQ_BITS

MOST: Final = 2
"""Later statements that are shown with one."""
SHOWN_CHARS: Final = 200
_LONGEST: Final = 1_500
"""A longer message describes a task, or is pasted."""
_PROSE: Final = 0.82
"""Letters and blanks in what is said rather than pasted, at least."""
_LOOKED_AT: Final = 4
"""Messages that are read for one statement, those first that share most."""
_MOST_WORDS: Final = 16
_SMALL: Final = 40
"""Messages that a repository is taken to have besides, so that in one of three messages a word can be rare too."""
_NAMED: Final = 1.3
"""What a name counts more than another word."""
_ENOUGH: Final = 2
"""Ordinary words that must be shared, such as "server": one alone is often about something else, unlike "pip"."""
_OFTEN, _EVERYWHERE = 4, 0.25
"""A word of so many messages, and of that share of the repository's, is about anything there: its service, its name."""
_LEAST: Final = 2.3
_PART: Final = 0.25
"""What must be shared: the sum of the words' rareness, and as a part of the statement's own; of that less in a small
repository, where few messages could have a word by chance."""
_WORD: Final = re.compile(r"\w+")
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|\n+")


class LaterStatements:
    """Answers for the statements of one repository. One thread's; as long as its reader."""

    def __init__(self, reader: RecentReader, where: SessionsOfPlace, index: TextIndex) -> None:
        """Raises IndexUnavailable."""
        self._reader = reader
        self._where = where
        self._mentions = Mentions(index)
        self._texts: dict[int, str] = {}

    def of(self, earlier: EarlierStatement, *, most: int = MOST) -> tuple[RelatedEvent, ...]:
        """Return at most so many later statements, those first that share most. Raises IndexUnavailable, StoreError."""
        if earlier.ts is None:
            return ()
        weights, found = self._weighed(earlier)
        ordinary = ordinary_words()
        part = _PART * self._where.messages / (self._where.messages + _SMALL)
        least = max(_LEAST, part * sum(weights.values()))
        scores: dict[int, float] = {}
        shared: dict[int, int] = {}
        times: dict[int, int] = {}
        for word, messages in found.items():
            is_everywhere = len(messages) >= max(_OFTEN, _EVERYWHERE * self._where.messages)
            telling = 0 if is_everywhere else 1 if word in ordinary else _ENOUGH
            for key, ts in messages.items():
                if self._is_later(key, ts, earlier):
                    scores[key] = scores.get(key, 0.0) + weights[word]
                    shared[key] = shared.get(key, 0) + telling
                    times[key] = ts
        likely = [key for key, score in scores.items() if score >= least and shared[key] >= _ENOUGH]
        likely.sort(key=lambda key: (-round(scores[key]), -times[key], key))
        said: list[RelatedEvent] = []
        told = {_plain(earlier.text)}
        for key in likely[:_LOOKED_AT]:
            words = self._passage(key, {stem(word): weight for word, weight in weights.items()}, least)
            if words and len(said) < most and _plain(words) not in told:
                told.add(_plain(words))
                said.append(RelatedEvent("said", key & ((1 << SEQ_BITS) - 1), words, self._uid(key), times[key]))
        return tuple(said)

    def _weighed(self, earlier: EarlierStatement) -> tuple[dict[str, float], dict[str, dict[int, int]]]:
        """Return what each word of a statement counts, and the messages of the repository that have it."""
        text = earlier.text
        names = set(words_in(" ".join((*earlier.names, *code_in(text), *identifiers_in(text), *paths_in(text)))))
        empty = stop_words()
        plain = (word for word in words_in(text) if word not in empty and f"{word}s" not in empty)
        words = dict.fromkeys((*sorted(names), *plain))
        weights: dict[str, float] = {}
        found: dict[str, dict[int, int]] = {}
        for word in islice(words, _MOST_WORDS):
            messages = {k: ts for k, ts in self._mentions.of(word).items() if k >> SEQ_BITS in self._where.uids}
            rareness = math.log((self._where.messages + _SMALL) / max(1, len(messages)))
            weights[word] = max(0.0, rareness) * (_NAMED if word in names else 1.0)
            found[word] = messages
        return weights, found

    def _is_later(self, key: int, ts: int, earlier: EarlierStatement) -> bool:
        uid, _, seq = earlier.citation.rpartition("#")
        if self._uid(key) == uid and seq.isdecimal():
            return key & ((1 << SEQ_BITS) - 1) > int(seq)
        return ts > (earlier.ts or 0)

    def _passage(self, key: int, stems: Mapping[str, float], least: float) -> str:
        """Return the sentences of a message that share most, "" where no few sentences share enough."""
        sentences = [part.strip() for part in _SENTENCE.split(self._text(key)) if _is_prose(part.strip())]
        if not sentences:
            return ""
        shares = [_share(part, stems) for part in sentences]
        first = last = max(range(len(sentences)), key=shares.__getitem__)
        room = SHOWN_CHARS - len(sentences[first])
        if first and len(sentences[first - 1]) < room:
            first -= 1
            room -= len(sentences[first]) + 1
        if last + 1 < len(sentences) and len(sentences[last + 1]) < room:
            last += 1
        passage = " ".join(sentences[first : last + 1])
        return one_line(passage, SHOWN_CHARS) if _share(passage, stems) >= least else ""

    def _text(self, key: int) -> str:
        """Return what a person wrote in a message, "" where an agent or a program did."""
        if key not in self._texts:
            seq = key & ((1 << SEQ_BITS) - 1)
            events = self._reader.events(self._uid(key), ("user_message",), before=seq + 1, limit=1)
            event = events[0] if events and events[0].seq == seq and not events[0].is_sidechain else None
            payload = event.payload if event is not None else None
            is_said = isinstance(payload, UserMessage) and payload.origin in ("human", "queued")
            text = payload.text if is_said and isinstance(payload, UserMessage) else ""
            fits = len(text) <= _LONGEST and not names_marker(text)
            self._texts[key] = without_own_blocks(text) if fits else ""
        return self._texts[key]

    def _uid(self, key: int) -> str:
        return self._where.uids[key >> SEQ_BITS]


def _is_prose(text: str) -> bool:
    """Return whether words look like said: no heading, table, difference, log or path."""
    letters = sum(c.isalpha() or c.isspace() for c in text)
    return letters >= _PROSE * len(text) > 0 and (text[0].isalnum() or text[0] in "\"'“«„`@(¿¡")


def _share(text: str, stems: Mapping[str, float]) -> float:
    return sum(stems[one] for one in {stem(word) for word in words_in(text)} if one in stems)


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))


def later_of(
    home: Path, index: TextIndex, statements: Sequence[tuple[str, EarlierStatement]]
) -> list[tuple[RelatedEvent, ...]]:
    """Return what was said later about each statement, which come with the names of their repositories; "": in any.

    Nothing at all where the index cannot be read. Raises StoreError and its subclasses.
    """
    found: list[tuple[RelatedEvent, ...]] = [()] * len(statements)
    finders: dict[str, LaterStatements] = {}
    if not statements:
        return found
    with RecentReader(home) as reader, suppress(IndexUnavailable):
        for place, (repo, statement) in enumerate(statements):
            if repo not in finders:
                finders[repo] = LaterStatements(reader, reader.sessions_of(repo), index)
            found[place] = finders[repo].of(statement)
    return found
