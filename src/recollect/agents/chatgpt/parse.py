"""ChatGPT: parses a conversation into events. Pure; never raises on content."""

from typing import Any, NamedTuple

from recollect.agents.facts import known_fields
from recollect.agents.kit.adapter import BaseState, Reading, read_odd
from recollect.agents.kit.content import without_opaque
from recollect.agents.kit.exports import ExportAdapter, Tree, conversation_of, first_element, read_tree, stamp
from recollect.agents.kit.values import decoded_json, items, mapping, number, text, whole, word_set
from recollect.model import payloads as kinds
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

# Parses messages by author and recipient.

# What a message says, by the type of its content: text, pictures and what a page or a program gave.

PARTED = frozenset(("text", "multimodal_text"))
_FIELDS: dict[str, tuple[str, ...]] = {
    "text": ("parts",),
    "multimodal_text": ("parts",),
    "code": ("text", "language", "response_format_name"),
    "execution_output": ("text",),
    "stderr": ("text",),
    "system_error": ("name", "text"),
    "tether_quote": ("title", "url", "domain", "text", "tether_id"),
    "tether_browsing_display": ("summary", "result", "assets", "tether_id"),
    "tether_browsing_code": ("text", "result"),
    "sonic_webpage": ("title", "url", "domain", "snippet", "text", "pub_date", "crawl_date", "pub_timestamp", "ref_id"),
    "citable_code_output": ("output_str", "text", "code"),
    "computer_output": ("computer_id", "screenshot", "state", "tether_id", "is_ephemeral"),
    "computer_initialize_state": ("computer_id", "screenshot", "state", "os_type"),
    "super_widget": ("widget", "text"),
    "app_pairing_content": ("workspaces", "shared_prompt_suffix", "custom_instructions", "context_parts"),
    "thoughts": ("thoughts", "source_analysis_msg_id"),
    "reasoning_recap": ("content", "text"),
    "user_editable_context": ("user_profile", "user_instructions"),
    "model_editable_context": (
        "model_set_context", "repository", "repo_summary", "structured_context",
    ),
}  # fmt: skip
_UNSAID = word_set("tether_id computer_id language response_format_name source_analysis_msg_id ref_id")
KNOWN = {kind: frozenset((*names, "content_type")) for kind, names in _FIELDS.items()}
"""The fields of every type of content that is known."""

_MEDIA = {
    "image_asset_pointer": "image",
    "audio_asset_pointer": "audio",
    "video_asset_pointer": "video",
    "video_container_asset_pointer": "video",
}
_NESTED = ("audio_asset_pointer", "video_container_asset_pointer", "frames_asset_pointers", "frame_asset_pointers")


class Said(NamedTuple):
    """The words of a message, its pictures and recordings, and the parts of it that are not known."""

    text: str
    parts: tuple[kinds.Part, ...] = ()
    odd: tuple[Any, ...] = ()
    prompts: tuple[Any, ...] = ()
    """What pictures in it were made from."""


def read_content(content: Any) -> Said:
    """Return what a content of any known type says; one of an unknown type is all text."""
    if isinstance(content, str):
        return Said(content)
    found = mapping(content)
    kind = text(found.get("content_type"))
    if kind in PARTED or (kind not in KNOWN and isinstance(found.get("parts"), list)):
        return _of_parts(items(found.get("parts")), found.get("text"))
    if kind == "thoughts":
        return Said(thoughts_of(found))
    names = _FIELDS.get(kind)
    if names is None:
        return Said(flatten(without_opaque({k: v for k, v in found.items() if k != "content_type"})))
    said: list[str] = []
    parts: list[kinds.Part] = []
    for name in names:
        value = found.get(name)
        if name == "screenshot":
            parts += _media(mapping(value))
        elif value is not None and name not in _UNSAID:
            said.append(value if isinstance(value, str) else flatten(without_opaque(value)))
    return Said("\n".join(line for line in said if line), tuple(parts))


