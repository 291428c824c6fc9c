"""A message as sentences of tokens: words, single characters of scripts without blanks, and marks."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from recollect.insights.language.projection import OPAQUE, folded, project
from recollect.model.insights.nodes import Speaker

SENTENCES: Final = 80
"""Sentences of a message that are looked at, at most."""
TOKENS: Final = 160
"""Tokens of a sentence, at most: more is no sentence."""
NUMBER: Final = "0"
"""Stands for every number."""

_TOKEN: Final = re.compile(
    rf"[a-z0-9_'\u00c0-\u024f\u0400-\u04ff]+|[\u3040-\u30ff\u3400-\u9fff]|{OPAQUE}+"
    r"|\n[ \t]*(?:[-*+•]|\d{1,2}[.)])?[ \t]*|[?!:;,.()…。！？、，；：-]"
)
_STOPS: Final = frozenset("?!。！？…")
_STOP: Final = "."


class TokenSentence(NamedTuple):
    """The tokens of a sentence, and its range in characters of the message."""

    tokens: tuple[str, ...]
    start: int
    end: int


def sentences_of(text: str, speaker: Speaker) -> list[TokenSentence]:
    """Return the sentences of a message's prose; code, quotations and logs are in none of them."""
    low = folded(project(text, of_human=speaker == "human"))
    found: list[TokenSentence] = []
    tokens: list[str] = []
    start = end = 0
    for match in _TOKEN.finditer(low):
        word = match[0]
        if word[0] != "\n":
            if not tokens:
                start = match.start()
            end = match.end()
            tokens.append(_plain(word))
        if word[0] == "\n" or word in _STOPS or (word == _STOP and not low[end : end + 1].strip()):
            _close(found, tokens, start, end)
            tokens = []
            if len(found) == SENTENCES:
                break
    _close(found, tokens, start, end)
    return found


def tokens_of(text: str) -> tuple[str, ...]:
    """Return the tokens of a piece of text, lines as marks left out."""
    return tuple(_plain(token) for token in _TOKEN.findall(folded(text)) if token[0] != "\n")


def _plain(token: str) -> str:
    if token[0] == OPAQUE:
        return OPAQUE
    return NUMBER if token.isdigit() else token


def _close(found: list[TokenSentence], tokens: list[str], start: int, end: int) -> None:
    if any(token.isalnum() for token in tokens):
        found.append(TokenSentence(tuple(tokens[:TOKENS]), start, end))
