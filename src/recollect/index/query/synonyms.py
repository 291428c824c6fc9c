"""Words that the glossary says mean the same: which of them a question's words also stand for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.index.query.grammar import Clause
from recollect.index.stems import terms_of
from recollect.model.learnings.names import normal_name

Alternatives = Mapping[Clause, tuple[tuple[str, ...], ...]]
"""Of a word its other names, each as the terms that it has in the index."""
MAX_NAME_WORDS = 4
"""A name of more words is not looked for in a question."""
MAX_ALTERNATIVES = 8
"""Of one word."""


def alternatives_of(words: Sequence[Clause], glossary: Mapping[str, tuple[str, ...]]) -> Alternatives:
    """Return what else a question's words may be called. Each word of a name of several stands for the other name.

    glossary: by name in normal form (`model.learnings.names`), the names that mean the same.
    """
    if not glossary:
        return {}
    found: dict[Clause, dict[tuple[str, ...], None]] = {}
    for first in range(len(words)):
        for last in range(first + 1, min(first + MAX_NAME_WORDS, len(words)) + 1):
            name = normal_name(" ".join(clause.text for clause in words[first:last]).rstrip("?!:"))
            for other in glossary.get(name, ()):
                terms = tuple(terms_of(other))
                for clause in words[first:last] if terms else ():
                    if len(known := found.setdefault(clause, {})) < MAX_ALTERNATIVES:
                        known[terms] = None
    return {clause: tuple(others) for clause, others in found.items()}