def thoughts_of(content: dict[str, Any]) -> str:
    """Return a summary of reasoning: each thought with its headline. `chunks` repeat the thought."""
    thoughts = content.get("thoughts")
    if isinstance(thoughts, str):
        return thoughts
    lines: list[str] = []
    for thought in items(thoughts):
        one = mapping(thought)
        lines += [text(one.get("summary")), text(one.get("content"))] if one else [flatten(thought)]
    return "\n".join(line for line in lines if line)


def attachments_of(metadata: dict[str, Any]) -> tuple[kinds.Part, ...]:
    """Return the files that were uploaded with a message. Their bytes are files of their own in the export."""
    return tuple(
        kinds.Part(
            type="file",
            media_type=text(one.get("mimeType")) or text(one.get("mime_type")),
            bytes=max(0, whole(one.get("size")) or 0),
            path=text(one.get("name")) or text(one.get("file_name")),
            url=text(one.get("id")),
        )
        for one in map(mapping, items(metadata.get("attachments")))
        if one
    )


def _of_parts(found: list[Any], beside: Any) -> Said:
    said: list[str] = [beside] if isinstance(beside, str) and not found else []
    parts: list[kinds.Part] = []
    odd: list[Any] = []
    prompts: list[Any] = []
    for part in found:
        if isinstance(part, str):
            said.append(part)
            continue
        one = mapping(part)
        kind = text(one.get("content_type"))
        media = _media(one)
        parts += media
        if kind == "audio_transcription" or (not kind and "text" in one):
            said.append(text(one.get("text")))
        elif not media and part is not None:
            odd.append(part)
        dalle = mapping(one.get("metadata")).get("dalle")
        if dalle:
            prompts.append(dalle)
    return Said("\n".join(line for line in said if line), tuple(parts), tuple(odd), tuple(prompts))


def _media(one: dict[str, Any]) -> list[kinds.Part]:
    """Return a picture or a recording; one of a call with its sound, its video and the frames of it."""
    kind = text(one.get("content_type"))
    if kind == "real_time_user_audio_video_asset_pointer":
        inside: list[Any] = []
        for name in _NESTED:
            value = one.get(name)
            inside += value if isinstance(value, list) else [value]
        nested = [part for value in inside for part in _media(mapping(value))]
        return nested or [kinds.Part(type="audio")]
    if kind not in _MEDIA:
        return []
    size = max(0, whole(one.get("size_bytes")) or 0)
    return [
        kinds.Part(_MEDIA[kind], media_type=text(one.get("format")), bytes=size, url=text(one.get("asset_pointer")))
    ]


# The fields of an export that are known, as published descriptions of exports name them.

CONVERSATION = word_set("""
    id conversation_id title create_time update_time mapping current_node moderation_results plugin_ids
    conversation_template_id gizmo_id gizmo_type is_archived is_starred is_read_only is_study_mode is_do_not_remember
    safe_urls blocked_urls default_model_slug conversation_origin voice async_status disabled_tool_ids memory_scope
    context_scopes sugar_item_id sugar_item_visible pinned_time owner atlas_mode_enabled is_temporary_chat workspace_id
    is_pinned snorlax_id
""")
ABOUT = (
    "gizmo_id", "gizmo_type", "conversation_template_id", "conversation_origin", "voice", "plugin_ids",
    "disabled_tool_ids", "is_archived", "is_starred", "is_study_mode", "is_do_not_remember",
    "is_temporary_chat", "moderation_results",
)  # fmt: skip
"""Those that say something about a conversation as a whole and have no place of their own."""
NODE = frozenset(("id", "message", "parent", "children"))
_KNOWN = known_fields("chatgpt")
STATUSES = word_set("""
    finished_successfully finished_partial_completion in_progress finished done requested running error cancelled
    success failed_with_in_kernel_exception
""")

