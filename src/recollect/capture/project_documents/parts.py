"""Cuts a document into the parts that a search finds: a section each, long ones at paragraphs, short ones together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from recollect.capture.project_documents.headings import Heading, front_matter, headings
from recollect.capture.project_documents.kinds import DocumentFormat

PART_CHARS = 4_000
"""A part is no longer than this: about what an answer over MCP can show whole."""
LEAST_CHARS = 300
"""A shorter section goes with what follows it: a heading alone is no answer."""
_BLANK_LINE = re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)")
_SEPARATOR = " > "
_MAX_HEADING_CHARS = 300
_TITLE_LINE = re.compile(r"^(?:#\+title:|:title:|\.\. title:)[ \t]*(?P<title>\S.*)$", re.IGNORECASE | re.MULTILINE)
_TITLE_WITHIN_CHARS = 2_000


class DocumentPart(NamedTuple):
    """A piece of a document. heading: the path of headings that it stands under, "Install > Linux", "" for none."""

    heading: str
    text: str


class DocumentParts(NamedTuple):
    """A document as parts, which joined are its text again. title: what it calls itself, "" where it does not."""

    title: str
    parts: tuple[DocumentPart, ...]


class _Section(NamedTuple):
    start: int
    end: int
    heading: str


def cut(text: str, form: DocumentFormat) -> DocumentParts:
    """Return a text as parts; none for an empty one. Pure, linear in the length of the text."""
    found = headings(text, form)
    parts: list[DocumentPart] = []
    for group in _groups(list(_sections(text, found))):
        longest = max(group, key=lambda section: section.end - section.start)
        if group[-1].end - group[0].start <= PART_CHARS:
            parts.append(DocumentPart(longest.heading, text[group[0].start : group[-1].end]))
            continue
        # The short ones before a long section begin its first piece.
        pieces = _pieces(text, group[0].start, group[-1].end)
        parts += [DocumentPart(longest.heading, text[start:end]) for start, end in pieces]
    return DocumentParts(_title(text, form, found), tuple(parts))


def _sections(text: str, found: list[Heading]) -> Iterator[_Section]:
    if not text:
        return
    path: list[Heading] = []
    if not found or found[0].at > 0:
        yield _Section(0, found[0].at if found else len(text), "")
    for number, heading in enumerate(found):
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
        end = found[number + 1].at if number + 1 < len(found) else len(text)
        yield _Section(heading.at, end, _joined([one.title for one in path if one.title]))


def _joined(titles: list[str]) -> str:
    """Return a path of headings. The highest go first where it is too long: the nearest says most."""
    while len(titles) > 1 and len(_SEPARATOR.join(titles)) > _MAX_HEADING_CHARS:
        titles = titles[1:]
    return _SEPARATOR.join(titles)[:_MAX_HEADING_CHARS]


def _groups(sections: list[_Section]) -> Iterator[list[_Section]]:
    """Yield sections that go together: short ones with the next, the last of all with the one before it."""
    group: list[_Section] = []
    held: list[_Section] = []
    for section in sections:
        group.append(section)
        if section.end - group[0].start < LEAST_CHARS:
            continue
        if held:
            yield held
        held, group = group, []
    if held and group and group[-1].end - held[0].start <= PART_CHARS:
        held, group = held + group, []
    if held:
        yield held
    if group:
        yield group


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield ranges no longer than a part: cut after a blank line, else a line, else a word, else anywhere."""
    while end - start > PART_CHARS:
        window = text[start : start + PART_CHARS]
        least = PART_CHARS // 4
        at = 0
        for match in _BLANK_LINE.finditer(window, least):
            at = match.end()
        at = at or window.rfind("\n", least) + 1 or window.rfind(" ", least) + 1 or PART_CHARS
        yield start, start + at
        start += at
    yield start, end


def _title(text: str, form: DocumentFormat, found: list[Heading]) -> str:
    """Return what a document calls itself: in its front matter, else its first heading if no other is higher."""
    if form == "text":
        return ""
    _, settings = front_matter(text)
    if settings.get("title"):
        return " ".join(settings["title"].split())[:120]
    said = _TITLE_LINE.search(text[:_TITLE_WITHIN_CHARS])
    if said is not None:
        return " ".join(said["title"].split())[:120]
    return found[0].title if found and found[0].level == min(one.level for one in found) else ""
