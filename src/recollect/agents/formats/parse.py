"""The adapter of agents that are described by data. Pure; never raises on content."""

import re
from typing import Any

import msgspec

from recollect.agents.facts import facts_of, format_table
from recollect.agents.formats.blocks import OwnBlocks, read_aisdk, read_item
from recollect.agents.formats.claude_like import RelativeState, read_record
from recollect.agents.kit import adapter as kit
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.content import Speaker, without_opaque
from recollect.agents.kit.language import (
    Format,
    NoteRule,
    Rule,
    UsageFields,
    at_path,
    has_all,
    has_any,
    holds,
    names,
    paths,
    shown,
)
from recollect.agents.kit.names import Marks, name_of, short_name
from recollect.agents.kit.values import decoded_json, instant, items, mapping, text, whole
from recollect.model.payloads import Compaction, Instructions, Json, Lifecycle, TokenUsage
from recollect.model.records import SourceInfo


class FormatState(RelativeState, frozen=True, gc=False, omit_defaults=True):
    """The memory between records. marks: see `NamingState`."""

    marks: Marks = ()
    was_compressed: bool = False
    """The message before was put away by a compaction."""


Reading = kit.Reading[FormatState]


class FormatAdapter(KitAdapter[FormatState]):
    def __init__(self, slug: str) -> None:
        self.facts, self.slug = facts_of(slug), slug
        self._form = msgspec.convert(format_table(slug), Format)

    def identify(self, info: SourceInfo, head: bytes) -> str:
        named = self._form.session
        found = text(at_path(_first_line(head), named.field)) if named.field else ""
        if 0 < len(found) <= kit.MAX_NAME_CHARS and found.isprintable():
            return found
        folder = info.folder if named.is_folder else ""
        stem = info.document or folder or info.stem.removesuffix(named.strip)
        if stem and named.without:
            return ":".join((*(f for f in info.folders if f not in names(named.without)), stem))
        stem, parent = stem or first_line_name(head), self._parent(info)
        return f"{parent}{named.joint}{stem}" if parent else stem

    def told_by(self, info: SourceInfo) -> dict[str, Any]:
        return {"parent": self._parent(info)[: kit.MAX_NAME_CHARS]}

    def _parent(self, info: SourceInfo) -> str:
        """Return the session whose subagent wrote a source, by its folder."""
        steps = info.path.split("/")
        is_below = info.role == "subagent" and len(steps) > 2 and steps[-2] == self._form.session.below
        return steps[-3] if is_below else ""

    def read(self, reading: Reading) -> None:
        value = reading.record.value
        rule = next((rule for rule in self._form.rules if _is_of(rule, reading)), None)
        if rule is not None and rule.inside:
            message = mapping(at_path(value, rule.inside) if isinstance(value, list) else value)
            is_odd = not message
        else:
            message = mapping(value)
            is_odd = not isinstance(value, dict)
        if is_odd:
            read_odd(reading)
        elif rule is None:
            reading.unknown(text(message.get("type")) or "record")
        else:
            _Record(reading, message, rule, self._form, self.facts.slug).read()


def _first_line(head: bytes) -> dict[str, Any]:
    return mapping(decoded_json(head.lstrip().partition(b"\n")[0]))


def _is_of(rule: Rule, reading: Reading) -> bool:
    """Say whether a rule fits a record."""
    value = reading.value
    is_here = reading.state.role in names(rule.places) or reading.at == rule.at
    if (rule.places or rule.at is not None) and not is_here:
        return False
    if has_any(value, rule.lacks):
        return False
    is_first = bool(rule.first) and not reading.state.is_started and has_all(value, rule.first)
    return is_first or (has_all(value, rule.has) and holds(value, rule.when))


