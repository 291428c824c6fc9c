"""Parses the query language. Never raises: what it cannot parse becomes plain words.

    words "a phrase" -not "x" OR "y" +must *infix* /regex/ agent:codex -repo:old after:7d path:"src/my file.py"

The page for people is docs/reference/query-language.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, tzinfo
from typing import Any, NamedTuple

import msgspec

from recollect.errors import UnknownName
from recollect.index.query.patterns import TermPattern, from_regex, from_wildcard
from recollect.late import late_pattern
from recollect.model.learnings.entries import ENTRY_KINDS
from recollect.model.learnings.names import tag_name
from recollect.model.payloads import KINDS
from recollect.model.time import TIME_FORMS, Period, calendar_period, in_zone, parse_time, relative_period
from recollect.store.rows import EventFilter

MAX_QUERY_CHARS = 10_000
MAX_CLAUSES = 64
_PASTED_SIGNS = "\"'`()[]{}<>,;:!?=*|+-"
"""Words and clauses beyond this are left out, and said so."""

_KIND_ALIASES = {
    "user": "user_message", "human": "user_message", "prompt": "user_message", "assistant": "assistant_message",
    "reply": "assistant_message", "call": "tool_call", "result": "tool_result", "output": "tool_result",
    "edit": "file_edit", "message": "user_message,assistant_message",
}  # fmt: skip
_KNOWN_KINDS = frozenset((*KINDS, *ENTRY_KINDS))


class QueryFilter(NamedTuple):
    """A filter of the query language. attribute: of `EventFilter`, for one of sessions; "" for others. hint: where a
    person sees the names that there are. spelled: how a value is looked for."""

    attribute: str = ""
    hint: str = ""
    spelled: Callable[[str], str] = str


FILTERS = {
    "agent": QueryFilter("agents"),
    "repo": QueryFilter("repos", "`recollect sessions` shows them, and `recollect sync` ingests new ones"),
    "session": QueryFilter("sessions", "`recollect sessions` lists them"),
    "branch": QueryFilter("branches", "`recollect sessions` shows them"),
    "tag": QueryFilter("tags", "`recollect tag` lists them", tag_name),
    "collection": QueryFilter(hint="`recollect docs list` lists them"),
    "kind": QueryFilter(spelled=str.lower),
    "tool": QueryFilter(spelled=str.lower),
    "path": QueryFilter(),
    "after": QueryFilter(),
    "before": QueryFilter(),
    "on": QueryFilter(),
    "is": QueryFilter(),
}
"""By name. A filter of sessions needs a line here, an attribute of `EventFilter`, and what the store does with it."""
Names = Callable[[str, str], str]
"""Gives what a filter looks for, by its name and the value in it."""
_TOKEN = late_pattern(
    r"""
    (?P<space>[\s()]+)
  | (?P<sign>[-+](?=[^\W\d]|["/*]))?
    (?: (?P<field>[A-Za-z_]{1,20}):(?:"(?P<quoted>[^"]*)"?|(?P<value>[^\s"()]+))
      | "(?P<phrase>[^"]*)"?
      | /(?!\s)(?P<regex>(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\s\[]|[ ](?=[^/]*/(?:\s|$)))+)/(?=[\s)]|$)
      | (?P<word>[^\s"()]+)
    )
  | (?P<other>.)
    """,
    re.X | re.S,
)
_ASKING = late_pattern(r"\W*(?:how|what|when|where|which|who|why|does|do|did|is|are|was|were|can|should)\b", re.I)


class Clause(msgspec.Struct, frozen=True):
    """One element of a query. kind: word (scored), exact (word or phrase as quoted), pattern."""

    text: str
    kind: str = "word"
    pattern: TermPattern | None = None


class Question(msgspec.Struct, frozen=True):
    """A parsed query.

    words: scored, none required. either: groups with OR; an absent one does not count as missing if another of its
    group occurs. must: each group needs one of its clauses. must_not: none may match. period: strict, from
    after/before/on. around: mentioned in passing, only preferred. unknown: unknown names, with or without "-". lost:
    the filter that names only unknown things, "" for none: then nothing can be found. english: what words of another
    language are in English; in_english: the whole question, "" where that is not known. said: the text without its
    filters. Field names are as in EventFilter.
    """

    text: str
    said: str
    words: tuple[Clause, ...] = ()
    either: tuple[tuple[Clause, ...], ...] = ()
    must: tuple[tuple[Clause, ...], ...] = ()
    must_not: tuple[Clause, ...] = ()
    where: EventFilter = msgspec.field(default_factory=EventFilter)
    where_not: tuple[EventFilter, ...] = ()
    kinds: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    not_tools: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    after_us: int | None = None
    before_us: int | None = None
    around: Period | None = None
    unknown: tuple[UnknownName, ...] = ()
    lost: str = ""
    notes: tuple[str, ...] = ()
    english: tuple[tuple[Clause, tuple[str, ...]], ...] = ()
    in_english: str = ""

    @property
    def meant(self) -> str:
        """What is compared by its meaning and taken for a question or not: in English where that is known."""
        return self.in_english or self.said

    @property
    def asks_something(self) -> bool:
        """True when there is anything to search for besides filters."""
        return bool(self.words or self.must)

    @property
    def has_filter(self) -> bool:
        """True when the events are confined in any way."""
        confined = self.kinds or self.tools or self.paths or self.where_not or not self.where.is_empty
        return bool(confined or self.after_us is not None or self.before_us is not None)

    @property
    def is_confined(self) -> bool:
        """True when confined to named sessions or repositories: then hits are not thinned per session."""
        return bool(self.where.sessions or self.where.repos)

    @property
    def unconfined(self) -> Question:
        """The question asked of every session and repository; other filters stay."""
        return msgspec.structs.replace(self, where=msgspec.structs.replace(self.where, sessions=(), repos=()), lost="")


def is_question(text: str) -> bool:
    """Return whether a query is phrased as a question, by its mark or its first word."""
    return text.rstrip().endswith(("?", "？", "؟")) or _ASKING.match(text) is not None


def _without_filters(text: str) -> str:
    """Return what a query says besides its filters."""
    places = [token.span() for token in _TOKEN.finditer(text) if (token["field"] or "").lower() in FILTERS]
    for start, end in reversed(places):
        text = text[:start] + text[end:]
    return text.strip()


def as_written(field: str, name: str) -> str:
    """Return a filter's name in its normal form, when the existing names are not available."""
    return name.lower() if field == "agent" else name


def parse(text: str, now_us: int, zone: tzinfo = UTC, *, names: Names = as_written) -> Question:
    """Understand a query. Never raises.

    now_us, zone: what its dates are counted from and in, see `model.time`. names: gives what a filter (agent, repo,
    session, collection, branch, tag, tool) looks for by the name in it, or raises UnknownName, which becomes a note.
    """
    return _Reader(now_us, zone, names).read(text)


class _Reader:
    def __init__(self, now_us: int, zone: tzinfo, names: Names) -> None:
        self._now_us = now_us
        self._zone = zone
        self._names = names
        self._groups: list[list[Clause]] = []
        self._not: list[Clause] = []
        self._values: dict[tuple[str, bool], list[str]] = {}
        self._notes: list[str] = []
        self._unknown: list[UnknownName] = []
        self._lost = ""
        self._after: int | None = None
        self._before: int | None = None
        self._subagent: bool | None = None
        self._joins_next = False

        self._asks = False

    def _pasted(self, text: str) -> Question:
        """Text of several lines is pasted output: its quotes, slashes and dashes are not syntax."""
        self._note("text of several lines is searched as plain words")
        words = dict.fromkeys(word.strip(_PASTED_SIGNS) for word in text.split())
        clauses = tuple(Clause(word, "word") for word in words if word)
        return Question(text=text, said=text, words=clauses[:MAX_CLAUSES], notes=tuple(self._notes))

    def read(self, text: str) -> Question:
        if len(text) > MAX_QUERY_CHARS:
            text = text[:MAX_QUERY_CHARS]
            self._note(f"only the first {MAX_QUERY_CHARS} characters of the query were read")
        if "\n" in text.strip():
            return self._pasted(text)
        self._asks = is_question(_without_filters(text))
        around, rest = self._in_passing(text)
        count = 0
        for token in _TOKEN.finditer(rest):
            if token["space"] is not None or token["other"] is not None:
                continue
            count += 1
            if count > MAX_CLAUSES:
                self._note(f"only the first {MAX_CLAUSES} words of the query were used")
                break
            self._take(token)
        return self._question(text, around)

    def _in_passing(self, text: str) -> tuple[Period | None, str]:
        """Return the period that is named in passing, and the text without it.

        Dates inside filters and quotes mean what they say, and a filter of time leaves nothing to prefer.
        """
        plain = list(text)
        for token in _TOKEN.finditer(text):
            if token["field"] is not None and token["field"].lower() in ("after", "before", "on"):
                return None, text
            if any(token[name] is not None for name in ("field", "phrase", "regex")):
                plain[token.start() : token.end()] = "\0" * (token.end() - token.start())
        said = said_in_passing("".join(plain), self._now_us, self._zone)
        return (said.period, f"{text[: said.start]} {text[said.end :]}") if said is not None else (None, text)

    def _take(self, token: re.Match[str]) -> None:
        is_not, is_must = token["sign"] == "-", token["sign"] == "+"
        if token["field"] is not None:
            value = token["quoted"] if token["quoted"] is not None else token["value"]
            if token["field"].lower() in FILTERS:
                self._take_field(token["field"].lower(), value, is_not=is_not)
                return
            if token["field"].isalpha() and token["quoted"] is None and "/" not in value:
                known = ", ".join(sorted(FILTERS))
                self._note(f"there is no filter {token['field']}: (there are {known}); taken as words")
            # Not a filter of ours: `TypeError:x`, `https://…` are text.
            self._add(Clause(token[0].lstrip("+-") if token["sign"] else token[0]), is_not=is_not)
        elif token["phrase"] is not None:
            self._take_phrase(token["phrase"], is_wanted=self._asks and not token["sign"], is_not=is_not)
        elif token["regex"] is not None:
            self._take_pattern(token, is_not=is_not)
        else:
            self._take_word(token, is_not=is_not, is_must=is_must)

    def _take_phrase(self, phrase: str, *, is_wanted: bool, is_not: bool) -> None:
        """Whoever quotes in a question may quote from memory: there a phrase is preferred, and its words count too."""
        for text in (phrase, *phrase.split()) if is_wanted else (phrase,) if phrase.strip() else ():
            self._add(Clause(text, "word" if is_wanted else "exact"), is_not=is_not)

    def _take_word(self, token: re.Match[str], *, is_not: bool, is_must: bool) -> None:
        word = token["word"]
        if word == "OR" and not token["sign"]:
            self._joins_next = bool(self._groups)
        elif word == "AND" and not token["sign"]:
            return
        elif "*" in word and sum(c.isalnum() for c in word) >= 2:
            self._take_pattern(token, is_not=is_not)
        else:
            self._add(Clause(word, "exact" if is_must else "word"), is_not=is_not)

    def _take_pattern(self, token: re.Match[str], *, is_not: bool) -> None:
        is_regex = token["regex"] is not None
        text = token["regex"] if is_regex else token["word"]
        pattern, note = from_regex(text) if is_regex else from_wildcard(text)
        if note:
            self._note(note)
        if pattern is None:
            self._add(Clause(text), is_not=is_not)
        else:
            self._add(Clause(text, "pattern", pattern), is_not=is_not)

    def _add(self, clause: Clause, *, is_not: bool) -> None:
        joins, self._joins_next = self._joins_next, False
        if is_not:
            self._not.append(clause)
        elif joins:
            self._groups[-1].append(clause)
        else:
            self._groups.append([clause])

    def _take_field(self, name: str, value: str, *, is_not: bool) -> None:
        self._joins_next = False
        value = value.strip()
        if name in ("after", "before", "on"):
            self._take_date(name, value, is_not=is_not)
        elif name == "is":
            if value.lower() in ("subagent", "sidechain", "agent"):
                self._subagent = not is_not
            else:
                self._note(f"is:{value} is not known (there is is:subagent); left out")
        elif not value:
            self._note(f"{name}: has no value; left out")
        else:
            values = [value] if name == "path" else [v for v in value.split(",") if v]
            self._values.setdefault((name, is_not), []).extend(values)

    def _take_date(self, name: str, value: str, *, is_not: bool) -> None:
        period = parse_time(value, self._now_us, self._zone)
        if period is None or (is_not and name == "on"):
            self._note(f"{name}:{value} is not a time ({TIME_FORMS}); left out")
            return
        if name == "on":
            self._after, self._before = period.start_us, period.end_us
        elif (name == "after") != is_not:
            self._after = period.start_us
        else:
            self._before = period.start_us

    def _question(self, text: str, around: Period | None) -> Question:
        words = [g[0] for g in self._groups if len(g) == 1 and g[0].kind == "word"]
        either: list[tuple[Clause, ...]] = []
        must: list[tuple[Clause, ...]] = []
        for group in self._groups:
            if all(clause.kind == "word" for clause in group):
                if len(group) > 1:
                    words += group
                    either.append(tuple(group))
            else:
                must.append(tuple(group))
        return Question(
            text=text,
            said=_without_filters(text),
            words=tuple(dict.fromkeys(words)),
            either=tuple(either),
            must=tuple(must),
            must_not=tuple(self._not),
            where=EventFilter(is_subagent=self._subagent, **self._of_sessions(is_not=False)),
            where_not=tuple(
                msgspec.structs.replace(EventFilter(), **{attribute: (value,)})
                for attribute, values in self._of_sessions(is_not=True).items()
                for value in values
            ),
            kinds=self._known("kind", is_not=False),
            not_kinds=self._known("kind", is_not=True),
            tools=self._known("tool", is_not=False),
            not_tools=self._known("tool", is_not=True),
            paths=self._paths(is_not=False),
            not_paths=self._paths(is_not=True),
            after_us=self._after,
            before_us=self._before,
            around=around,
            unknown=tuple(self._unknown),
            lost=self._lost,
            notes=tuple(self._notes),
        )

    def _paths(self, *, is_not: bool) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._values.get(("path", is_not), ())))

    def _of_sessions(self, *, is_not: bool) -> dict[str, Any]:
        """Return what confines to sessions, by attribute of `EventFilter`. To a filter an entry is a session, and
        documents are cited by collection."""
        found: dict[str, Any] = {
            one.attribute: self._known(name, is_not=is_not) for name, one in FILTERS.items() if one.attribute
        }
        found["sessions"] += tuple(f"document:{name}/" for name in self._known("collection", is_not=is_not))
        return found

    def _known(self, field: str, *, is_not: bool) -> tuple[str, ...]:
        """Return the values of a filter as they are looked for."""
        found: dict[str, None] = {}
        values = [FILTERS[field].spelled(value) for value in self._values.get((field, is_not), ())]
        unknown = 0
        for value in dict.fromkeys(values):
            try:
                names = _kinds(value) if field == "kind" else (self._names(field, value),)
            except UnknownName as error:
                # It stays in the filter: an answer from all agents is not the answer to a question about one.
                names = (value,)
                unknown += 1
                self._unknown.append(error)
                self._note(f"{error} ({error.hint})" if error.hint and not error.nearest else str(error))
            found.update(dict.fromkeys(names))
        if values and unknown == len(dict.fromkeys(values)) and not is_not:
            self._lost = field
        return tuple(found)

    def _note(self, note: str) -> None:
        if note not in self._notes:
            self._notes.append(note)


