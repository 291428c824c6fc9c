"""Others' words: "Bob said we should …"; or below a line that introduces them: "the review bot says:", and then a
list, a paragraph, a document."""

from __future__ import annotations

import re
from typing import Final

from recollect.insights.language.prose_mask import item_end
from recollect.insights.language.sentences import Words
from recollect.late import late_pattern

_HEADING: Final = late_pattern(r"^ {0,3}#{1,6} \S", re.MULTILINE)
_SUBJECT: Final = late_pattern(r"[\w'-]+")
_SUBJECT_WORDS: Final = 3
"""Words before a verb among which its subject is looked for."""
_TAG_WORDS: Final = 2
"""Words beside a verb of saying that stands behind what was said: "…, says my colleague"."""
_COLONS: Final = (":", "：")
_LINE_CHARACTERS: Final = 240
"""Characters at the end of a line in which it may say whose words follow."""
_LINES: Final = 60
"""Lines above a sentence that are looked at."""
_BLANK_CHARACTERS: Final = 4_096
"""Characters between two lines, at most: covered code is blank."""


def is_introduced(low: str, heading: int, position: int, words: Words) -> bool:
    """Return whether a place is in text that a line ending with a colon introduces as others' words.

    That is the list or the paragraph below the line; if it begins with a heading, everything after it. low: the prose
    of a message, in lower case. heading: place of its first heading, see `first_heading`.
    """
    if ":" not in low and "：" not in low:
        return False
    if 0 <= heading < position and _introduces(low, _line_before(low, heading), words):
        return True
    start = low.rfind("\n", 0, position) + 1
    is_item = bool(item_end(low[start:].partition("\n")[0]))
    for _ in range(_LINES):
        above = _line_before(low, start)
        if above is None:
            return False
        if _introduces(low, above, words):
            return True
        if low.count("\n", above[1], start) > 1:  # a blank line between: only a list continues behind it
            if not is_item:
                return False
            is_item = bool(item_end(low[above[0] : above[1]]))
            if not is_item and low[above[0]] not in " \t":
                return False
        start = above[0]
    return False


def is_said_by_others(low: str, sentence: tuple[int, int], said: tuple[int, int], words: Words) -> bool:
    """Return whether somebody else than the speaker says a part of a sentence: "Bob said we should …"."""
    (start, end), (first, last) = sentence, said
    sayings = words.list("sayings")
    for saying in sayings.finditer(low, start, end) if sayings is not None else ():
        if saying.start() < first:
            is_over = words.has("turns", low, saying.end(), first) is not None
        else:
            is_over = saying.start() < last or not _is_tag(low, saying, end)
        if not is_over and _is_by_others(low[start : saying.start()], words):
            return True
    return False


def _is_by_others(before: str, words: Words) -> bool:
    """Whether somebody other than the speaker is the subject of a verb after some words."""
    said = [w for w in _SUBJECT.findall(before)[-_SUBJECT_WORDS:] if not words.begins("adverbs", w, 0, len(w))]
    return bool(said) and words.begins("own_voice", said[-1], 0, len(said[-1])) is None


def _is_tag(low: str, saying: re.Match[str], end: int) -> bool:
    """Whether a verb of saying only attributes the words before it: "…, says Bob", "…, Bob said"."""
    comma = low.rfind(",", 0, saying.start())
    words = len(low[comma + 1 : saying.start()].split()) + len(low[saying.end() : end].split())
    return comma >= 0 and words <= _TAG_WORDS


def first_heading(low: str) -> int:
    """Return the place of a message's first heading, -1 for none."""
    found = _HEADING.search(low) if "#" in low else None
    return found.start() if found else -1


def _line_before(low: str, start: int) -> tuple[int, int] | None:
    """Return the range of the last line with words before the start of another, None for none."""
    first = max(0, start - _BLANK_CHARACTERS)
    above = low[first:start].rstrip()
    end = first + len(above)
    return (low.rfind("\n", 0, end) + 1, end) if above else None


def _introduces(low: str, line: tuple[int, int] | None, words: Words) -> bool:
    """Whether a line ends with a colon and says that others said it."""
    if line is None or not low.endswith(_COLONS, *line):
        return False
    start, end = max(line[0], line[1] - _LINE_CHARACTERS), line[1]
    return any(words.has(name, low, start, end) for name in ("introductions", "reported"))
