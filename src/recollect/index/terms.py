"""The terms of a text, for questions: exactly those that the index has of it."""

from __future__ import annotations

from recollect.index.schema import MAX_TERM_BYTES, plain_analyzer


def terms_of(text: str) -> list[str]:
    """Return the terms of a text, in order, exactly as the index cuts it."""
    if text.isascii() and text.isalpha() and text.islower() and len(text) <= MAX_TERM_BYTES:
        return [text]  # a plain word is a term as it is; most questions need no numpy, which takes 0.15 s to load
    from recollect.index.preparation import prepare_one

    return plain_analyzer().analyze(prepare_one(text).text)
