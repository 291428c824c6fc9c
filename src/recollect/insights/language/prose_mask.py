"""Masks everything in a message that is not prose, character by character, so that offsets stay valid.

Lines of code, logs, tables, diffs, quotations and pasted blocks become blanks. Inline code, links and words in double
quotes become opaque characters: they can be named as an option, but nobody reads rules in them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Final

from recollect.late import late_pattern

CAP: Final = 64 * 1024
"""Characters of a message that are read."""

OPAQUE: Final = "\ue000"
"""Stands for each character of inline code, of a link or of words in double quotes. In no word, and no blank."""

_REMEMBERED: Final = 512
"""Messages whose prose is remembered: rules, answers and weights each ask for it."""
_REMEMBERED_CHARACTERS: Final = 8_192
"""Of a message that is remembered, at most."""

_FENCE: Final = late_pattern(r"[ \t]*(```+|~~~+)")
_TAG: Final = late_pattern(r"[ \t]*<([A-Za-z][\w.-]{1,40})(?:\s[^<>\n]{0,200})?>")
_CODE: Final = r"""
      \s{0,3}>                                              # quotation
    | \s*\|                                                 # table
    | \s{0,3}\#{1,6}\s                                      # heading
    | \s*(?:[-=_*]\s?){4,}$                                 # rule
    | \s*[$%]\s\S                                           # shell
    | \s*(?:diff\s--git|index\s[0-9a-f]{6,}|@@\s|\+\+\+\s|---\s[ab]/|<{5,}|>{5,}|={5,})
    | \s*[+-](?!\s)\S*[(){};=<>]                            # changed line of code
    | \s*[+-]\s+(?:\#|//|/\*)\s                            # changed comment
    | \s*\[?\d{4}-\d\d-\d\d[t\s]\d\d:                       # log
    | \s*\[?\d\d:\d\d:\d\d
    | \s*\[(?:info|warn|warning|error|debug|trace)\]
    | \s*(?:error|warn|warning|fatal|info|debug|note|help)(?:\[\w+\])?:\s
    | \s*\[?(?:fehler|warnung|hinweis|erreur|avertissement|erro|aviso|advertencia|ошибка|предупреждение)\]?\s?[:：]
    | \s*\[?(?:错误|錯誤|警告|エラー)\]?\s?[:：]
    | \s*\[(?:fehler|warnung|erreur|erro|ошибка|错误|錯誤|警告|エラー)\]
    | \s*(?:npm\s(?:warn|err!)|\(node:\d+\)|\w*(?:deprecation|user|future|runtime|syntax)warning:|eslint:)
    | \s*(?:todo\([\w-]+\)|(?:fixme|xxx|hack)(?:\([\w-]+\))?):\s  # notes in code
    | \s*\S{1,120}:\d+:\d+:?\s                              # place in a file
    | \s*(?:\w{1,20}\s)?                                    # message of a tool, with its place
      (?:error|warning|fehler|warnung|erreur|avertissement|erro|aviso|advertencia|ошибка|предупреждение)
      \s(?:\w{1,8}\s)?\S{1,120}:\d+:?\s*(?:\(\w{1,40}\):?)?$
    | \s*(?:npm|yarn|pnpm)\s(?:warn|err!|error|notice)
    | \s*(?:traceback\s\(|file\s"|at\s\S+\s?\(|\w+(?:\.\w+)*(?:error|exception):)
    | \s*[{}\[\]]+[,;]?\s*$                                 # JSON
    | \s*"[^"\n]{1,80}"\s*:
    | \s*(?://|/\*|\*/|\#!|\#include|<\?|<!--)
    | \s*(?:def|class|async\sdef|fn|func|function|impl|struct|enum|interface)\s[^.!?]*[:{;)]\s*$
    | \s*(?:public|private|protected|static)\s[^.!?]*[:{;)]\s*$
    | \s*(?:import\s[\w.{*]|from\s\S+\simport\s|return\s[^.!?]*[;)]?$|package\s[\w.]+;|using\s[\w.]+;)
    | \s*(?:if|elif|for|while|with|else|try|except|switch|catch)\b[^.!?]*[:{]\s*$
    | \s*(?:const|let|var|val)\s\w+\s*(?::\s*\w+\s*)?=
    | \s*@\w+(?:\([^)]*\))?\s*$
    | \s*\w[\w.\[\]'"]*\s[:+*/-]?=\s\S                      # assignment
    """
"""How lines of code, logs, tables and diffs begin, in lower case."""
_LOW_LINE: Final = late_pattern(_CODE, re.VERBOSE)
_LINE: Final = late_pattern(_CODE, re.VERBOSE | re.IGNORECASE)
"""The same in any case, which takes several times as long. Only of ASCII is the lower case the same."""
_LEVEL: Final = late_pattern(r"(?:WARN|ERR|ERROR|INFO|DEBUG|TRACE|FATAL)\s{2,}\S")
_WORDS: Final = late_pattern(
    r"(?:[-*+•]\s+|\d{1,2}[.)]\s+)?[*`]{0,3}"
    r"(?!diff|index|warn|err|info|debug|trace|fatal|npm|yarn|pnpm|import|from|return)[^\W\d_][^:：=(){\[;\"]*\Z",
    re.IGNORECASE,
)
"""What none of these surely matches: it begins with a letter, or an item does, and it holds none of the marks without
which nothing above is that begins so. Most prose is such, and this is told in a fraction of the time."""
_MARKS: Final = late_pattern(r'[{}\[\]()<>|;="\\/^$&]')
"""Punctuation of code."""
_COVERED: Final = '`"/“„«「『'
"""What `_INLINE` matches has one of these in it, and does not go beyond its line."""
_COVERING: Final = late_pattern(f"[{_COVERED}]")
_INLINE: Final = late_pattern(
    r"(`{1,2})[^`\n]{1,300}\1|https?://[^\s<>\"')\u3000-\u9fff\uff00-\uffef]+|\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»"
    r"|「[^」\n]{1,400}」|『[^』\n]{1,400}』|(?a:(?<![\w.])@?(?:[\w.~-]{0,60}/){1,12}[\w.<>*-]{0,79}[\w<>*-])"
)
_ITEM: Final = late_pattern(r"\s{0,12}(?:[-*+•]|\(?\d{1,2}[.)]|\(?[A-Za-z][.)])\s+")
_MAIL_HEAD: Final = late_pattern(
    r"\s*(?:from|to|cc|subject|sent|date|von|an|betreff|gesendet|datum):\s*\S", re.IGNORECASE
)
_MAIL_HEADS: Final = 3
"""Lines within which two heads of a mail stand."""
_MAIL_CLOSING: Final = late_pattern(
    r"\s*(?:(?:best|kind|warm) (?:regards|wishes)|regards|sincerely|yours (?:truly|sincerely)"
    r"|(?:viele|beste|liebe|schöne|freundliche) grüße|mit freundlichen grüßen|mfg|vg|lg)\s*,?\s*$",
    re.IGNORECASE,
)
_DOCUMENT_CHARACTERS: Final = 1_500
_DOCUMENT_LINES: Final = 14
_ESSAY_CHARACTERS: Final = 3_000
"""What nobody types in one go: pasted, whatever its form."""


def lower(text: str) -> str:
    """Return the text in lower case, each character by one character."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return low if low.isascii() else low.replace("’", "'").replace("\xa0", " ")


def folded(text: str) -> str:
    """Return the text in lower case, each character by one character, dashes between thoughts as semicolons.

    They part clauses alike, and every slot has several sets of what parts them: with dashes in these, expressions take
    half as long again to compile.
    """
    low = lower(text)
    return low if low.isascii() else low.replace("–", ";").replace("—", ";")


def project(text: str, *, of_human: bool) -> str:
    """Return the prose of a message, at most `CAP` characters, each character where it was; case is kept.

    of_human: then a long text of many headings and items counts as pasted; only its first and last paragraph are read.
    """
    return (_remembered if len(text) <= _REMEMBERED_CHARACTERS else _prose)(text, of_human)


def _prose(text: str, of_human: bool) -> str:
    lines = text[:CAP].splitlines(keepends=True)
    is_prose = _prose_lines(lines)
    if of_human:
        _cover_mails(lines, is_prose)
        _leave_ends_of_document(lines, is_prose)
    shown = "".join([line if prose else _blank(line) for line, prose in zip(lines, is_prose, strict=True)])
    if any(mark in shown for mark in (_COVERED[:3] if shown.isascii() else _COVERED)):
        shown = "\n".join(map(_covered, shown.split("\n")))
    return shown.replace("*", " ") if "*" in shown else shown


def _covered(line: str) -> str:
    """Return a line of prose with inline code, links and what is in double quotes covered up."""
    return _INLINE.sub(lambda m: OPAQUE * len(m[0]), line) if _COVERING.search(line) else line


_remembered: Final = lru_cache(_REMEMBERED)(_prose)


def item_end(line: str) -> int:
    """Return where the text of a list item begins in its line, 0 for what is none."""
    found = _ITEM.match(line)
    return found.end() if found else 0


def _blank(line: str) -> str:
    """Return as many blanks, the line's end kept."""
    body = line.rstrip("\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")
    return " " * len(body) + "\n" * (len(line) - len(body))


def _prose_lines(lines: list[str]) -> list[bool]:
    """Return which lines are prose."""
    is_prose: list[bool] = []
    fence = tag = ""
    closing = _closing_tags(lines)
    for position, line in enumerate(lines):
        if fence:
            is_prose.append(False)
            if line.lstrip().startswith(fence):
                fence = ""
            continue
        if tag:
            is_prose.append(False)
            if f"</{tag}>" in line:
                tag = ""
            continue
        if found := _FENCE.match(line):
            fence = found[1]
            is_prose.append(False)
            continue
        opened = _TAG.match(line)
        if opened and closing.get(opened[1], -1) >= position:
            is_prose.append(False)
            if f"</{opened[1]}>" not in line:
                tag = opened[1]
            continue
        is_prose.append(not _is_code(line))
    _cover_code_blocks(lines, is_prose)
    return is_prose


def _closing_tags(lines: list[str]) -> dict[str, int]:
    """Return the last line in which each tag is closed."""
    found: dict[str, int] = {}
    for position, line in enumerate(lines):
        if "</" in line:
            found.update((name, position) for name in re.findall(r"</([A-Za-z][\w.-]{1,40})>", line))
    return found


def _is_code(line: str) -> bool:
    body = line.strip()
    if not body:
        return False
    if not _WORDS.match(body) and (
        (_LOW_LINE.match(line.lower()) if line.isascii() else _LINE.match(line)) or _LEVEL.match(body)
    ):
        return True
    if len(body) < 24:
        return False
    most = 0.14 * len(body)
    # Without inline code there are only fewer marks, and most lines have few anyway.
    return len(_MARKS.findall(body)) > most and len(_MARKS.findall(_INLINE.sub("", body))) > most


def _cover_code_blocks(lines: list[str], is_prose: list[bool]) -> None:
    """Cover indented text among lines of code: comments and calls between them look like prose."""
    if all(is_prose):
        return
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and lines[end].strip():
            end += 1
        block = range(start, end)
        code = sum(1 for i in block if not is_prose[i])
        if code and len(block) > 1 and not is_prose[start]:
            for i in block:
                if lines[i][:1] in " \t" or lines[i].lstrip().startswith(("#", "//", "--")) or 2 * code > len(block):
                    is_prose[i] = False
        start = max(end, start + 1)


def _cover_mails(lines: list[str], is_prose: list[bool]) -> None:
    """Cover pasted mails: from two mail headers close together to the end, and up to a closing formula."""
    heads = [i for i, line in enumerate(lines) if _MAIL_HEAD.match(line)]
    first = next((a for a, b in pairwise(heads) if b - a <= _MAIL_HEADS), len(lines))
    closed = max((i for i, line in enumerate(lines) if _MAIL_CLOSING.match(line)), default=-1)
    for i in (*range(first, len(lines)), *range(closed + 1)):
        is_prose[i] = False


def _leave_ends_of_document(lines: list[str], is_prose: list[bool]) -> None:
    """Cover a pasted document but for its first and last paragraph."""
    filled = [i for i, line in enumerate(lines) if line.strip()]
    characters = sum(len(lines[i]) for i in filled if is_prose[i])
    structured = sum(1 for i in filled if item_end(lines[i]) or not is_prose[i])
    is_form = len(filled) >= _DOCUMENT_LINES and 3 * structured >= len(filled)
    if not filled or not (characters > _ESSAY_CHARACTERS or (is_form and characters > _DOCUMENT_CHARACTERS)):
        return
    first_gap = next((i for i in range(filled[0], filled[-1]) if not lines[i].strip()), filled[-1])
    last_gap = next((i for i in range(filled[-1], filled[0], -1) if not lines[i].strip()), filled[0])
    for i in range(first_gap, last_gap + 1):
        is_prose[i] = False