def _kinds(value: str) -> tuple[str, ...]:
    """Return the kinds that a word means. Raises UnknownName."""
    kinds = tuple(_KIND_ALIASES.get(value, value).split(","))
    if kinds[0] in _KNOWN_KINDS:
        return kinds
    from difflib import get_close_matches  # who spells right needs none of it

    near = tuple(get_close_matches(value, sorted((*_KNOWN_KINDS, *_KIND_ALIASES))))
    raise UnknownName("kind", value, nearest=near, hint=f"there are {', '.join(sorted(_KNOWN_KINDS))}")


_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sept sep", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "(" + "|".join(sorted(_MONTHS, key=len, reverse=True)) + r")\.?"
_DAY_MONTH = late_pattern(
    rf"(?:on\s+)?(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH},?\s+(\d{{4}})\b", re.I
)
_MONTH_DAY = late_pattern(rf"(?:on\s+)?\b{_MONTH}\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,\s*|\s+)(\d{{4}})\b", re.I)
_MONTH_YEAR = late_pattern(rf"(?:in\s+)?\b{_MONTH},?\s+(\d{{4}})\b", re.I)
_ISO_DAY = late_pattern(r"\b(\d{4})-(\d\d)(?:-(\d\d))?\b")
_DATES = (_DAY_MONTH, "dmy"), (_MONTH_DAY, "mdy"), (_MONTH_YEAR, "my"), (_ISO_DAY, "iso")
_NEW_YEARS_EVE = late_pattern(r"\bnew year['’]?s eve(?:\s+(?:of\s+)?(\d{4}))?", re.I)
_RELATIVE = late_pattern(r"\b(today|yesterday|(?:last|this) (?:week|month|year))\b", re.I)
_RELATIVE_WORDS = ("today", "yesterday", "last ", "this ")


