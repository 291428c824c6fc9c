"""Finds the speaker: by the role, or in text files by the lines that begin a turn."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.config import FormatConfig

_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


class Turn(NamedTuple):
    """A piece of a text: its speaker ("" before the first turn), the word that marks it, and the words."""

    speaker: str
    word: str
    said: str


class Speakers:
    """Tells who speaks by the words of a description, in any case."""

    def __init__(self, format_: FormatConfig) -> None:
        self._who = {
            word.lower(): speaker
            for speaker, words in (
                ("user", format_.user_roles),
                ("assistant", format_.assistant_roles),
                ("system", format_.system_roles),
                ("tool", format_.tool_roles),
            )
            for word in words
        }
        words = "|".join(sorted((re.escape(word) for word in self._who if word), key=len, reverse=True)) or "(?!)"
        # `User: text`, `**User:** text`, or a heading `## User`.
        self.line = re.compile(
            rf"(?:\#{{1,6}}[ \t]+(?P<heading>{words})[ \t]*:?[ \t]*|"
            rf"(?:\*\*|__)?(?P<word>{words})(?:\*\*|__)?:(?:\*\*|__)?(?:[ \t]+(?P<rest>.*))?)",
            re.IGNORECASE,
        )

    def who(self, role: str) -> str:
        """Return user, assistant, system or tool; "" for a word that the description doesn't have."""
        return self._who.get(role.lower(), "")


def turns_of(text: str, speakers: Speakers) -> Iterator[Turn]:
    """Yield the turns of a text in order. A line in a fenced block begins none."""
    word = ""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        opened = _FENCE.match(line)
        if opened and not fence:
            fence = opened[1]
        elif opened and opened[1].startswith(fence):
            fence = ""
        begun = None if fence or opened else speakers.line.fullmatch(line)
        if begun is None:
            lines.append(line)
            continue
        yield from _turn(speakers, word, lines)
        word = begun["heading"] or begun["word"]
        lines = [begun["rest"]] if begun["rest"] else []
    yield from _turn(speakers, word, lines)


def _turn(speakers: Speakers, word: str, lines: list[str]) -> Iterator[Turn]:
    said = "\n".join(lines).strip()
    if word or said:
        yield Turn(speakers.who(word), word, said)