REFERENCES = (
    "citations", "content_references", "search_result_groups", "search_queries", "_cite_metadata", "image_results",
)  # fmt: skip
"""Metadata that names what an answer rests on."""


# How a tool's run went, what it changed in a canvas document, and the sources that an answer names.

_CREATE = "canmore.create_textdoc"
_UPDATE = "canmore.update_textdoc"
_WHOLE = ".*"
_SAYS = ("title", "url", "snippet", "text", "attribution", "q", "query", "name")
_MAX_REFERENCES = 400
_CANVAS = ("textdoc_id", "textdoc_type", "version", "title", "from_version", "create_source")


def failed(metadata: dict[str, Any], run: dict[str, Any]) -> bool | None:
    """Return False for a run that failed, True for one that succeeded, None where nothing says it.

    A message's own status tells only that it was delivered.
    """
    state = text(run.get("status")) or text(metadata.get("status"))
    if state.startswith("failed") or run.get("in_kernel_exception") or run.get("system_exception"):
        return False
    return True if state in ("success", "finished") else None


def structured_of(metadata: dict[str, Any], run: dict[str, Any], said: Said) -> dict[str, Any] | None:
    """Return what a result says beside its text; the code and the output of a run stand in call and text already."""
    found: dict[str, Any] = {}
    if run.get("status"):
        found["status"] = run["status"]
    broken = mapping(run.get("in_kernel_exception"))
    if broken:
        found["exception"] = {name: broken[name] for name in ("name", "args") if broken.get(name)}
    if run.get("system_exception"):
        found["system_exception"] = run["system_exception"]
    canvas = mapping(metadata.get("canvas"))
    if canvas:
        found["canvas"] = {name: canvas[name] for name in _CANVAS if canvas.get(name) is not None}
    for name in ("command", "args", "invoked_plugin"):
        if metadata.get(name):
            found[name] = metadata[name]
    if said.prompts:
        found["pictures"] = list(said.prompts)
    return found or None


_EVERYBODY = frozenset(("", "all", "assistant", "user"))
_TOOL = "tool:"
_REASONING = "analysis"
_MAX_CLIMB = 64


class Talk:
    """A conversation while it is read: its nodes, and which call asked for what came back."""

    __slots__ = ("given", "nodes", "tree")

    def __init__(self, tree: Tree, nodes: dict[str, dict[str, Any]]) -> None:
        self.tree = tree
        self.nodes = nodes
        self.given: dict[str, str] = {}
        """By node, the native id of the first event that it gave."""

    def message(self, key: str) -> dict[str, Any]:
        """Return the message of a node, an empty one if there is none."""
        return mapping(mapping(self.nodes.get(key)).get("message"))

    def above(self, key: str) -> str | None:
        """Return the event of the nearest message above that gave one."""
        climb = self.tree.ancestry(key, _MAX_CLIMB)
        next(climb, None)
        return next((self.given[above] for above in climb if above in self.given), None)

    def call_of(self, key: str, name: str) -> str:
        """Return the call that a tool's message answers: the nearest above of its tool, else the nearest of any."""
        climb = self.tree.ancestry(key, _MAX_CLIMB)
        next(climb, None)
        nearest = ""
        for above in climb:
            message = self.message(above)
            role = mapping(message.get("author")).get("role")
            if role == "user":
                break
            recipient = text(message.get("recipient"))
            if role == "assistant" and recipient not in _EVERYBODY:
                if recipient == name or recipient.partition(".")[0] == name.partition(".")[0]:
                    return above
                nearest = nearest or above
        return nearest


