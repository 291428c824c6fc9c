"""The text of a project document, split at headings into the parts that a search finds.

Headings are found line by line, in time that grows with the document's length whatever it says; those inside of quotes,
lists, code and comments are none. Evidence: CommonMark 0.31, sections 4.2 to 4.6; the reStructuredText markup
specification, "Sections"; the AsciiDoc and Org syntax pages.
"""

from __future__ import annotations

import codecs
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import NamedTuple

from recollect.capture.document_folders import DocumentFormat
from recollect.errors import SourceChanged, SourceRefused, SourceUnavailable

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_CLOEXEC", 0)
)
_MARKED = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class DocumentBytes(NamedTuple):
    """A document's bytes, and what the file was when they were read: size in bytes, times in nanoseconds."""

    data: bytes
    size: int
    mtime_ns: int
    ctime_ns: int


def read_document(folder: str, relative: str, *, max_bytes: int) -> DocumentBytes:
    """Return a document's bytes, all from one moment.

    Raises:
        SourceUnavailable: it is gone, or may not be read.
        SourceChanged: it was written, replaced or removed during reading; the next pass reads it.
        SourceRefused: it is not a regular file, lies outside of the folder, or is larger than `max_bytes`.
    """
    path = os.path.join(folder, *relative.split("/"))
    # A folder on the way may have become a link since it was listed.
    real, top = os.path.realpath(os.path.dirname(path)), os.path.realpath(folder)
    if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
        raise SourceRefused("is behind a link that leaves the folder", reason="not allowed")
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise SourceUnavailable(f"cannot be opened: {error.strerror}") from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise SourceRefused("is not a regular file", reason="not a file")
        if before.st_size > max_bytes:
            raise SourceRefused(f"is larger than {max_bytes:,} bytes", reason="too large")
        try:
            data = _read_whole(file.fileno(), before.st_size)
        except OSError as error:
            raise SourceUnavailable(f"cannot be read: {error.strerror}") from error
        after = os.fstat(file.fileno())
    if _state(before) != _state(after) or len(data) != before.st_size or not _is_still(path, before):
        raise SourceChanged("changed while it was read")
    return DocumentBytes(data, before.st_size, before.st_mtime_ns, before.st_ctime_ns)


def text_of(data: bytes) -> str:
    """Decode a document's bytes: UTF-8, or UTF-16 with its mark at the beginning.

    Raises SourceRefused for anything else: bytes that are not UTF-8, or NUL characters.
    """
    encoding = "utf-8"
    for mark, marked in _MARKED:
        if data.startswith(mark):
            data, encoding = data[len(mark) :], marked
            break
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise SourceRefused("is not UTF-8 text", reason="binary") from error
    if "\0" in text:
        raise SourceRefused("is binary", reason="binary")
    return text


