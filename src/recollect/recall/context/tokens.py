"""Estimates the tokens of a text without a vocabulary, which takes too long to load in a hook.

The weights are fitted to `o200k_base`, a published vocabulary, by non-negative least squares: to English documentation,
Python, JSON and transcripts, and to the messages of free software in 27 languages. `python -m benchmarks tokens` holds
the estimate against the vocabulary on texts that the fit never saw. docs/explanation/context.md has the figures.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.late import late_pattern

LONG_WORD = 6
"""Letters from which on a word is likely to be more than one token."""
FURTHER_LETTER = 0.33
ACCENTED = 0.85
"""Added for a letter of U+00C0 to U+00FF in a word."""
RARE = 1.6
"""Added for a letter of U+0100 to U+024F."""
DIGITS_A_TOKEN = 3
_SPACES = " \t\r\n"
_ACCENTED = late_pattern(r"[\u00c0-\u00ff]")
_RARE = late_pattern(r"[\u0100-\u024f]")


class _Weight(NamedTuple):
    """What a run of characters takes: `run` by itself, `inside` where no space comes before it, and a part for each
    character."""

    run: float
    inside: float
    character: float


_CLASSES = {
    "word": (r"[A-Z\u00c0-\u00de]?[a-z\u00df-\u024f\u1e00-\u1eff]+", _Weight(0.92, 0.7, 0)),
    "capitals": (r"[A-Z\u00c0-\u00de]+", _Weight(1.05, 1.05, 0)),
    "digits": (r"[0-9]+", _Weight(0, 0, 0)),
    "line_end": (r"\s*[\r\n]\s*", _Weight(1.1, 1.1, 0)),
    "spaces": (r"[ \t]{2,}", _Weight(1.5, 1.5, 0)),
    "space": (r"[ \t]", _Weight(0, 0, 0)),
    "rule": (r"={4,}|-{4,}|_{4,}|\*{4,}|#{4,}|~{4,}|\.{4,}", _Weight(1, 1, 0.03)),
    "signs": (r"[!-/:-@\[-`{-~]+", _Weight(0.5, 0.5, 0.29)),
    "greek": (r"[\u0370-\u03ff]+", _Weight(0, 0, 0.41)),
    "cyrillic": (r"[\u0400-\u052f]+", _Weight(1.45, 1.45, 0.045)),
    "hebrew": (r"[\u0590-\u05ff]+", _Weight(0, 0, 0.45)),
    "arabic": (r"[\u0600-\u077f]+", _Weight(0, 0, 0.38)),
    "indic_thai_georgian": (r"[\u0900-\u10ff]+", _Weight(0, 0, 0.4)),
    "hangul": (r"[\u1100-\u11ff\uac00-\ud7af]+", _Weight(0, 0, 0.73)),
    "kana": (r"[\u3040-\u30ff]+", _Weight(0, 0, 0.64)),
    "han": (r"[\u3400-\u9fff]+", _Weight(0, 0, 0.66)),
    "wide_signs": (r"[\u3000-\u303f\uff00-\uffef]+", _Weight(0, 0, 2)),
    "typographic": (r"[\u00a0-\u00bf\u2000-\u2bff\ufe0f]+", _Weight(0, 0, 1.5)),
    "other": (r".", _Weight(0, 0, 2)),
}
_RUN = late_pattern("|".join(f"(?P<{name}>{pattern})" for name, (pattern, _) in _CLASSES.items()), re.DOTALL)
_WEIGHTS = {name: weight for name, (_, weight) in _CLASSES.items()}


def tokens_of(text: str) -> int:
    """Return about how many tokens of `o200k_base` a text takes."""
    total = 0.0
    before = " "
    for found in _RUN.finditer(text):
        name, run = found.lastgroup or "other", found.group()
        weight = _WEIGHTS[name]
        total += (weight.run if before in _SPACES else weight.inside) + weight.character * len(run)
        if name == "word":
            total += FURTHER_LETTER * max(0, len(run) - LONG_WORD)
            if not run.isascii():
                total += ACCENTED * len(_ACCENTED.findall(run)) + RARE * len(_RARE.findall(run))
        elif name == "digits":
            total += 1.2 * -(-len(run) // DIGITS_A_TOKEN)
        before = run[-1]
    return round(total)