class Passing(NamedTuple):
    """A date said in passing, and where: text[start:end]."""

    period: Period
    start: int
    end: int


def said_in_passing(text: str, now_us: int, zone: tzinfo = UTC) -> Passing | None:
    """Return the first period that a question names in words, in the calendar of a zone."""
    low = text.casefold()  # most questions name none, and to make the patterns takes longer than to answer
    for pattern, order in _DATES if any(map(str.isdecimal, text)) else ():
        found = pattern.search(text)
        if found is None:
            continue
        if order == "iso":
            period = calendar_period(int(found[1]), int(found[2]), int(found[3] or 0), zone)
        else:
            parts = dict(zip(order, found.groups(), strict=True))
            period = calendar_period(int(parts["y"]), _MONTHS[parts["m"].lower()], int(parts.get("d", 0)), zone)
        if period is not None:
            return Passing(period, *found.span())
    found = _NEW_YEARS_EVE.search(text) if "new year" in low else None
    if found is not None:
        year = int(found[1]) if found[1] else in_zone(now_us, zone).year - 1
        period = calendar_period(year, 12, 31, zone)
        return Passing(period, *found.span()) if period is not None else None
    found = _RELATIVE.search(text) if any(word in low for word in _RELATIVE_WORDS) else None
    period = relative_period(found[1].lower(), now_us, zone) if found is not None else None
    return Passing(period, *found.span()) if found is not None and period is not None else None
