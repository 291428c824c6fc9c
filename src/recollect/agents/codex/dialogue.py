"""Parses user messages, model messages and reasoning. Codex writes each twice; one copy is used.

Canonical is whichever comes first: the texts are the same, and nobody knows whether the other will follow (old and
trimmed files have one channel only). Evidence: format notes: Codex, representation.
"""

import binascii
import hashlib
import re

from recollect.agents.codex.step import ASSISTANT, EVENT, ITEM, THINKING, USER, Step, bounded, hash_text, is_twin
from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import note_fields, note_type, note_value
from recollect.agents.kit.values import Json, word_set
from recollect.model import payloads as kinds
from recollect.model.text import flatten

# Message content: text and images, and what of it the harness put in rather than a person.

_MAX_URL = 2048
_OPAQUE_LINE = 2048
_DATA_URL = re.compile(r"data:([\w.+/-]*)(?:;[\w=.+-]*)*?;base64,")
_IMAGE_TAG = re.compile(r"\s*</?image\b[^<>]*>\s*")
_TAG = re.compile(r"<([A-Za-z][\w-]*(?: instructions)?)\b[^<>]*>")
_INJECTED_TAGS = frozenset((
    "environment_context", "user_instructions", "INSTRUCTIONS", "permissions instructions", "apps_instructions",
    "skills_instructions", "plugins_instructions", "recommended_plugins", "collaboration_mode", "personality_spec",
    "model_switch", "turn_aborted", "turn_context", "subagent_notification", "subagent_context", "skill", "skills",
    "user_shell_command", "user_action", "hook_prompt", "realtime_conversation", "goal_context",
    "codex_internal_context",
))  # fmt: skip
_BLOCKS = word_set("""
    input_text output_text text summary_text reasoning_text encrypted_content input_image image local_image local_audio
    input_audio audio input_file skill mention Text inputText inputImage resource resource_link
""")
"""Content blocks of the model, of the interface (`Text`, `local_image`, `skill`) and of MCP tools."""
_KNOWN = known_fields("codex")
_INJECTED_STARTS = (
    ("# AGENTS.md instructions", "AGENTS.md"),
    ("Another language model started to solve this problem", "compaction_summary"),
)
INSTRUCTION_SOURCES = frozenset((
    "AGENTS.md", "user_instructions", "INSTRUCTIONS", "permissions instructions", "apps_instructions",
    "skills_instructions", "plugins_instructions", "collaboration_mode", "personality_spec", "model_switch",
))  # fmt: skip
"""Injected context that is instructions rather than news."""


def injected_source(text: str) -> str:
    """Return the name of the context that the harness put into the user's role, "" for a person's words.

    Evidence: format notes: Codex, representation ("role=user also carries injected context").
    """
    start = text[:160].lstrip()
    if start.startswith("<"):
        m = _TAG.match(start)
        return m[1] if m is not None and m[1] in _INJECTED_TAGS else ""
    for prefix, source in _INJECTED_STARTS:
        if start.startswith(prefix):
            return source
    return ""


def read_content(step: Step, content: Json) -> tuple[list[str], tuple[kinds.Part, ...]]:
    """Return the texts and the other parts of message content: a string, a list of blocks, or one block."""
    if isinstance(content, str):
        return ([content] if content else []), ()
    if isinstance(content, dict):
        content = [content]
    texts: list[str] = []
    parts: list[kinds.Part] = []
    for block in step.items(content, "content"):
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            _read_block(step, block, texts, parts)
        else:
            step.defect("wrong_type", f"content block is {type(block).__name__}")
    if parts:  # the harness writes <image name=...> and </image> around each image
        texts = [t for t in texts if _IMAGE_TAG.fullmatch(t) is None]
    return texts, tuple(parts)


def _read_block(step: Step, block: dict[str, Json], texts: list[str], parts: list[kinds.Part]) -> None:
    kind = block.get("type")
    if isinstance(kind, str) and kind not in _BLOCKS:
        note_type(step.drift, f"content/{kind}")
    elif kind is not None:
        note_fields(step.drift, block, _KNOWN["block"], "content")
    if "text" in block:
        text = step.text(block["text"], "text")
        if text:
            texts.append(text)
    elif block.get("image_url") is not None:
        url = block["image_url"]
        if isinstance(url, dict):  # the chat form: {"url": ..., "detail": ...}
            url = url.get("url")
        parts.append(image_of_url(step, step.text(url, "image_url")))
    elif block.get("data") is not None:
        data = step.text(block["data"], "data")
        parts.append(image_of_base64(step, data, step.text(block.get("mimeType"), "mimeType")))
    elif block.get("path") is not None:
        parts.append(kinds.Part(type="image", path=step.text(block["path"], "path")))
    elif block.get("encrypted_content") is not None:
        text = readable_secret(block["encrypted_content"])
        if text:
            texts.append(text)
    elif block.get("type") not in ("input_image", "image"):
        text = readable(block)
        if text:
            texts.append(text)