def read_message(reading: Reading[BaseState], key: str, message: dict[str, Any], talk: Talk) -> None:
    stamp(reading, message.get("create_time"), "create_time")
    author = reading.mapping(message, "author")
    metadata = reading.mapping(message, "metadata")
    role = text(author.get("role"))
    real = text(mapping(author.get("metadata")).get("real_author"))
    content = message.get("content")
    kind = text(mapping(content).get("content_type"))
    if kind and kind not in KNOWN:
        reading.unknown(f"content/{kind}", content, native_id=f"{key}/content")
    said = read_content(content) if not kind or kind in KNOWN else Said("")
    if role == "assistant" and not real.startswith(_TOOL):
        _read_assistant(reading, key, message, said)
    elif role in ("tool", "assistant"):
        _read_result(reading, key, message, said, talk)
    elif role in ("system", "developer"):
        # Emit a prompt; the one that every conversation begins with is empty. Instructions of the user may be metadata.
        is_users = metadata.get("is_user_system_message") is True
        context = mapping(metadata.get("user_context_message_data"))
        lines = [said.text, *(text(context.get(name)) for name in ("about_user_message", "about_model_message"))]
        words = "\n".join(line for line in lines if line)
        reading.say(kinds.Instructions(words, "custom instructions" if is_users else "system message"), native_id=key)
    elif role == "user":
        _read_user(reading, key, message, said)
    else:
        reading.unknown(f"message/{role or 'role'}", message, native_id=key)
    for n, odd in enumerate(said.odd, 1):
        kind_of_part = text(mapping(odd).get("content_type")) or type(odd).__name__
        reading.unknown(f"part/{kind_of_part}", odd, native_id=f"{key}/part/{n}")
    _read_rest(reading, key, message, author, metadata)


def _read_rest(
    reading: Reading[BaseState], key: str, message: dict[str, Any], author: dict[str, Any], metadata: dict[str, Any]
) -> None:
    """Emit what stands beside the words: sources, an interruption, and fields that are not known."""
    # The pages and files that an answer names: their title, address and excerpt, each once.
    found: dict[tuple[str, ...], dict[str, str]] = {}
    stack = [metadata[name] for name in reversed(REFERENCES) if metadata.get(name)]
    while stack and len(found) < _MAX_REFERENCES:
        value = stack.pop()
        if isinstance(value, list):
            stack.extend(reversed(value))
        elif isinstance(value, dict):
            one = {name: value[name] for name in _SAYS if isinstance(value.get(name), str) and value[name].strip()}
            if "url" in one or "q" in one or "query" in one or one.keys() >= {"name", "text"}:
                found.setdefault(tuple(one.values()), one)
            stack.extend(v for v in reversed(value.values()) if isinstance(v, dict | list))
    references = list(found.values())
    reading.note("references", detail=references, native_id=f"{key}/references")
    how = text(mapping(metadata.get("finish_details")).get("type"))
    if how == "interrupted":
        reading.add(kinds.Lifecycle("interrupted", text="the user stopped the answer"), native_id=f"{key}/interrupted")
    reading.odd_value("message.status", message.get("status"), STATUSES)
    reading.extra(message, _KNOWN["message"], "message", native_id=key)
    reading.extra(author, _KNOWN["author"], "author", native_id=key)
    reading.extra(metadata, _KNOWN["metadata"], "metadata", native_id=key)
    content = mapping(message.get("content"))
    known = KNOWN.get(text(content.get("content_type")))
    if known is not None:
        reading.extra(content, known, f"content_{content['content_type']}", native_id=key)


def _read_user(reading: Reading[BaseState], key: str, message: dict[str, Any], said: Said) -> None:
    """Emit what stands in the user's role: words, instructions that go along hidden, or what the page put in."""
    metadata = mapping(message.get("metadata"))
    content = mapping(message.get("content"))
    if content.get("content_type") == "user_editable_context":
        if said.text:
            reading.add(kinds.Instructions(said.text, "custom instructions"), native_id=key)
        return
    parts = (*said.parts, *attachments_of(metadata))
    hidden = metadata.get("is_visually_hidden_from_conversation") is True
    origin: kinds.Origin = "injected" if hidden else "human"
    if said.text or parts:
        reading.add(kinds.UserMessage(said.text, origin, parts), native_id=key)


