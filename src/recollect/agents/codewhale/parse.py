"""CodeWhale: parses the pieces of a session's document into events. Pure; never raises on content.

A document comes in pieces: members, each message, each entry of the journal, each artifact (see `Place.split`). A
document that could not be split is read as one. Traps are in README.md beside this file.
"""

import re
from collections.abc import Callable
from typing import Any

import msgspec

from recollect.agents.codewhale.messages import (
    MAX_ABANDONED,
    MAX_ENTRIES,
    MAX_LABEL_CHARS,
    Abandoned,
    Entry,
    Reading,
    WhaleState,
    give_branch,
    give_compaction,
    read_message,
)
from recollect.agents.facts import known_by_type, known_fields
from recollect.agents.kit.adapter import KitAdapter, first_line_name, read_odd
from recollect.agents.kit.names import content_sha256, short, spaceless, times_counted
from recollect.agents.kit.values import decoded_json, instant, mapping, text
from recollect.model.payloads import Instructions, Lifecycle, Rewind, TokenUsage, ToolResult
from recollect.model.records import SourceInfo
from recollect.model.text import flatten

# The members of a session's document around its messages: metadata, prompt, references, receipts, work state.
#
# Evidence: format notes: CodeWhale; reference: recall and MCP, 5.2.

_KNOWN = known_fields("codewhale")
_INFO = ("model", "model_provider", "model_provider_id", "forked_from_message_count", "spawn_depth")
_OUTCOMES = frozenset(("approved_once", "denied", "cancelled", "unavailable", "retry_with_policy"))
_PLACEHOLDER = "New Session"
_SUMMARY_START = "<!-- compaction-summary:begin -->"
_SUMMARY_END = "<!-- compaction-summary:end -->"


def read_members(reading: Reading, value: dict[str, Any]) -> None:
    """Emit the members of the document but its arrays of messages and entries."""
    if "schema_version" in value:
        reading.odd_value("schema_version", str(value["schema_version"]), frozenset("1"))
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        _read_metadata(reading, metadata)
    elif metadata is not None:
        reading.wrong("metadata")
    reading.infer(reading.now("updated"))
    if value.get("system_prompt") not in (None, ""):
        # Emit the system prompt, without the summary of a compaction that the agent put into it.
        written = value["system_prompt"]
        said = written if isinstance(written, str) else flatten(written)
        start, end = said.find(_SUMMARY_START), said.find(_SUMMARY_END)
        if 0 <= start < end:
            summary = said[start + len(_SUMMARY_START) : end].strip()
            said = said[:start].rstrip() + said[end + len(_SUMMARY_END) :]
            reading.set(is_again=False)
            if not times_counted(reading.now("seen"), _compaction_base(reading, summary)):
                give_compaction(reading, summary)
        if said.strip():
            name = f"instructions:{content_sha256(reading.now('lineage'), 'system', spaceless(said))}"
            reading.add(Instructions(said, "system_prompt"), native_id=name)
    for item in reading.items(value, "context_references"):
        _read_reference(reading, mapping(item))
    for item in reading.items(value, "approval_receipts"):
        read_receipt(reading, mapping(item))
        reading.infer(reading.now("updated"))
    reading.note("todo", detail=value.get("work_state"), native_id="work_state")
    if value.get("window_title"):
        reading.add(Lifecycle("window_title", flatten(value["window_title"])), native_id="window_title")
    reading.note("route", detail=value.get("last_auto_route"), native_id="route")
    reading.extra(value, _KNOWN["record"], "session", native_id="session")


def _read_metadata(reading: Reading, metadata: dict[str, Any]) -> None:
    created, updated = instant(metadata.get("created_at")), instant(metadata.get("updated_at"))
    parent = reading.text(metadata, "parent_session_id")
    model = reading.text(metadata, "model")
    reading.set(
        lineage=short(parent or reading.state.session, MAX_LABEL_CHARS),
        model="" if model == "auto" else short(model, MAX_LABEL_CHARS),
        created=created,
        updated=updated if updated is not None else created,
        count=reading.count(metadata, "message_count"),
        shared=reading.count(metadata, "forked_from_message_count"),
    )
    reading.date(metadata.get("created_at"), "created_at")
    reading.start(cwd=reading.text(metadata, "workspace"), model="" if model == "auto" else model, forked_from=parent)
    reading.infer(reading.now("updated"))
    title = reading.text(metadata, "title")
    if title and title != _PLACEHOLDER:
        reading.add(Lifecycle("title", title=title), native_id="title")
    mode = reading.text(metadata, "mode")
    reading.note("mode", mode, native_id="mode")
    if metadata.get("archived") is not None:
        reading.add(Lifecycle("archived", detail={"archived": metadata["archived"]}), native_id="archived")
    info = {k: metadata[k] for k in _INFO if metadata.get(k) not in (None, "", 0)}
    reading.note("session_info", detail=info, native_id="info")
    _read_usage(reading, metadata)
    reading.extra(metadata, _KNOWN["metadata"], "metadata", native_id="metadata")


