"""The thread itself: its headers, the context of its turns, its snapshots and compactions."""

from __future__ import annotations

from recollect.agents.codex.content import read_content, readable, without
from recollect.agents.codex.dialogue import instruct
from recollect.agents.codex.step import Step, bounded, hash_text
from recollect.agents.kit.drift import note_fields, note_value
from recollect.model.payloads import Compaction, Json, Lifecycle, SessionStart
from recollect.model.text import flatten

_HISTORY_MODES = frozenset(("legacy", "paginated"))
_SOURCES = frozenset(("custom", "subagent"))
_SUBAGENTS = frozenset(("thread_spawn", "other"))
_SETTINGS = (
    "approval_policy",
    "sandbox_policy",
    "effort",
    "summary",
    "personality",
    "collaboration_mode",
    "permission_profile",
)


def session_meta(step: Step, payload: dict[str, Json]) -> None:
    """The header. The first one names this thread; a later one is a resume or a copied parent's (trap 3)."""
    thread_id = step.text(payload.get("id", payload.get("session_id")), "id")
    forked_from = step.text(payload.get("forked_from_id"), "forked_from_id")
    note_value(step.drift, "session_meta.history_mode", payload.get("history_mode"), _HISTORY_MODES)
    if step.state.is_started:
        _later_meta(step, payload, thread_id)
    else:
        _start(step, payload, thread_id=thread_id, forked_from=forked_from)
    step.set(owner=bounded(forked_from or thread_id))
    base = payload.get("base_instructions")
    text = base.get("text") if isinstance(base, dict) else base
    instruct(step, step.text(text, "base_instructions"), "base_instructions")
    instruct(step, step.text(payload.get("instructions"), "instructions"), "user_instructions")


def _start(step: Step, payload: dict[str, Json], *, thread_id: str, forked_from: str) -> None:
    git = step.mapping(payload.get("git"), "git")
    cwd = step.text(payload.get("cwd"), "cwd")
    parent, agent_name = _parent_of(step, payload)
    step.set(is_started=True, thread_id=bounded(thread_id), forked_from=bounded(forked_from), cwd=bounded(cwd))
    step.emit(
        SessionStart(
            cwd=cwd,
            git_branch=step.text(git.get("branch"), "branch"),
            git_commit=step.text(git.get("commit_hash"), "commit_hash"),
            git_remote=step.text(git.get("repository_url"), "repository_url"),
            tool_version=step.text(payload.get("cli_version"), "cli_version"),
            originator=step.text(payload.get("originator"), "originator"),
            forked_from=forked_from,
            parent_session=parent,
            agent_name=agent_name,
        )
    )


def _parent_of(step: Step, payload: dict[str, Json]) -> tuple[str, str]:
    """Return (parent thread, agent name). `source` is text or an object (trap 8)."""
    source = payload.get("source")
    subagent = None
    if isinstance(source, dict):
        note_fields(step.drift, source, _SOURCES, "session_meta.source")
        subagent = source.get("subagent")
    spawn: dict[str, Json] = {}
    name = ""
    if isinstance(subagent, str):
        name = subagent
    elif isinstance(subagent, dict):
        note_fields(step.drift, subagent, _SUBAGENTS, "session_meta.source.subagent")
        spawn = step.mapping(subagent.get("thread_spawn"), "thread_spawn")
        name = step.text(subagent.get("other"), "other")
    for key in ("agent_role", "agent_nickname"):
        if not name:
            name = step.text(spawn.get(key), key) or step.text(payload.get(key), key)
    parent = step.text(payload.get("parent_thread_id"), "parent_thread_id")
    return parent or step.text(spawn.get("parent_thread_id"), "parent_thread_id"), name


def _later_meta(step: Step, payload: dict[str, Json], thread_id: str) -> None:
    if thread_id == step.state.thread_id:
        git = step.mapping(payload.get("git"), "git")
        cwd = step.text(payload.get("cwd"), "cwd")
        step.set(cwd=bounded(cwd))
        step.emit(Lifecycle(name="resumed", cwd=cwd, branch=step.text(git.get("branch"), "branch")))
        return
    # The copied prefix of another thread follows. Its end can't be seen from this file alone, so its events are
    # this thread's too; usage is told apart by its key.
    step.emit(Lifecycle(name="replay", text=thread_id))
    if thread_id and not step.state.forked_from:
        step.set(forked_from=bounded(thread_id))
        step.emit(SessionStart(forked_from=thread_id))