def _read_whole(descriptor: int, size: int) -> bytes:
    """Return up to one byte more than expected: a file that grows is not read to an end that never comes."""
    pieces: list[bytes] = []
    left = size + 1
    while left > 0 and (piece := os.read(descriptor, left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _state(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_size, info.st_mtime_ns, info.st_ino


def _is_still(path: str, before: os.stat_result) -> bool:
    try:
        now = os.lstat(path)
    except OSError:
        return False
    return (now.st_dev, now.st_ino) == (before.st_dev, before.st_ino)


_MAX_TITLE_CHARS = 120
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+\Z")


class Heading(NamedTuple):
    """A heading: where its first line begins (characters), how deep it is (1: the highest), its words."""

    at: int
    level: int
    title: str


class _Line(NamedTuple):
    at: int
    text: str


def headings(text: str, form: DocumentFormat) -> list[Heading]:
    """Return the headings of a text, in order."""
    find = _FINDERS.get(form)
    return [] if find is None else list(find(text))


def front_matter(text: str) -> tuple[int, dict[str, str]]:
    """Return where the settings block at the beginning of a page ends, and its plain `name: value` lines.

    (0, {}) without one. Reads only unstructured single lines: nothing is evaluated.
    """
    lines = _lines(text)
    first = next(lines, None)
    mark = first.text.rstrip() if first is not None else ""
    if mark not in ("---", "+++"):
        return 0, {}
    found: dict[str, str] = {}
    for line in lines:
        bare = line.text.rstrip()
        if bare == mark or (mark == "---" and bare == "..."):
            return line.at + _length(text, line), found
        plain = _PLAIN.fullmatch(bare)
        if plain is not None and plain["value"]:
            found.setdefault(plain["name"].lower(), plain["value"].strip("\"'").strip())
    return 0, {}


_PLAIN = re.compile(r"(?P<name>[A-Za-z_][\w-]{0,60})\s*[:=]\s*(?P<value>[^\s\[{|>&*!].{0,300})")


def _lines(text: str, start: int = 0) -> Iterator[_Line]:
    for match in _LINE.finditer(text, start):
        yield _Line(match.start(), match[0].rstrip("\r\n"))


def _length(text: str, line: _Line) -> int:
    match = _LINE.match(text, line.at)
    return len(match[0]) if match is not None else 0


# Markdown

_ATX = re.compile(r" {0,1}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*))?")
_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<rest>.*)")
_UNDERLINE = re.compile(r" {0,3}(?P<mark>=+|-+)[ \t]*")
_CONTAINER = re.compile(r" {0,3}(?:>|[-+*](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$))")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|(?:-[ \t]*){3,})")
_TABLE_ROW = re.compile(r"\s*\|.*\|\s*")
_RAW_HTML = re.compile(r" {0,3}<(?P<name>script|pre|style|textarea)(?:[\s>]|$)", re.IGNORECASE)
_BLOCK_HTML = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir"
    r"|div|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link"
    r"|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead"
    r"|title|tr|track|ul)(?:[\s>]|/>|$)",
    re.IGNORECASE,
)
_LONE_TAG = re.compile(r" {0,3}(?:<[A-Za-z][A-Za-z0-9-]*(?:\s[^<>]*)?/?>|</[A-Za-z][A-Za-z0-9-]*\s*>)\s*")


def _markdown(text: str) -> Iterator[Heading]:
    start, _ = front_matter(text)
    until: Callable[[str], bool] | None = None  # what ends a block in which nothing is a heading
    paragraph: list[_Line] = []
    is_container = False  # in a list or a quote, where lines without a mark of their own continue
    for line in _lines(text, start):
        content = line.text.expandtabs(4)
        if until is not None:
            if until(content):
                until = None
            continue
        if not content.strip():
            paragraph, is_container = [], False
            continue
        until = _opening(content, is_in_paragraph=bool(paragraph))
        if until is not None:
            paragraph = []
        elif (atx := _ATX.fullmatch(content)) is not None:
            paragraph, is_container = [], False
            yield Heading(line.at, len(atx["marks"]), _atx_title(atx["title"] or ""))
        elif paragraph and not is_container and (under := _UNDERLINE.fullmatch(content)) is not None:
            if not _TABLE_ROW.fullmatch(paragraph[-1].text):
                title = " ".join(one.text.strip() for one in paragraph)
                yield Heading(paragraph[0].at, 1 if under["mark"][0] == "=" else 2, _clean(title))
            paragraph = []
        elif _RULE.fullmatch(content) is not None:
            paragraph, is_container = [], False
        elif _CONTAINER.match(content) is not None:
            paragraph, is_container = [], True
        elif paragraph or (not content.startswith("    ") and not is_container):
            paragraph.append(line)


def _opening(content: str, *, is_in_paragraph: bool) -> Callable[[str], bool] | None:
    """Return what ends the block that a line opens: code between fences, or HTML; None where it opens none."""
    fence = _FENCE.fullmatch(content)
    if fence is not None and (fence["marks"][0] == "~" or "`" not in fence["rest"]):
        closing = re.compile(rf" {{0,3}}{re.escape(fence['marks'][0])}{{{len(fence['marks'])},}}[ \t]*")
        return lambda line: closing.fullmatch(line) is not None
    bare = content.lstrip(" ")
    if len(content) - len(bare) > 3 or not bare.startswith("<"):
        return None
    if bare.startswith("<!--"):
        return None if "-->" in bare else lambda later: "-->" in later
    raw = _RAW_HTML.match(content)
    if raw is not None:
        end = f"</{raw['name'].lower()}>"
        return None if end in bare.lower() else lambda later: end in later.lower()
    if _BLOCK_HTML.match(content) or (not is_in_paragraph and _LONE_TAG.fullmatch(content)):
        return lambda later: not later.strip()
    return None