def _read_assistant(reading: Reading[BaseState], key: str, message: dict[str, Any], said: Said) -> None:
    """Emit what the model said, thought, or asked of a tool: a message to a recipient other than everybody."""
    metadata = mapping(message.get("metadata"))
    content = mapping(message.get("content"))
    kind = text(content.get("content_type"))
    recipient = text(message.get("recipient"))
    if kind == "thoughts" or (message.get("channel") == _REASONING and recipient in _EVERYBODY):
        thought = thoughts_of(content) if kind == "thoughts" else said.text
        reading.say(kinds.Thinking(thought, key), native_id=f"{key}/thinking")
    elif kind == "reasoning_recap":
        reading.note("reasoning_recap", said.text, native_id=key)
    elif kind in ("model_editable_context", "user_editable_context"):
        if said.text:
            reading.add(kinds.Instructions(said.text, "memory"), native_id=key)
    elif recipient not in _EVERYBODY:
        asked = kinds.ToolCall(key, recipient, canonical_of(recipient), _arguments(kind, content, said), key)
        reading.add(asked, native_id=f"call:{key}")
    elif said.text or said.parts:
        answer = kinds.AssistantMessage(
            said.text,
            model=text(metadata.get("model_slug")),
            stop_reason=text(mapping(metadata.get("finish_details")).get("type")),
            message_id=key,
            parts=said.parts,
        )
        reading.add(answer, native_id=key)


def canonical_of(name: str) -> str:
    """Return the canonical name of a tool: of its whole name, else of what stands before the dot (`web.run`)."""
    found = canonical_tool(name)
    return found if found != "other" else canonical_tool(name.partition(".")[0])


def _arguments(kind: str, content: dict[str, Any], said: Said) -> dict[str, Any]:
    """Return what a tool was asked: the object that the text is, else the code or the words."""
    decoded = decode_object(said.text)
    if decoded is not None:
        return decoded
    if kind == "code":
        language = text(content.get("language"))
        return {"code": said.text, **({"language": language} if language not in ("", "unknown") else {})}
    return {"input": said.text}


def decode_object(words: str) -> dict[str, Any] | None:
    """Return the JSON object that a text is, or None."""
    found = decoded_json(words) if words.lstrip().startswith("{") else None
    return found if isinstance(found, dict) else None


def _read_result(reading: Reading[BaseState], key: str, message: dict[str, Any], said: Said, talk: Talk) -> None:
    """Emit what a tool gave back. Several messages may answer one call, each a page or a picture."""
    metadata = mapping(message.get("metadata"))
    author = mapping(message.get("author"))
    real = text(mapping(author.get("metadata")).get("real_author"))
    name = text(author.get("name")) or real.removeprefix(_TOOL)
    call_id = talk.call_of(key, name)
    run = mapping(metadata.get("aggregate_result"))
    begun, ended = number(run.get("start_time")), number(run.get("end_time"))
    is_error = mapping(message.get("content")).get("content_type") == "system_error"
    ok = False if is_error else failed(metadata, run)
    if ok is not False and call_id:
        asked = talk.message(call_id)
        arguments = decode_object(read_content(asked.get("content")).text) or {}
        # Emit what a call changed in a canvas document. A pattern of `.*` stands for all of it; others are as written.
        tool = text(asked.get("recipient"))
        canvas = mapping(metadata.get("canvas"))
        path = text(canvas.get("title")) or text(arguments.get("name")) or text(canvas.get("textdoc_id"))
        if tool == _CREATE and isinstance(arguments.get("content"), str):
            edit = kinds.FileEdit(path, "create", after=arguments["content"], call_id=call_id)
            reading.add(edit, native_id=f"edit:{key}:1")
        elif tool == _UPDATE:
            for n, found in enumerate(map(mapping, items(arguments.get("updates"))), 1):
                pattern, after = found.get("pattern"), found.get("replacement")
                before = pattern if isinstance(pattern, str) and pattern != _WHOLE else None
                edit = kinds.FileEdit(
                    path, "modify", before, after if isinstance(after, str) else None, call_id=call_id
                )
                reading.add(edit, native_id=f"edit:{key}:{n}")
    result = kinds.ToolResult(
        call_id=call_id,
        name=name,
        ok=ok,
        text=said.text,
        structured=structured_of(metadata, run, said),
        duration_ms=int((ended - begun) * 1000) if begun and ended and 0 <= ended - begun < 1e9 else None,
        parts=(*said.parts, *_pictures(run), *attachments_of(metadata)),
    )
    reading.add(result, native_id=f"result:{key}")


