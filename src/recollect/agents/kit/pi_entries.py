"""The adapter of pi and its relatives: file recognition, the header and the entries between messages."""

import re
from typing import Any

import msgspec

from recollect.agents.facts import entries, known_fields
from recollect.agents.kit import pi_messages
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.values import decoded_json, group_in, mapping, text, word_set
from recollect.model.payloads import Compaction, Lifecycle, Rewind
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.model.text import flatten

# The entries of a pi session: its header, its messages, and what stands between them.
#
# Evidence: format notes: pi, "Entries"; packages/coding-agent/docs/session.md.

_KNOWN = known_fields("pi")
_SESSION_OF_NAME = re.compile(r"(?:\A|[/\\])(?:[^/\\_]*T[^/\\_]*_)?([^/\\]+?)(?:\.jsonl)?\Z")
_TARGETS = ("targetId", "entryId", "messageId", "parentId")


def read_entry(reading: pi_messages.PiReading) -> None:
    value = reading.value
    if not isinstance(reading.record.value, dict):
        read_odd(reading)
        return
    message = value.get("message")
    at = value.get("timestamp")
    reading.date(message.get("timestamp") if at is None and isinstance(message, dict) else at)
    kind = text(value.get("type"))
    if kind == "session":
        _header(reading)
        return
    if kind == "message":
        message = reading.mapping(reading.value, "message")
        pi_messages.follow(reading, pi_messages.TURN if message.get("role") == "user" else pi_messages.MESSAGE)
        if message:
            pi_messages.read_message(reading, message)
        else:
            reading.unknown("message")
        reading.extra(reading.value, _KNOWN["entry"] | {"message"}, "message")
        return
    pi_messages.follow(reading, pi_messages.ASIDE)
    reader = _READERS.get(kind)
    if reader is None:
        reading.unknown(
            kind, without_opaque({k: v for k, v in value.items() if k not in _KNOWN["entry"]}) or flatten(value)
        )
        return
    reader(reading)


def session_of_path(path: str) -> str:
    """Return the session that a session file is called after: `<timestamp>_<id>.jsonl`, or `<id>.jsonl`."""
    found = _SESSION_OF_NAME.search(path)
    return found[1] if found else ""


def _header(reading: pi_messages.PiReading) -> None:
    value = reading.value
    source = text(value.get("parentSession")) or text(value.get("branchedFrom"))
    other = session_of_path(source) if source else ""
    state = reading.state
    is_child = state.role == "subagent"
    model = reading.text(value, "modelId")
    # Only a header that a first version wrote names a model; with a version it was migrated.
    reading.set(is_migrated=value.get("version") in (2, 3) and bool(model), is_started=True)
    reading.start(
        cwd=reading.text(value, "cwd"),
        model=model,
        forked_from="" if is_child else other,
        parent_session=(state.parent_session or other) if is_child else "",
        agent_name=text(value.get("agentName")) or (state.name.removesuffix(".jsonl") if is_child else ""),
    )
    reading.entitle(reading.text(value, "title"), "start/title")
    reading.extra(value, _KNOWN["header"], "session", native_id="start")


def _model(reading: pi_messages.PiReading) -> None:
    value = reading.value
    model = reading.text(value, "modelId") or reading.text(value, "model").rpartition("/")[2]
    provider = reading.text(value, "provider") or reading.text(value, "model").rpartition("/")[0]
    reading.give(Lifecycle("model", text=provider, model=model))
    reading.extra(value, _KNOWN["model"], "model_change")


def _thinking_level(reading: pi_messages.PiReading) -> None:
    reading.give(Lifecycle("mode", text=f"thinking {flatten(reading.value.get('thinkingLevel'))}"))
    reading.extra(reading.value, _KNOWN["entry"] | {"thinkingLevel"}, "thinking_level_change")


def _compaction(reading: pi_messages.PiReading) -> None:
    value = reading.value
    trigger = "hook" if value.get("fromHook") is True else ""
    summary = reading.text(value, "summary")
    goes_on = reading.text(value, "firstKeptEntryId")
    reading.give(Compaction(trigger, summary, reading.whole(value, "tokensBefore"), continues_at=goes_on))
    _details(reading, "compaction")
    reading.extra(value, _KNOWN["compaction"], "compaction")


def _details(reading: pi_messages.PiReading, kind: str) -> None:
    """Keep what a compaction or a branch says of the files it touched."""
    said = flatten(without_opaque(reading.value.get("details")))
    if said:
        reading.kept(f"{kind}/details", said, native_id=f"{reading.native_id}/details")


def _branch_summary(reading: pi_messages.PiReading) -> None:
    """Emit the summary of a branch that was left; that it was left is a rewind, also where no jump shows it."""
    value = reading.value
    if not reading.events and text(value.get("fromId")):
        reading.give(Rewind(text(value.get("parentId"))), suffix="/rewind")
    detail = {"from": value["fromId"]} if text(value.get("fromId")) else None
    reading.give(Lifecycle("branch_summary", text=reading.text(value, "summary"), detail=detail))
    _details(reading, "branch_summary")
    reading.extra(value, _KNOWN["branch"], "branch_summary")


def _custom(reading: pi_messages.PiReading) -> None:
    """Keep what an extension stored for itself; the model never sees it."""
    value = reading.value
    reading.kept(f"custom/{text(value.get('customType'))}", without_opaque(value.get("data")) or "")
    reading.extra(value, _KNOWN["entry"] | {"customType", "data"}, "custom")