def _read_usage(reading: Reading, metadata: dict[str, Any]) -> None:
    """Emit the session's spend so far: one cumulative number, without input and output.

    A fork begins with a copy of its parent's counters, so both have one key and the family counts once.
    """
    cost = reading.mapping(metadata, "cost")
    tokens = reading.count(metadata, "total_tokens")
    spent = sum(reading.money(cost, k) or 0.0 for k in ("session_cost_usd", "subagent_cost_usd"))
    if tokens or spent > 0:
        usage = TokenUsage(
            model=reading.now("model"),
            input_tokens=tokens,
            cost_usd=spent if spent > 0 else None,
            dedupe_key=f"codewhale:{reading.now('lineage')}",
        )
        reading.add(usage, native_id="usage")
    said = {k: v for k, v in cost.items() if k in _KNOWN["cost"] and v not in (None, "", [], {}, 0, 0.0)}
    if said:
        seconds = metadata.get("cumulative_turn_secs")
        reading.add(Lifecycle("cost", detail={**said, "cumulative_turn_secs": seconds}), native_id="cost")
    reading.extra(cost, _KNOWN["cost"], "metadata.cost", native_id="cost")


def _compaction_base(reading: Reading, summary: str) -> str:
    """Return the name under which the messages count a compaction, see `state.name_thing`."""
    lineage = reading.now("lineage") or reading.state.session
    return content_sha256(lineage, "compaction", "", (spaceless(summary),), "")


def _read_reference(reading: Reading, item: dict[str, Any]) -> None:
    if item:
        reference = mapping(item.get("reference"))
        label = text(reference.get("target")) or text(reference.get("label"))
        name = f"context:{content_sha256(reading.now('lineage'), item)}"
        reading.add(Lifecycle("context", label, item), native_id=name)


def read_receipt(reading: Reading, receipt: dict[str, Any]) -> None:
    """Emit a question for permission, or its answer: the same in the document and in the file beside it."""
    if not receipt:
        reading.wrong("approval_receipts")
        return
    reading.date(receipt.get("created_at"), "created_at")
    outcome = receipt.get("outcome")
    said = text(mapping(outcome).get("outcome")) or text(outcome)
    reading.odd_value("approval_receipts.outcome", said, _OUTCOMES)
    name = f"approval:{content_sha256(reading.state.session, receipt)}"
    detail = {k: v for k, v in receipt.items() if k in _KNOWN["receipt"] and k not in ("created_at", "tool_call_id")}
    call_id = text(receipt.get("tool_call_id"))
    reading.add(Lifecycle("permission", said, detail, call_id=call_id), native_id=name)
    reading.extra(receipt, _KNOWN["receipt"], "approval_receipts", native_id=name)


def read_artifact(reading: Reading, artifact: dict[str, Any]) -> None:
    """Emit what the document says of a tool's output that was written to a file."""
    reading.date(artifact.get("created_at"), "created_at")
    name = f"artifact:{content_sha256(reading.state.session, artifact.get('id'))}"
    rest = {k: v for k, v in artifact.items() if k in _KNOWN["artifact"] and k not in ("preview", "created_at")}
    preview, call_id = reading.text(artifact, "preview"), reading.text(artifact, "tool_call_id")
    reading.add(Lifecycle("artifact", preview, rest, call_id=call_id), native_id=name)
    reading.extra(artifact, _KNOWN["artifact"], "artifacts", native_id=name)


# The journal: a tree of entries whose active branch is `messages`. It gives what the messages lack.
#
# Ids and times in it are made again with every save, so they only say who hangs on whom within one document. An entry
# that the messages hold too is passed over. Any other is a branch that was left (marked as a sidechain), which belongs
# behind the message that it hangs on, or, where the messages begin with a summary, what stood before it.
# Evidence: format notes: CodeWhale; reference: recall and MCP, 5.4.

_COMMON = frozenset(("id", "parent_id", "kind", "created_at", "spawn_depth"))
_FIELDS = {kind: _COMMON | fields for kind, fields in known_by_type("codewhale", "entry").items()}
_COUNTS = ("tokens_before", "tokens_after", "model")
_BRANCH = ("branch_id", "parent_branch_id")