def _atx_title(text: str) -> str:
    return _clean(re.sub(r"(?:^|[ \t]+)#+[ \t]*$", "", text))


_LINK = re.compile(r"!?\[([^\[\]]{0,300})\](?:\([^()]{0,500}\)|\[[^\[\]]{0,100}\])")
_ANCHOR = re.compile(r"\s*\{[#.:][^{}]{0,100}\}\s*$")


def _clean(text: str) -> str:
    """Return the words of a heading without its markup, on one line."""
    plain = _ANCHOR.sub("", _LINK.sub(r"\1", text[:2_000]))
    plain = re.sub(r"[`*]+|(?<!\w)_+|_+(?!\w)|<[^<>]{1,200}>", "", plain)
    return " ".join(plain.split())[:_MAX_TITLE_CHARS].rstrip()


# reStructuredText

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*")
_LEAST_ADORNMENT = 4
"""A shorter line under a longer title is text."""


def _rst(text: str) -> Iterator[Heading]:
    styles: list[tuple[str, bool]] = []
    before: _Line | None = None
    title: _Line | None = None
    for line in _lines(text):
        if title is not None and _is_adornment(line.text, title.text):
            is_over = before is not None and before.text.rstrip() == line.text.rstrip()
            is_first = before is None or not before.text.strip()  # a paragraph ends before it
            if title.text.strip() and (is_over or (is_first and not title.text[:1].isspace())):
                style = (line.text[0], is_over)
                if style not in styles:
                    styles.append(style)
                at = before.at if is_over and before is not None else title.at
                yield Heading(at, styles.index(style) + 1, _clean(title.text))
                before = title = None
                continue
        before, title = title, line


def _is_adornment(text: str, title: str) -> bool:
    if _ADORNMENT.fullmatch(text) is None or _ADORNMENT.fullmatch(title.strip() or "-") is not None:
        return False
    length = len(text.rstrip())
    return length >= min(len(title.rstrip()), _LEAST_ADORNMENT) if length < len(title.rstrip()) else True


# AsciiDoc and Org

_ADOC = re.compile(r"(?P<marks>={1,6}|#{1,6})[ \t]+(?P<title>\S.*)")
_ADOC_BLOCK = re.compile(r"(?:-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}.*)")
_ORG = re.compile(r"(?P<marks>\*{1,30})[ \t]+(?P<title>\S.*)")
_ORG_BEGIN = re.compile(r"\s*#\+begin_(?P<name>\S+).*", re.IGNORECASE)
_ORG_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")


def _asciidoc(text: str) -> Iterator[Heading]:
    start, _ = front_matter(text)
    end = ""
    for line in _lines(text, start):
        bare = line.text.rstrip()
        if end:
            end = "" if bare == end else end
        elif _ADOC_BLOCK.fullmatch(bare) is not None:
            end = "```" if bare.startswith("`") else bare
        elif (found := _ADOC.fullmatch(bare)) is not None:
            yield Heading(line.at, len(found["marks"]), _clean(found["title"]))


def _org(text: str) -> Iterator[Heading]:
    end = ""
    for line in _lines(text):
        if end:
            end = "" if line.text.strip().lower() == end else end
        elif (begin := _ORG_BEGIN.fullmatch(line.text)) is not None:
            end = f"#+end_{begin['name'].lower()}"
        elif (found := _ORG.fullmatch(line.text)) is not None:
            yield Heading(line.at, len(found["marks"]), _clean(_ORG_TAGS.sub("", found["title"])))


_FINDERS: dict[DocumentFormat, Callable[[str], Iterator[Heading]]] = {
    "markdown": _markdown,
    "rst": _rst,
    "asciidoc": _asciidoc,
    "org": _org,
}

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
    """A piece of a document. heading: the path of its headings, "Install > Linux", "" for none."""

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
