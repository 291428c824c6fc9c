"""Finds the headings of a document, line by line, in time that grows with its length whatever it says.

Headings inside of quotes, lists, code and comments are none. Evidence: CommonMark 0.31, sections 4.2 to 4.6; the
reStructuredText markup specification, "Sections"; the AsciiDoc and Org syntax pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from recollect.capture.project_documents.kinds import DocumentFormat

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
    """Return where the block of settings at the beginning of a page ends, and its plain `name: value` lines.

    (0, {}) where there is none. Only what stands on one line without any structure is taken: nothing is evaluated.
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
    is_container = False  # in a list or a quote, where lines without a mark of their own go on
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
            if title.text.strip() and (is_over or (_is_plain(before) and not title.text[:1].isspace())):
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


def _is_plain(line: _Line | None) -> bool:
    """Tell whether what stands above a title ends the paragraph before it."""
    return line is None or not line.text.strip()


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