def read_entry(reading: Reading, entry: dict[str, Any]) -> None:
    """Emit what one entry adds to the messages."""
    kind = reading.text(entry, "kind")
    fields = _FIELDS.get(kind)
    if fields is None:
        name = f"entry:{content_sha256(reading.now('lineage'), _lasting(entry))}"
        reading.unknown(f"journal/{kind}", native_id=name)
        return
    reading.infer(_bounded(reading, instant(entry.get("created_at"))))
    parent = _find(reading, entry.get("parent_id"))
    reading.set(is_again=True, before=parent.chain if parent else "", first="", has_new=False)
    first_event = len(reading.events)
    is_framing = kind in ("compaction", "branch_summary", "system")
    is_kept = reading.now("is_compacted") and not reading.now("is_past_summary")
    message = _message_of(entry, kind)
    if kind == "compaction":
        counts = {k: entry[k] for k in _COUNTS if entry.get(k) is not None}
        give_compaction(reading, reading.text(entry, "summary"), counts)
        # What was kept stands behind it again. Only the summary with which the messages begin ends their history.
        reading.set(
            is_past_summary=reading.now("is_past_summary") or not reading.now("has_new"), seen_again=(), before=""
        )
    elif kind == "branch_summary":
        give_branch(reading, reading.text(entry, "summary"), {k: entry[k] for k in _BRANCH if entry.get(k)})
    else:
        read_message(reading, message)
    is_off = reading.now("has_new") and not is_framing and not is_kept
    if is_off:
        _place(reading, first_event, parent.last if parent else None, is_off=True)
    elif is_kept and not is_framing:
        _place(reading, first_event, reading.now("history"), is_off=False)
    name = reading.now("first")
    chain = reading.now("before")  # as in the messages: a summary begins again, other framing changes nothing
    last = reading.newest() if len(reading.events) > first_event else dict(reading.now("ends")).get(name, name)
    if is_kept and not is_framing:
        reading.set(history=last)
    written = entry.get("id")
    if isinstance(written, str) and written:
        named = msgspec.structs.replace(Entry(0, chain, name, last), mark=int(content_sha256(written), 16))
        reading.set(entries=(*reading.now("entries"), named)[-MAX_ENTRIES:])
    _see_branch(reading, parent, name, last, is_off=is_off)
    if kind == "branch_summary":
        _give_rewind(reading, "", name, parent.last if parent else None)  # of which branch, nothing tells
    reading.extra(entry, fields, f"journal.{kind}", native_id=name or None)


def read_journal(reading: Reading, journal: dict[str, Any]) -> None:
    """Emit the journal's own members: a branch that nothing continued after ends at its leaf."""
    if "leaf_id" in journal:
        for left in reading.now("abandoned"):
            parent = next((e for e in reading.now("entries") if e.mark == left.parent), None)
            _give_rewind(reading, parent.last if parent else "", left.name, left.last)
        reading.set(abandoned=())
    reading.extra(journal, _KNOWN["journal"], "journal", native_id="journal")