def image_of_url(step: Step, url: str) -> kinds.Part:
    """Return an image part of a `data:` or other URL, without the image's bytes."""
    head = _DATA_URL.match(url)
    if head is None:
        return kinds.Part(type="image", url=url[:_MAX_URL])
    return image_of_base64(step, url[head.end() :], head[1])


def image_of_base64(step: Step, data: str, media_type: str) -> kinds.Part:
    """Return an image part of base64 text: the hash and the number of the decoded bytes."""
    try:
        decoded = binascii.a2b_base64(data)
    except ValueError:  # binascii.Error, or text that is not ASCII
        step.defect("bad_image", f"{len(data)} characters are not base64")
        return kinds.Part(type="image", media_type=media_type)
    sha256 = hashlib.sha256(decoded).hexdigest()
    return kinds.Part(type="image", sha256=sha256, media_type=media_type, bytes=len(decoded))


def readable_secret(value: Json) -> str:
    """Return an `encrypted_content` that is plain prose after all, else ""; nothing is ever decoded.

    Evidence: format notes: Codex, trap 10. Ciphertext is base64 and has no space.
    """
    return value if isinstance(value, str) and " " in value else ""


def readable(value: Json) -> str:
    """Return the text of an unknown value, without long unbroken lines (base64, ciphertext)."""
    text = flatten(value)
    if len(text) <= _OPAQUE_LINE:
        return text
    return "\n".join(x for x in text.split("\n") if len(x) <= _OPAQUE_LINE or x.count(" ") * 500 > len(x))


def without(payload: dict[str, Json], *names: str) -> dict[str, Json] | None:
    """Return what a payload says beside its type and `names`, empty values left out; None when nothing is left."""
    rest = {k: v for k, v in payload.items() if k != "type" and k not in names and v not in (None, "", [], {})}
    return rest or None


_ROLES = frozenset(("user", "assistant", "developer", "system"))


def item_message(step: Step, payload: dict[str, Json]) -> None:
    """A `message` item: role user, assistant, developer or system."""
    role = step.text(payload.get("role"), "role")
    note_value(step.drift, "response_item/message.role", role, _ROLES)
    texts, parts = read_content(step, payload.get("content"))
    if role == "assistant":
        say(step, texts, parts, channel=ITEM, message_id=step.text(payload.get("id"), "id"))
    elif role == "user":
        words: list[str] = []
        for text in texts:
            source = injected_source(text)
            if not source:
                words.append(text)
            elif is_twin(step, text, USER, ITEM):
                continue  # a person really wrote it: the event said so
            elif source in INSTRUCTION_SOURCES:
                instruct(step, text, source)
            else:
                step.emit(kinds.UserMessage(text=text, origin="injected"))
        if words or parts or not texts:
            ask(step, words, parts, channel=ITEM)
    else:
        for text in texts:
            instruct(step, text, role or "message")


def ask(step: Step, texts: list[str], parts: tuple[kinds.Part, ...], *, channel: int) -> None:
    """Emit a person's message unless its twin was given."""
    # The event joins the item's texts without a separator.
    if (texts or parts) and not is_twin(step, "".join(texts), USER, channel):
        step.set(compactions=())
        step.emit(kinds.UserMessage(text="\n".join(texts), parts=parts))


def event_user_message(step: Step, payload: dict[str, Json]) -> None:
    """`user_message`: the clean words of a person, with images as URLs and as local paths."""
    text = step.text(payload.get("message"), "message")
    parts = [image_of_url(step, step.text(url, "images")) for url in step.items(payload.get("images"), "images")]
    for key, kind in (("local_images", "image"), ("local_audio", "audio")):
        parts += [kinds.Part(type=kind, path=step.text(path, key)) for path in step.items(payload.get(key), key)]
    ask(step, [text] if text else [], tuple(parts), channel=EVENT)


def completed_user_message(step: Step, item: dict[str, Json]) -> None:
    """A UserMessage item of the paginated mode."""
    texts, parts = read_content(step, item.get("content"))
    ask(step, texts, parts, channel=EVENT)


def hook_prompt(step: Step, item: dict[str, Json]) -> None:
    """A HookPrompt item: text that a hook put into the user's role."""
    texts, _ = read_content(step, item.get("fragments", item.get("content")))
    step.emit(kinds.UserMessage(text="\n".join(texts), origin="injected"))


def event_agent_message(step: Step, payload: dict[str, Json]) -> None:
    """`agent_message` of the interface: one text of the model."""
    text = step.text(payload.get("message"), "message")
    say(step, [text] if text else [], (), channel=EVENT)


def completed_agent_message(step: Step, item: dict[str, Json]) -> None:
    """An AgentMessage item of the paginated mode."""
    texts, parts = read_content(step, item.get("content"))
    say(step, texts, parts, channel=EVENT)


def say(step: Step, texts: list[str], parts: tuple[kinds.Part, ...], *, channel: int, message_id: str = "") -> None:
    """Emit the model's texts that were not given yet, as one message. The interface tells one event per text."""
    fresh = [t for t in texts if not is_twin(step, t, ASSISTANT, channel)]
    if fresh or (parts and not texts):
        text = "\n".join(fresh)
        model = step.state.model
        step.emit(kinds.AssistantMessage(text=text, model=model, message_id=message_id, parts=parts))