def _custom_message(reading: pi_messages.PiReading) -> None:
    pi_messages.read_custom(reading, reading.value)
    reading.extra(reading.value, _KNOWN["custom_message"], "custom_message")


def _label(reading: pi_messages.PiReading) -> None:
    value = reading.value
    target = text(value.get("targetId"))
    reading.give(Lifecycle("tag", text=reading.text(value, "label"), detail={"entry": target} if target else None))
    reading.extra(value, _KNOWN["label"], "label")


def _session_info(reading: pi_messages.PiReading) -> None:
    name = reading.text(reading.value, "name")
    reading.give(Lifecycle("title", title=name))
    reading.extra(reading.value, _KNOWN["entry"] | {"name"}, "session_info")


def _child_usage(reading: pi_messages.PiReading) -> None:
    """Emit the usage of a message again, now with what its subagents spent: the last one counts.

    It takes the name and the key of the message's own usage, whose place it takes.
    """
    value = reading.value
    target = next((text(value.get(name)) for name in _TARGETS if text(value.get(name))), "")
    usage = reading.mapping(value, "usage")
    key = dict(reading.state.usages).get(target, f"child:{target}")
    spent = pi_messages.usage_of(reading, usage, text(usage.get("model")), key)
    if spent is None or not target:
        reading.kept("child_usage_attributed", without_opaque(value))
        return
    reading.add(spent, "assistant", native_id=f"{target}/usage")
    reading.extra(value, _KNOWN["child"], "child_usage_attributed")


def _aside(reading: pi_messages.PiReading) -> None:
    value = reading.value
    body: Any = without_opaque({k: v for k, v in value.items() if k not in _KNOWN["entry"]})
    reading.kept(text(value.get("type")), body or "")


_READERS = {
    "model_change": _model,
    "thinking_level_change": _thinking_level,
    "compaction": _compaction,
    "compactionSummary": _compaction,
    "branch_summary": _branch_summary,
    "branchSummary": _branch_summary,
    "custom": _custom,
    "custom_message": _custom_message,
    "label": _label,
    "session_info": _session_info,
    "child_usage_attributed": _child_usage,
    "context_transform": _aside,
    "ephemeral": _aside,
}


_ENTRIES = word_set("""
    message model_change thinking_level_change compaction branch_summary custom custom_message label session_info
    child_usage_attributed service_tier_change session_state git_state agent_status
""")
_HEAD_ID = re.compile(rb'\A\s*\{[^{}]{0,400}"id" ?: ?"([^"\\]{1,200})"')
_MAX_LINES = 4
SUBAGENT = "subagent"


class PiMember(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How to tell an agent's loose files from its relatives': by names in their path or first entries.

    names: one of them occurs; empty: the agent that takes files without any of the `foreign_names`.
    """

    names: tuple[str, ...] = ()
    foreign_names: tuple[str, ...] = ()

    def has(self, path: str, head: bytes) -> bool:
        """Say whether a session of the family is this agent's."""
        stands = [n for n in (*self.names, *self.foreign_names) if n in path.lower() or n.encode() in head]
        return not any(n in self.foreign_names for n in stands) and (not self.names or bool(stands))


class PiFamilyAdapter(KitAdapter[pi_messages.PiState]):
    """Reads the session files of pi and its relatives."""

    def __init__(self, slug: str) -> None:
        entry = entries()[slug]
        self.facts = entry.facts
        self._own = msgspec.convert(entry.family, PiMember)

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: the header of a session, and nothing after it that pi doesn't write."""
        lines = [decoded_json(line) for line in head.split(b"\n", _MAX_LINES)[:_MAX_LINES] if line.strip()]
        if not lines or not _is_header(lines[0]) or not self._own.has(path, head):
            return None
        others = [line for line in lines[1:] if line is not None]
        if any(not isinstance(line, dict) or text(line.get("type")) not in _ENTRIES for line in others):
            return None
        return "session"

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the header's id, else what the file is called after."""
        header = mapping(decoded_json(head.lstrip().partition(b"\n")[0]))
        named = text(header.get("id")) or ("" if header else group_in(_HEAD_ID, head))
        named = named or session_of_path(info.name) or first_line_name(head)
        parent = parent_of(info)
        return f"{parent}/{info.stem}" if parent == named else named

    def begin(self, info: SourceInfo) -> pi_messages.PiState:
        return pi_messages.PiState(session=info.session, role=info.role, name=info.name, parent_session=parent_of(info))

    def parse(self, record: Record, state: pi_messages.PiState) -> Parsed[pi_messages.PiState]:
        reading = pi_messages.PiReading(record, state)
        read_entry(reading)
        return reading.finish()


def parent_of(info: SourceInfo) -> str:
    """Return the session whose subagent wrote a file, by its folder; "" for a session of its own.

    Oh My Pi: `sessions/<project>/<timestamp>_<id>/<agent>.jsonl`. Prime: `session-artifacts/<id>/**/sub-*/*.jsonl`.
    """
    if info.role != SUBAGENT:
        return ""
    folders = info.folders
    if "session-artifacts" in folders:
        rest = [f for f in folders[folders.index("session-artifacts") + 1 :] if not f.startswith("sub-")]
        return session_of_path(rest[-1]) if rest else ""
    return session_of_path(folders[-1]) if folders else ""


def _is_header(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") == "session"
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and ("cwd" in value or value.get("version") in (1, 2, 3))
        and "sessionId" not in value
    )