def _message_of(entry: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the message that an entry stands for."""
    if kind == "message":
        return mapping(entry.get("message"))
    said = entry.get("content") if kind == "system" else entry.get("text")
    return {"role": kind, "content": [{"type": "text", "text": said}]}


def _place(reading: Reading, first_event: int, behind: str | None, *, is_off: bool) -> None:
    """Put the events given since behind an earlier one; mark them as those of a branch that was left."""
    for i in range(first_event, len(reading.events)):
        draft = reading.events[i]
        reading.events[i] = msgspec.structs.replace(draft, is_sidechain=is_off, follows=behind)
        behind = draft.native_id or behind


def _see_branch(reading: Reading, parent: Entry | None, name: str, last: str, *, is_off: bool) -> None:
    """Remember a branch that was left, and give the way back where the conversation continued from its root."""
    abandoned: tuple[Abandoned, ...] = reading.now("abandoned")
    if is_off:
        is_first = parent is None or all(a.name != parent.name for a in abandoned)
        if parent is not None and is_first:
            reading.set(abandoned=(*abandoned, Abandoned(parent.mark, name, last))[-MAX_ABANDONED:])
        elif parent is not None:
            longer = (Abandoned(a.parent, name, last) if a.name == parent.name else a for a in abandoned)
            reading.set(abandoned=tuple(longer))
        return
    left = next((a for a in abandoned if parent is not None and a.parent == parent.mark), None)
    if left is not None and parent is not None:
        _give_rewind(reading, parent.last, left.name, left.last)
        reading.set(abandoned=tuple(a for a in abandoned if a is not left))


def _give_rewind(reading: Reading, to_event: str, left: str, behind: str | None) -> None:
    name = f"rewind:{content_sha256(reading.now('lineage'), to_event, left)}"
    reading.add(Rewind(to_event), native_id=name, follows=behind)


def _find(reading: Reading, written: object) -> Entry | None:
    if not text(written):
        return None
    mark = int(content_sha256(written), 16)
    entries: tuple[Entry, ...] = reading.now("entries")
    return next((e for e in reversed(entries) if e.mark == mark), None)


def _bounded(reading: Reading, at: int | None) -> int | None:
    """Return the time of an entry within the session's own; the save's where it says none."""
    created: int | None = reading.now("created")
    updated: int | None = reading.now("updated")
    if at is None or updated is None:
        return updated if updated is not None else at
    return max(created if created is not None else at, min(at, updated))


def _lasting(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if k not in ("id", "parent_id", "created_at")}


_ID = re.compile(rb'"metadata"\s*:\s*\{\s*"id"\s*:\s*"([A-Za-z0-9_-]{1,200})"')
_DOCUMENTS = ("session", "checkpoint")


class WhaleAdapter(KitAdapter[WhaleState], slug="codewhale"):
    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the id in the metadata, else the file's or the folder's name."""
        if info.role not in _DOCUMENTS:
            parts = info.path.split("/")
            return next((parts[i + 1] for i in range(len(parts) - 2) if parts[i] == "sessions"), "") or info.path
        found = _ID.search(head)
        if found is not None:
            return found[1].decode("ascii")
        return _written_id(head) or info.stem or first_line_name(head)

    def read(self, reading: Reading) -> None:
        role, value = reading.state.role, reading.record.value
        if role == "artifact" and isinstance(value, str):
            # Emit the whole output of a tool that the session shows only the beginning of.
            name = reading.state.name
            call_id = name.removesuffix(".txt").removeprefix("art_")
            native_id = f"artifact_text:{content_sha256(reading.state.session, name)}"
            reading.add(ToolResult(call_id, text=value, structured={"spilled_to": name}), native_id=native_id)
            return
        if not isinstance(value, dict):
            read_odd(reading)
        elif role == "approvals":
            read_receipt(reading, value)
        elif role in _DOCUMENTS:
            _read_piece(reading, value)
        else:
            read_odd(reading)


def _read_piece(reading: Reading, value: dict[str, Any]) -> None:
    read = _PIECES.get(reading.at)
    if read is not None:
        read(reading, value)
        return
    if reading.at:
        reading.unknown(reading.at, native_id=f"piece:{content_sha256(value)}")
        return
    read_members(reading, value)
    for at, items in (
        ("messages", value.get("messages")),
        ("journal.entries", mapping(value.get("journal")).get("entries")),
        ("journal", [value["journal"]] if isinstance(value.get("journal"), dict) else None),
        ("artifacts", value.get("artifacts")),
    ):
        _read_all(reading, at, items)


def _read_all(reading: Reading, at: str, items: object) -> None:
    """Read the elements of an array of a document that was not split."""
    if items is None:
        return
    if not isinstance(items, list):
        reading.wrong(at)
        return
    for item in items:
        if isinstance(item, dict):
            _PIECES[at](reading, item)
        else:
            reading.wrong(at)
            reading.unknown(at, item if item is not None else "", native_id=f"piece:{content_sha256(at, item)}")


def _read_message_at(reading: Reading, message: dict[str, Any]) -> None:
    """Emit a message, at a time between the session's start and its last save by its place among the others."""
    index: int = reading.now("index")
    created, updated = reading.now("created"), reading.now("updated")
    if created is not None and updated is not None:
        is_copy = index < reading.now("shared") and not reading.now("is_compacted")
        steps = max(reading.now("count") - 1, index, 1)
        reading.infer(created if is_copy else created + max(0, updated - created) * index // steps)
    if not index:
        reading.set(history=reading.newest())
    reading.set(index=index + 1, is_again=False, first="", has_new=False)
    read_message(reading, message)
    reading.set(ends=(*reading.now("ends"), (reading.now("first"), reading.newest()))[-MAX_ENTRIES:])


def _written_id(head: bytes) -> str:
    return text(mapping(mapping(decoded_json(head)).get("metadata")).get("id"))


_PIECES: dict[str, Callable[[Reading, dict[str, Any]], None]] = {
    "messages": _read_message_at,
    "journal.entries": read_entry,
    "journal": read_journal,
    "artifacts": read_artifact,
}
"""Which function reads the pieces that stand where."""