def item_reasoning(step: Step, payload: dict[str, Json]) -> None:
    """A `reasoning` item: readable summaries and texts; `encrypted_content` alone gives an empty, marked event."""
    texts, _ = read_content(step, payload.get("summary"))
    more, _ = read_content(step, payload.get("content"))
    texts += more
    message_id = step.text(payload.get("id"), "id")
    if not texts:
        sealed = payload.get("encrypted_content")
        plain = readable_secret(sealed)
        if plain or sealed:
            step.emit(kinds.Thinking(text=plain, message_id=message_id, is_encrypted=not plain))
        return
    think(step, texts, channel=ITEM, message_id=message_id)


def event_reasoning(step: Step, payload: dict[str, Json]) -> None:
    """`agent_reasoning` and `agent_reasoning_raw_content`: one part of the reasoning."""
    text = step.text(payload.get("text"), "text")
    think(step, [text] if text else [], channel=EVENT)


def completed_reasoning(step: Step, item: dict[str, Json]) -> None:
    """A Reasoning item of the paginated mode."""
    texts, _ = read_content(step, item.get("summary_text"))
    more, _ = read_content(step, item.get("raw_content"))
    think(step, texts + more, channel=EVENT)


def think(step: Step, texts: list[str], *, channel: int, message_id: str = "") -> None:
    """Emit the parts of the reasoning that were not given yet, as one event."""
    fresh = [t for t in texts if not is_twin(step, t, THINKING, channel)]
    if fresh:
        step.emit(kinds.Thinking(text="\n\n".join(fresh), message_id=message_id))


def item_agent_message(step: Step, payload: dict[str, Json]) -> None:
    """An `agent_message` item: one agent writes to another (trap 7: not the event of the same name)."""
    texts, _ = read_content(step, payload.get("content"))
    detail = without(payload, "content", "id", "metadata", "internal_chat_message_metadata_passthrough")
    step.emit(kinds.Lifecycle(name="subagent", text="\n".join(texts), detail=detail))


def instruct(step: Step, text: str, source: str) -> None:
    """Give instructions once per source, however often the harness repeats them."""
    if text and step.is_new_instruction(text):
        step.emit(kinds.Instructions(text=text, source=source))


# The thread itself: its headers, the context of its turns, its snapshots and compactions.

_HISTORY_MODES = frozenset(("legacy", "paginated"))
_SOURCES = frozenset(("custom", "subagent"))
_SUBAGENTS = frozenset(("thread_spawn", "other"))
_SETTINGS = (
    "approval_policy", "sandbox_policy", "effort", "summary", "personality", "collaboration_mode", "permission_profile",
)  # fmt: skip


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
        kinds.SessionStart(
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
        step.emit(kinds.Lifecycle(name="resumed", cwd=cwd, branch=step.text(git.get("branch"), "branch")))
        return
    # The copied prefix of another thread follows. Its end can't be seen from this file alone, so its events are
    # this thread's too; usage is told apart by its key.
    step.emit(kinds.Lifecycle(name="replay", text=thread_id))
    if thread_id and not step.state.forked_from:
        step.set(forked_from=bounded(thread_id))
        step.emit(kinds.SessionStart(forked_from=thread_id))


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
            kinds.Lifecycle(
                name="model" if is_new_model else "cwd" if is_new_cwd else "mode",
                model=model if is_new_model else "",
                cwd=cwd if is_new_cwd else "",
                detail=_short_settings(settings) if key != state.settings else None,
            )
        )
    else:
        step.emit(kinds.Lifecycle(name="turn_started" if is_new_turn else "turn_context"))
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
    step.emit(kinds.Lifecycle(name="world_state", detail=without(payload)))


def compacted(step: Step, payload: dict[str, Json]) -> None:
    """The context was shortened. `replacement_history` repeats old messages: never turns (trap 6)."""
    compact(step, "compacted", step.text(payload.get("message"), "message"))


def compact(step: Step, told_by: str, summary: str) -> None:
    """Emit a compaction once, though up to four record types tell of it.

    A second telling of the same type is a second compaction; a telling that alone has the summary is given too.
    """
    told = step.state.compactions
    if told_by in told:
        told = ()
    step.set(compactions=(*told, told_by))
    if not told or summary:
        step.emit(kinds.Compaction(summary=summary))


def inter_agent(step: Step, payload: dict[str, Json]) -> None:
    """Agents of one session write to each other."""
    content = payload.get("content", payload.get("message"))
    texts, _ = read_content(step, content) if isinstance(content, str | list) else ([], ())
    detail = without(payload, "content", "message") if texts else without(payload)
    step.emit(kinds.Lifecycle(name="subagent", text="\n".join(texts), detail=detail))


def unknown_text(value: Json) -> str:
    """Return what can be read of a record that nobody knows."""
    return readable(without(value)) if isinstance(value, dict) else flatten(value)