def _pictures(run: dict[str, Any]) -> tuple[kinds.Part, ...]:
    """Return the pictures that a program drew."""
    drawn = [mapping(one) for one in items(run.get("messages"))]
    return tuple(kinds.Part("image", url=text(one.get("image_url"))) for one in drawn if text(one.get("image_url")))


_NODE_KEYS = frozenset(("message", "parent", "children"))
_BRANCHED = "branching_from_conversation_id"


class ChatGPTAdapter(ExportAdapter, slug="chatgpt"):
    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`: a conversation with a `mapping` of nodes that hang on each other."""
        if b'"mapping"' not in head:
            return None
        found = first_element(head) or {}
        nodes = found.get("mapping")
        if not isinstance(nodes, dict) or not {"title", "create_time", "conversation_id"} & found.keys():
            return None
        node = next(iter(nodes.values()), None)
        is_empty = not nodes and bool({"current_node", "conversation_id"} & found.keys())
        return "conversations" if is_empty or (isinstance(node, dict) and node.keys() & _NODE_KEYS) else None

    def read(self, reading: Reading[BaseState]) -> None:
        conversation = conversation_of(reading)
        if conversation is None:
            read_odd(reading)
            return
        nodes = {key: mapping(node) for key, node in mapping(conversation.get("mapping")).items()}
        # Emit what is said of the conversation as a whole; its flags and its title may change with every export.
        stamp(reading, conversation.get("create_time"), "create_time")
        model = reading.text(conversation, "default_model_slug")
        reading.start(model="" if model == "auto" else model, originator="chatgpt", forked_from=_origin(nodes))
        reading.entitle(reading.text(conversation, "title"))
        about = {name: conversation[name] for name in ABOUT if conversation.get(name)}
        reading.note("conversation", detail=about, native_id="conversation")
        reading.extra(conversation, CONVERSATION, "conversation", native_id="start")
        if not isinstance(conversation.get("mapping"), dict):
            reading.wrong("mapping")
            reading.kept("mapping", conversation.get("mapping") or "", native_id="mapping")
        parents = {key: text(node.get("parent")) for key, node in nodes.items()}
        listed = {
            key: [child for child in items(node.get("children")) if isinstance(child, str)]
            for key, node in nodes.items()
        }
        talk = Talk(Tree(parents, listed, text(conversation.get("current_node"))), nodes)
        read_tree(reading, talk.tree, talk.given, talk.above, lambda key: _read_node(reading, key, talk))


def _read_node(reading: Reading[BaseState], key: str, talk: Talk) -> None:
    node = talk.nodes[key]
    message = node.get("message")
    if isinstance(message, dict):
        read_message(reading, key, message, talk)
    elif message is not None:
        reading.wrong("message")
        reading.unknown("message", message, native_id=key)
    reading.extra(node, NODE, "node", native_id=key)


def _origin(nodes: dict[str, dict[str, Any]]) -> str:
    """Return the conversation that this one was branched from, which stands on one of its messages."""
    for node in nodes.values():
        origin = mapping(mapping(node.get("message")).get("metadata")).get(_BRANCHED)
        if isinstance(origin, str) and origin:
            return origin
    return ""
