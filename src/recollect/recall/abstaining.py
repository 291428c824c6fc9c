"""When to say that nothing is stored about a question.

An answer that is not about the question is worse than none. Two things tell: a name in the question that occurs
nowhere in the memory, and a best event that holds too little of what was asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.index.units import Unit

ABSENT_NAME_SHARE = 0.15
"""An absent name stops the search if it carries this share of the question's rareness."""
ABSENT_WORD_SHARE = 0.42
"""One ordinary absent word stops it at this share, being what the question is about."""
ABSENT_WORDS_SHARE = 0.52
"""Several together stop it at this share: below lie paraphrases, whose other words still find."""
MIN_COVERED = 0.15
"""The best event must hold this share of the rareness of the words, absent ones counted."""
# Evidence (recall benchmark, dev split): 20 questions about things that occur nowhere against 81 and 118 that can be
# answered. All 20 have an absent name, or absent words of .32 to .88 of the rareness; of the answerable ones, none
# that words alone bring into the first five exceeds the limits. They were chosen on these questions: elsewhere
# they will do less well.

_ONSETS = frozenset(
    (
        "bl br ch cl cr dr dw fl fr gh gl gn gr kh kl kn kr ph pl pn pr ps pt qu rh sc sh sk sl sm sn sp sq st sv sw "
        "th tr ts tw wh wr"
    ).split()
)
_VOWELS = frozenset("aeiouy")


def absent_names(units: Sequence[Unit], question: str) -> list[Unit]:
    """Return the absent units that are names: capitalised inside the sentence, with signs, digits or inner capitals,
    or spelled as no English word begins (`nginx`, `btrfs`)."""
    start = re.search(r"\w", question)
    first = start.start() if start is not None else 0
    return [u for u in units if u.is_absent and not u.part_of and not u.pieces and _is_name(u, question, first)]


def has_nothing(units: Sequence[Unit], question: str, best_covered: float) -> list[str] | None:
    """Return the absent words that make an answer pointless ([] where nothing fits well), or None to answer.

    best_covered: the share of rareness, absent words left out, that the best event holds.
    """
    whole = [u for u in units if not u.part_of]
    total = sum(u.idf for u in whole)
    if not total:
        return None
    absent = [u for u in whole if u.is_absent and not _is_hyphenated(u)]
    share = sum(u.idf for u in absent) / total
    if "\n" in question.strip():  # pasted output: its paths, addresses and numbers are new every time
        return [u.label for u in absent] if best_covered < MIN_COVERED else None
    names = absent_names(absent, question)
    greatest = max((u.idf for u in absent), default=0.0) / total
    if sum(u.idf for u in names) / total >= ABSENT_NAME_SHARE:
        return [u.clause.text.strip(".,:;?!\"'`()") for u in names]
    if greatest >= ABSENT_WORD_SHARE or share >= ABSENT_WORDS_SHARE:
        return [u.label for u in absent]
    if best_covered * (1 - share) < MIN_COVERED:
        return [u.label for u in absent]
    return None


def _is_hyphenated(unit: Unit) -> bool:
    """`one-liner` is two words; its parts tell."""
    return len(unit.sequence) > 1 and re.fullmatch(r"\W*[^\W_]+(?:-[^\W_]+)+\W*", unit.clause.text) is not None


def _is_name(unit: Unit, question: str, first: int) -> bool:
    text = unit.clause.text.strip(".,:;?!\"'`()[]{}<>")
    if not text:
        return False
    if unit.sequence or any(c.isdigit() for c in text) or any(c.isupper() for c in text[1:]):
        return True
    if text[0].isupper() and question.find(text) != first:
        return True
    word = unit.label
    if not word.isascii() or not word.isalpha() or len(word) < 3:
        return False
    if not _VOWELS.intersection(word):
        return True
    onset = word[:2]
    return not _VOWELS.intersection(onset) and onset not in _ONSETS
