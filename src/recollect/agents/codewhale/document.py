"""The members of a session's document around its messages: metadata, prompt, references, receipts, work state.

Evidence: format notes: CodeWhale; reference: recall and MCP, 5.2.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.codewhale.messages import give_compaction
from recollect.agents.codewhale.state import MAX_LABEL_CHARS, Reading
from recollect.agents.kit.access import mapping, text
from recollect.agents.kit.instants import instant
from recollect.agents.kit.naming import content_sha256, short, spaceless, times_counted
from recollect.model.payloads import Instructions, Lifecycle, SessionStart, TokenUsage
from recollect.model.text import flatten

KNOWN = frozenset(
    ("schema_version", "metadata", "messages", "journal", "leaf_id", "system_prompt", "context_references",
     "artifacts", "approval_receipts", "work_state", "window_title", "last_auto_route")
)  # fmt: skip
_METADATA = frozenset(
    ("id", "title", "created_at", "updated_at", "message_count", "total_tokens", "model", "model_provider",
     "model_provider_id", "workspace", "mode", "cost", "parent_session_id", "forked_from_message_count",
     "cumulative_turn_secs", "archived", "spawn_depth")
)  # fmt: skip
_INFO = ("model", "model_provider", "model_provider_id", "forked_from_message_count", "spawn_depth")
_COST = frozenset(
    ("session_cost_usd", "session_cost_cny", "subagent_cost_usd", "subagent_cost_cny",
     "displayed_cost_high_water_usd", "displayed_cost_high_water_cny", "priced_turns", "unpriced_turns",
     "cny_priced_turns", "cny_unpriced_turns", "coverage_recorded", "unpriced_reasons", "cny_unpriced_reasons",
     "unpriced_classes", "pricing_provenances", "live_pricing_defects", "live_pricing_unusable_defects",
     "route_receipts")
)  # fmt: skip
_ARTIFACT = frozenset(
    ("id", "kind", "session_id", "tool_call_id", "tool_name", "created_at", "byte_size", "preview", "storage_path")
)  # fmt: skip
_RECEIPT = frozenset(("phase", "approval_id", "tool_call_id", "tool_name", "created_at", "outcome"))
_OUTCOMES = frozenset(("approved_once", "denied", "cancelled", "unavailable", "retry_with_policy"))
_PLACEHOLDER = "New Session"
_SUMMARY_START = "<!-- compaction-summary:begin -->"
_SUMMARY_END = "<!-- compaction-summary:end -->"


def read_members(reading: Reading, value: dict[str, Any]) -> None:
    """Give the members of the document but its arrays of messages and entries."""
    if "schema_version" in value:
        reading.odd_value("schema_version", str(value["schema_version"]), frozenset("1"))
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        _read_metadata(reading, metadata)
    elif metadata is not None:
        reading.wrong("metadata")
    reading.infer(reading.now("updated"))
    if value.get("system_prompt") not in (None, ""):
        _read_system_prompt(reading, value["system_prompt"])
    for item in reading.items(value, "context_references"):
        _read_reference(reading, mapping(item))
    for item in reading.items(value, "approval_receipts"):
        read_receipt(reading, mapping(item))
        reading.infer(reading.now("updated"))
    if value.get("work_state"):
        reading.add(Lifecycle("todo", detail=value["work_state"]), native_id="work_state")
    if value.get("window_title"):
        reading.add(Lifecycle("window_title", flatten(value["window_title"])), native_id="window_title")
    if value.get("last_auto_route"):
        reading.add(Lifecycle("route", detail=value["last_auto_route"]), native_id="route")
    reading.extra(value, KNOWN, "session", native_id="session")


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
    start = SessionStart(
        cwd=reading.text(metadata, "workspace"), model="" if model == "auto" else model, forked_from=parent
    )
    reading.add(start, native_id="start")
    reading.infer(reading.now("updated"))
    title = reading.text(metadata, "title")
    if title and title != _PLACEHOLDER:
        reading.add(Lifecycle("title", title=title), native_id="title")
    mode = reading.text(metadata, "mode")
    if mode:
        reading.add(Lifecycle("mode", mode), native_id="mode")
    if metadata.get("archived") is not None:
        reading.add(Lifecycle("archived", detail={"archived": metadata["archived"]}), native_id="archived")
    info = {k: metadata[k] for k in _INFO if metadata.get(k) not in (None, "", 0)}
    if info:
        reading.add(Lifecycle("session_info", detail=info), native_id="info")
    _read_usage(reading, metadata)
    reading.extra(metadata, _METADATA, "metadata", native_id="metadata")


def _read_usage(reading: Reading, metadata: dict[str, Any]) -> None:
    """Give the session's spend so far: one cumulative number, without input and output.

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
    said = {k: v for k, v in cost.items() if k in _COST and v not in (None, "", [], {}, 0, 0.0)}
    if said:
        seconds = metadata.get("cumulative_turn_secs")
        reading.add(Lifecycle("cost", detail={**said, "cumulative_turn_secs": seconds}), native_id="cost")
    reading.extra(cost, _COST, "metadata.cost", native_id="cost")


def _read_system_prompt(reading: Reading, written: object) -> None:
    """Give the system prompt, without the summary of a compaction that the agent put into it."""
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
    """Give a question for permission, or its answer: the same in the document and in the file beside it."""
    if not receipt:
        reading.wrong("approval_receipts")
        return
    reading.date(receipt.get("created_at"), "created_at")
    outcome = receipt.get("outcome")
    said = text(mapping(outcome).get("outcome")) or text(outcome)
    reading.odd_value("approval_receipts.outcome", said, _OUTCOMES)
    name = f"approval:{content_sha256(reading.state.session, receipt)}"
    detail = {k: v for k, v in receipt.items() if k in _RECEIPT and k not in ("created_at", "tool_call_id")}
    call_id = text(receipt.get("tool_call_id"))
    reading.add(Lifecycle("permission", said, detail, call_id=call_id), native_id=name)
    reading.extra(receipt, _RECEIPT, "approval_receipts", native_id=name)


def read_artifact(reading: Reading, artifact: dict[str, Any]) -> None:
    """Give what the document says of a tool's output that was written to a file."""
    reading.date(artifact.get("created_at"), "created_at")
    name = f"artifact:{content_sha256(reading.state.session, artifact.get('id'))}"
    rest = {k: v for k, v in artifact.items() if k in _ARTIFACT and k not in ("preview", "created_at")}
    preview, call_id = reading.text(artifact, "preview"), reading.text(artifact, "tool_call_id")
    reading.add(Lifecycle("artifact", preview, rest, call_id=call_id), native_id=name)
    reading.extra(artifact, _ARTIFACT, "artifacts", native_id=name)
