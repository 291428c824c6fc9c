"""The pages use the glossary's word for a thing, and no other one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import pages, without_code

REPOSITORY = Path(__file__).resolve().parents[2]
GLOSSARY = "docs/reference/glossary.md"
OTHERS = {
    "action": ("to-do", "todo item"),
    "agent": ("coding assistant", "AI assistant"),
    "archive": ("vault", "cold storage"),
    "citation": ("permalink", "reference id"),
    "compaction": ("context compression",),
    "daemon": ("background server", "watcher process", "daemon at work"),
    "digest": ("session summary", "recap"),
    "evict": ("purge", "prune"),
    "forget": ("wipe", "hard delete"),
    "home": ("data folder", "memory folder", "folder of the memory", "memory directory"),
    "ingest": ("take in", "takes in", "took in", "taken in", "taking in", "slurp"),
    "learning": ("lesson", "takeaway"),
    "memory": ("knowledge base", "memory bank", "memory store"),
    "passage": ("excerpt", "text chunk"),
    "redact": ("scrub", "censor"),
    "retention": ("expiry", "cleanup policy"),
    "session": ("chat session", "conversation log"),
    "subagent": ("sub-agent", "child agent", "child session"),
}
"""Words that writers also use for what the glossary has a word for. An ending may follow each."""
_WORDS = {
    word: re.compile(rf"\b(?:{'|'.join(map(re.escape, others))})(?:e?s|b?e?d|ing)?\b", re.I)
    for word, others in OTHERS.items()
}


def other_words(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the word and the glossary's word for each place of a page that uses another word."""
    for number, line in enumerate(without_code(text).splitlines(), start=1):
        yield from ((number, match[0], word) for word, other in _WORDS.items() for match in other.finditer(line))


def written() -> list[Path]:
    """Return the pages that say what is, and not what was."""
    past = (REPOSITORY / "CHANGELOG.md", REPOSITORY / "docs/development/decisions")
    ours = (path for path in pages(REPOSITORY) if path.parent == REPOSITORY or path.is_relative_to(REPOSITORY / "docs"))
    return [path for path in ours if not any(path.is_relative_to(place) for place in past)]


@pytest.mark.parametrize("page", [path.relative_to(REPOSITORY).as_posix() for path in written()])
def test_a_page_uses_the_words_of_the_glossary(page: str) -> None:
    found = other_words((REPOSITORY / page).read_text("utf-8"))
    assert [f"{page}:{line}: {other!r} is {word!r} in the glossary" for line, other, word in found] == []


def test_every_word_is_in_the_glossary() -> None:
    named = set(re.findall(r"^\| (\w+) \|", (REPOSITORY / GLOSSARY).read_text("utf-8"), re.M))
    assert set(OTHERS) - named == set()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A page\n\nA sync takes in what is new.\n", [(3, "takes in", "ingest")]),
        (
            "Secrets are scrubbed.\n```\nscrub\n```\nTwo excerpts\n",
            [(1, "scrubbed", "redact"), (5, "excerpts", "passage")],
        ),
        ("`recap` is code, and ingest is the word.", []),
    ],
)
def test_another_word_is_seen_with_its_line(text: str, found: list[tuple[int, str, str]]) -> None:
    assert list(other_words(text)) == found