class _Record:
    """One record while it is read by its rule."""

    def __init__(self, reading: Reading, message: dict[str, Any], rule: Rule, form: Format, slug: str) -> None:
        self._slug = slug
        self._reading = reading
        self._message = message
        self._rule = rule
        self._form = form

    def read(self) -> None:
        """Give everything that the rule says of the record."""
        reading, message, rule = self._reading, self._message, self._rule
        if rule.blocks == "claude":
            read_record(reading, names(rule.kept))
            return
        self._date()
        self._name()
        marks = items(at_path(reading.record.value, rule.marks)) if rule.marks else []
        if rule.marks:
            self._mark(marks)
        role = self._told(rule.role) if rule.role else ""
        if rule.speakers is not None and role not in names(rule.speakers):
            reading.unknown(text(message.get("type")) or role or "record")
            return
        if rule.start is not None:
            self._start()
        if rule.blocks == "aisdk":
            model = text(at_path(message, rule.model))
            read_aisdk(reading, at_path(message, rule.content), Speaker(role, reading.native_id, model), self._form)
        elif rule.blocks == "items":
            read_item(reading, text(at_path(message, rule.model)), names(self._form.extras))
        elif rule.blocks:
            own = OwnBlocks(reading, self._form, reading.native_id or "", is_hint=rule.hint in marks)
            own.read(message, rule.content, role)
        if rule.usage is not None and role in ("", "assistant"):
            self._usage(rule.usage)
        for note in rule.notes:
            if holds(message, note.when):
                self._note(note)
        for known in rule.known:
            where = mapping(at_path(message, known.at)) if known.at else message
            if known.at and (given := at_path(message, known.at)) is not None and not isinstance(given, dict):
                reading.wrong(known.at)
            for field, words in known.values.items():
                reading.odd_value(f"{known.name}.{field}", where.get(field), names(words))
            reading.extra(where, names(known.fields), known.name, native_id=known.id or None)

    def _date(self) -> None:
        reading, rule = self._reading, self._rule
        written = at_path(self._message, rule.time) if rule.time else None
        if not rule.is_local:
            reading.date(written, rule.time.rpartition(".")[2])
            return
        at = instant(written)
        reading.infer(at)
        if written and at is None:
            reading.wrong(rule.time, "bad_timestamp")

    def _name(self) -> None:
        """Name the record's events: by its id, by its content where the rule says so, else by its hash."""
        reading, rule = self._reading, self._rule
        given = self._message.get(rule.id)
        number = whole(given) if rule.is_number else None
        written = ("" if number is None else str(number)) if rule.is_number else short_name(text(given))
        if written:
            reading.native_id = f"{rule.prefix}{written}"
        elif rule.unnamed:
            reading.native_id = name_of(reading, rule.unnamed, self._message)

    def _mark(self, marks: list[Any]) -> None:
        """Emit the compaction that ends at the first message which was not put away."""
        reading, rule = self._reading, self._rule
        for mark in marks:
            reading.odd_value("message.mark", mark, frozenset((rule.compressed, rule.hint)))
        is_compressed = rule.compressed in marks
        name = reading.native_id or ""
        if reading.now("was_compressed") and not is_compressed:
            reading.add(Compaction(continues_at=name), native_id=f"compaction:{name}")
        reading.set(was_compressed=is_compressed)

    def _start(self) -> None:
        """Emit the session's start, or where a later record says another folder or branch."""
        reading, rule = self._reading, self._rule
        told = {field: self._told(said) for field, said in (rule.start or {}).items()}
        if reading.state.parent and not told.get("parent_session"):
            told["parent_session"] = reading.state.parent
        if rule.version:
            version = at_path(self._message, rule.version)
            told["tool_version"] = "" if version is None else str(version)
        is_later = rule.changes and reading.state.is_started
        if not is_later and (rule.always_start or rule.changes or any(told.values())):
            reading.start(**told, native_id=rule.start_id)
        reading.set(is_started=True)
        if rule.changes:
            reading.see(is_first_told=is_later, cwd=told.get("cwd", ""), branch=told.get("git_branch", ""))

    def _usage(self, usage: UsageFields) -> None:
        """Emit what a request cost. The parts of the prompt do not overlap."""
        reading = self._reading
        given = mapping(self._first(usage.at)) if usage.at else self._message
        model = text(at_path(self._message, self._rule.model))
        fresh, output, read, written, reasoning = (
            self._count(given, written)
            for written in (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning)
        )
        if usage.includes_read and usage.includes_read in given:
            fresh = max(0, fresh - read)
        if fresh == output == read == written == 0:
            return
        written_1h = min(self._count(given, usage.cache_write_1h), written)
        if usage.no_writes and re.search(usage.no_writes, model):
            fresh, written, written_1h = fresh + written, 0, 0
        name = reading.native_id or ""
        response = text(self._first(usage.response)) or name
        counted = TokenUsage(
            model,
            fresh,
            output,
            read,
            written - written_1h,
            written_1h,
            reasoning,
            dedupe_key=f"{self._slug}:{reading.state.session}:{response}" if response else "",
        )
        reading.add(counted, native_id=f"{name}/usage" if name else None)

    def _count(self, given: dict[str, Any], written: str) -> int:
        """Return the first number at some paths; missing and negative ones count as 0."""
        found = next((n for path in paths(written) if (n := whole(at_path(given, path))) is not None), 0)
        if found < 0:
            self._reading.wrong(written, "number_out_of_range")
        return max(0, found)

    def _told(self, said: Any) -> str:
        found, odd = shown(self._message, said)
        if odd:
            self._reading.wrong(odd.rpartition(".")[2])
        return found

    def _first(self, written: str) -> Json:
        return next((found for path in paths(written) if (found := at_path(self._message, path))), None)

    def _note(self, note: NoteRule) -> None:
        reading, message = self._reading, self._message
        name = reading.native_id
        own = (f"{name}{note.id}" if name else None) if note.id.startswith("/") else note.id or None
        said, title, cwd = (self._told(one) if one else "" for one in (note.text, note.title, note.cwd))
        if note.source:
            if said or note.always:
                reading.add(Instructions(said, note.source), native_id=own)
            return
        detail: Json = at_path(message, note.detail) if note.detail else None
        if note.members:
            members = {member: self._first(written) for member, written in note.members.items()}
            detail = {member: found for member, found in members.items() if found} or None
        if note.rest is not None:
            rest = {k: v for k, v in message.items() if k not in names(note.rest)}
            detail = without_opaque(rest) or None
        if not (said or title or cwd or detail or note.always):
            return
        if note.flags:
            detail = {member: at_path(message, path) is True for member, path in note.flags.items()}
        reading.add(Lifecycle(note.name, said, detail or None, cwd=cwd, title=title), native_id=own)
