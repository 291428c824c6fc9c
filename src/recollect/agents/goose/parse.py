"""goose: parses a row or line into events. Pure; never raises on content."""

from typing import Any

from recollect.agents.facts import known_fields
from recollect.agents.goose.content import GooseState, Ledger, Reading, Visibility, clamped, name_of, read_content
from recollect.agents.kit.adapter import KitAdapter, read_odd
from recollect.agents.kit.values import mapping, text
from recollect.model.payloads import Instructions, Lifecycle, TokenUsage

# The rows around goose's messages: a session's facts and lineage, and its usage.
#
# Evidence: format notes: goose, "tables" and "usage"; the agent's published schema.

_TOTALS = ("total_tokens", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
SESSION_FIELDS = frozenset(
    (
        *_TOTALS,
        *(f"accumulated_{name}" for name in _TOTALS),
        *"""id name description user_set_name session_type working_dir created_at updated_at extension_data
        accumulated_cost schedule_id recipe_json user_recipe_values_json provider_name model_config_json goose_mode
        archived_at project_id parent_session_id parent_delegation thread_id message_count recipe
        user_recipe_values""".split(),
    )
)
_LEDGER_FIELDS = frozenset((*_TOTALS, *"id session_id created_timestamp model cost cost_source is_compaction".split()))
_COST_SOURCES = frozenset(("provider_reported", "estimated", "carried_forward"))
_SESSION_TYPES = frozenset(("user", "scheduled", "sub_agent", "hidden", "terminal", "gateway", "acp"))
_NO_TITLES = frozenset(("CLI Session", "ACP Session", "New Chat", "New Session"))
"""What a session is called until somebody or the model gives it a name."""


def read_session(reading: Reading) -> None:
    """Emit what a row of `sessions` says: start and lineage, title, mode, recipe, and usage beyond the ledger."""
    row = reading.value
    reading.date(row.get("created_at"), "created_at")
    kind = reading.text(row, "session_type")
    reading.odd_value("sessions.session_type", kind, _SESSION_TYPES)
    parent = reading.text(row, "parent_session_id")
    title = reading.text(row, "name") or reading.text(row, "description")
    model = text(mapping(row.get("model_config_json")).get("model_name"))
    is_subagent = kind == "sub_agent"
    reading.start(
        cwd=reading.text(row, "working_dir"),
        model=model,
        originator=kind,
        forked_from="" if is_subagent else parent,
        parent_session=parent if is_subagent else "",
        agent_name=title if is_subagent else "",
    )
    if title and title not in _NO_TITLES:
        reading.add(Lifecycle("title", title=title), native_id="title")
    facts = {k: row[k] for k in ("provider_name", "goose_mode", "schedule_id", "project_id", "thread_id") if row.get(k)}
    reading.note("session_facts", detail=facts, native_id="facts")
    _read_recipe(reading, mapping(row.get("recipe_json")))
    add_totals(reading, row, model)
    reading.extra(row, SESSION_FIELDS, "sessions", native_id="start")


def _read_recipe(reading: Reading, recipe: dict[str, Any]) -> None:
    """Emit what a recipe tells the model; its prompt comes as the first message too."""
    words = [text(recipe.get(k)) for k in ("title", "description", "instructions", "prompt")]
    said = "\n\n".join(w for w in words if w)
    reading.say(Instructions(said, "recipe"), native_id="recipe")


def read_ledger(reading: Reading) -> None:
    """Emit one row of the ledger: one request, or what a session spent before the ledger began."""
    row = reading.value
    reading.date(row.get("created_timestamp"), "created_timestamp")
    reading.odd_value("usage_ledger.cost_source", row.get("cost_source"), _COST_SOURCES)
    number = reading.whole(row, "id")
    counts = _counts(reading, row, "")
    ledger: Ledger = reading.now("ledger")
    reading.set(
        ledger=Ledger(
            clamped(ledger.rows + 1),
            clamped(ledger.input_tokens + counts.input_tokens),
            clamped(ledger.output_tokens + counts.output_tokens),
            clamped(ledger.cache_read_tokens + counts.cache_read_tokens),
            clamped(ledger.cache_write_tokens + counts.cache_write_tokens),
        )
    )
    name = f"usage:{number}" if number is not None else f"usage:{ledger.rows}"
    cost = reading.money(row, "cost")
    key = f"goose:{reading.state.session}:{name}"
    reading.add(_usage(counts, reading.text(row, "model"), key, cost=cost, is_additive=True), native_id=name)
    if row.get("is_compaction") in (1, True):
        reading.add(Lifecycle("compaction_usage", detail={"usage": name}), native_id=f"{name}/compaction")
    reading.extra(row, _LEDGER_FIELDS, "usage_ledger", native_id=name)


def add_totals(reading: Reading, row: dict[str, Any], model: str) -> None:
    """Emit the session's own counters. They count as far as the ledger has not got them, which is never negative.

    The event is there whenever there are counters, so that an older version of it does not continue counting.
    """
    total = _counts(reading, row, "accumulated_")
    if total.input_tokens == total.output_tokens == 0:
        total = _counts(reading, row, "")
    if total.input_tokens == total.output_tokens == 0:
        return
    ledger: Ledger = reading.now("ledger")
    key = f"goose:{reading.state.session}:usage"
    if ledger.input_tokens >= total.input_tokens and ledger.output_tokens >= total.output_tokens:
        usage = _usage(total, model, key, cost=reading.money(row, "accumulated_cost"), is_additive=False)
    else:
        rest = Ledger(
            0,
            max(0, total.input_tokens - ledger.input_tokens),
            max(0, total.output_tokens - ledger.output_tokens),
            max(0, total.cache_read_tokens - ledger.cache_read_tokens),
            max(0, total.cache_write_tokens - ledger.cache_write_tokens),
        )
        cost = None if ledger.rows else reading.money(row, "accumulated_cost")
        usage = _usage(rest, model, key, cost=cost, is_additive=True)
    reading.add(usage, native_id="usage")


def _counts(reading: Reading, row: dict[str, Any], prefix: str) -> Ledger:
    return Ledger(0, *(reading.count(row, f"{prefix}{name}") for name in _TOTALS[1:]))


def _usage(counts: Ledger, model: str, key: str, *, cost: float | None, is_additive: bool) -> TokenUsage:
    """Return usage whose input is without the cached part, which goose counts in."""
    cached = counts.cache_read_tokens + counts.cache_write_tokens
    return TokenUsage(
        model=model,
        input_tokens=max(0, counts.input_tokens - cached),
        output_tokens=counts.output_tokens,
        cache_read_tokens=counts.cache_read_tokens,
        cache_write_5m_tokens=counts.cache_write_tokens,
        cost_usd=cost,
        dedupe_key=key,
        is_additive=is_additive,
    )


_KNOWN = known_fields("goose")
_ROLES = ("user", "assistant")


class GooseAdapter(KitAdapter[GooseState], slug="goose"):
    def read(self, reading: Reading) -> None:
        value = reading.record.value
        if not isinstance(value, dict):
            read_odd(reading)
        elif reading.state.role == "messages":
            # Emit a row of `messages`.
            row = reading.value
            reading.date(row.get("created_timestamp"), "created_timestamp")
            content = row.get("content_json")
            name = name_of(reading, row.get("message_id"), row.get("role"), row.get("created_timestamp"), content)
            _read_message(reading, content, mapping(row.get("metadata_json")), name)
            reading.extra(row, _KNOWN["row"], "messages", native_id=name)
        elif reading.state.role == "session":
            if reading.at == "usage_ledger":
                read_ledger(reading)
            else:
                read_session(reading)
        elif "role" in value:
            # Emit a message of an older session file.
            line = reading.value
            reading.date(line.get("created"), "created")
            content = line.get("content")
            name = name_of(reading, line.get("id"), line.get("role"), line.get("created"), content)
            _read_message(reading, content, mapping(line.get("metadata")), name)
            reading.extra(line, _KNOWN["line"], "message", native_id=name)
        else:
            # Emit the first line of an older session file, which is written again whenever the session continues.
            facts = reading.value
            if "working_dir" not in facts and "description" not in facts:
                reading.unknown("line")
                return
            reading.date(facts.get("created_at"), "created_at")
            parent = reading.text(facts, "parent_session_id")
            reading.start(cwd=reading.text(facts, "working_dir"), forked_from=parent)
            reading.entitle(reading.text(facts, "description"))
            add_totals(reading, facts, "")
            reading.extra(facts, SESSION_FIELDS, "session", native_id="start")


def _read_message(reading: Reading, content: Any, metadata: dict[str, Any], name: str) -> None:
    role = reading.value.get("role")
    if role not in _ROLES:
        reading.unknown(f"message.{role}" if isinstance(role, str) else "message", native_id=name)
        return
    before = len(reading.events)
    read_content(reading, role, content, Visibility(metadata), name)
    reading.extra(metadata, _KNOWN["metadata"], "metadata", native_id=name)
    if len(reading.events) == before:
        reading.kept("message", native_id=name)