def turn_context(step: Step, payload: dict[str, Json]) -> None:
    """The context of a turn: the only place that names the model. Old builds repeat it at every step of a turn."""
    is_new_turn = step.begin_turn(step.text(payload.get("turn_id"), "turn_id"))
    state = step.state
    cwd = step.text(payload.get("cwd"), "cwd")
    model = step.text(payload.get("model"), "model")
    settings = {k: payload[k] for k in _SETTINGS if payload.get(k)}
    key = hash_text(repr(settings))
    is_new_model = bool(model) and bounded(model) != state.model
    is_new_cwd = bool(cwd) and bounded(cwd) != state.cwd
    if is_new_model or is_new_cwd or key != state.settings:
        step.set(
            model=bounded(model) if is_new_model else state.model,
            cwd=bounded(cwd) if is_new_cwd else state.cwd,
            settings=key,
        )
        step.emit(
            Lifecycle(
                name="model" if is_new_model else "cwd" if is_new_cwd else "mode",
                model=model if is_new_model else "",
                cwd=cwd if is_new_cwd else "",
                detail=_short_settings(settings) if key != state.settings else None,
            )
        )
    else:
        step.emit(Lifecycle(name="turn_started" if is_new_turn else "turn_context"))
    for name in ("user_instructions", "developer_instructions"):
        instruct(step, step.text(payload.get(name), name), name)
    mode = payload.get("collaboration_mode")
    inner = mode.get("settings") if isinstance(mode, dict) else None
    if isinstance(inner, dict):
        text = step.text(inner.get("developer_instructions"), "developer_instructions")
        instruct(step, text, "developer_instructions")


def _short_settings(settings: dict[str, Json]) -> dict[str, Json]:
    """Return the settings by their names only: `{"type": "workspace-write", ...}` is workspace-write."""
    short: dict[str, Json] = {}
    for key, value in settings.items():
        name = value.get("type", value.get("mode")) if isinstance(value, dict) else value
        if isinstance(name, str):
            short[key] = name
    return short


def world_state(step: Step, payload: dict[str, Json]) -> None:
    """A snapshot of AGENTS.md and the environment: the instructions once, the rest as detail."""
    state = payload.get("state")
    agents = state.get("agents_md") if isinstance(state, dict) else None
    if isinstance(state, dict) and isinstance(agents, dict) and isinstance(agents.get("text"), str):
        instruct(step, agents["text"], "AGENTS.md")
        agents = {k: v for k, v in agents.items() if k != "text"}
        payload = {**payload, "state": {**state, "agents_md": agents}}
    step.emit(Lifecycle(name="world_state", detail=without(payload)))


def compacted(step: Step, payload: dict[str, Json]) -> None:
    """The context was shortened. `replacement_history` repeats old messages: never turns (trap 6)."""
    compact(step, "compacted", step.text(payload.get("message"), "message"))


def compact(step: Step, told_by: str, summary: str) -> None:
    """Give a compaction once, though up to four record types tell of it.

    A second telling of the same type is a second compaction; a telling that alone has the summary is given too.
    """
    told = step.state.compactions
    if told_by in told:
        told = ()
    step.set(compactions=(*told, told_by))
    if not told or summary:
        step.emit(Compaction(summary=summary))


def inter_agent(step: Step, payload: dict[str, Json]) -> None:
    """Agents of one session write to each other."""
    content = payload.get("content", payload.get("message"))
    texts, _ = read_content(step, content) if isinstance(content, str | list) else ([], ())
    detail = without(payload, "content", "message") if texts else without(payload)
    step.emit(Lifecycle(name="subagent", text="\n".join(texts), detail=detail))


def unknown_text(value: Json) -> str:
    """Return what can be read of a record that nobody knows."""
    return readable(without(value)) if isinstance(value, dict) else flatten(value)
