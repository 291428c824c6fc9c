"""What was said: by people, by the model, in its reasoning. Each is written twice; one of the two is given.

Canonical is whichever comes first: the texts are the same, and nobody knows whether the other will follow (old and
trimmed files have one channel only). Evidence: format notes: Codex, representation.
"""

from __future__ import annotations

from recollect.agents.codex.content import (
    INSTRUCTION_SOURCES,
    image_of_url,
    injected_source,
    read_content,
    readable_secret,
    without,
)
from recollect.agents.codex.step import ASSISTANT, EVENT, ITEM, THINKING, USER, Step, is_twin
from recollect.agents.kit.drift import note_value
from recollect.model.payloads import AssistantMessage, Instructions, Json, Lifecycle, Part, Thinking, UserMessage

_ROLES = frozenset(("user", "assistant", "developer", "system"))


def item_message(step: Step, payload: dict[str, Json]) -> None:
    """A `message` item: role user, assistant, developer or system."""
    role = step.text(payload.get("role"), "role")
    note_value(step.drift, "response_item/message.role", role, _ROLES)
    texts, parts = read_content(step, payload.get("content"))
    if role == "assistant":
        say(step, texts, parts, channel=ITEM, message_id=step.text(payload.get("id"), "id"))
    elif role == "user":
        _item_user(step, texts, parts)
    else:
        for text in texts:
            instruct(step, text, role or "message")


def _item_user(step: Step, texts: list[str], parts: tuple[Part, ...]) -> None:
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
            step.emit(UserMessage(text=text, origin="injected"), "user")
    if words or parts or not texts:
        ask(step, words, parts, channel=ITEM)


def ask(step: Step, texts: list[str], parts: tuple[Part, ...], *, channel: int) -> None:
    """Give a person's message unless its twin was given."""
    # The event joins the item's texts without a separator.
    if (texts or parts) and not is_twin(step, "".join(texts), USER, channel):
        step.set(compactions=())
        step.emit(UserMessage(text="\n".join(texts), parts=parts), "user")


def event_user_message(step: Step, payload: dict[str, Json]) -> None:
    """`user_message`: the clean words of a person, with images as URLs and as local paths."""
    text = step.text(payload.get("message"), "message")
    parts = [image_of_url(step, step.text(url, "images")) for url in step.items(payload.get("images"), "images")]
    for key, kind in (("local_images", "image"), ("local_audio", "audio")):
        parts += [Part(type=kind, path=step.text(path, key)) for path in step.items(payload.get(key), key)]
    ask(step, [text] if text else [], tuple(parts), channel=EVENT)


def completed_user_message(step: Step, item: dict[str, Json]) -> None:
    """A UserMessage item of the paginated mode."""
    texts, parts = read_content(step, item.get("content"))
    ask(step, texts, parts, channel=EVENT)


def hook_prompt(step: Step, item: dict[str, Json]) -> None:
    """A HookPrompt item: text that a hook put into the user's role."""
    texts, _ = read_content(step, item.get("fragments", item.get("content")))
    step.emit(UserMessage(text="\n".join(texts), origin="injected"), "user")


def event_agent_message(step: Step, payload: dict[str, Json]) -> None:
    """`agent_message` of the interface: one text of the model."""
    text = step.text(payload.get("message"), "message")
    say(step, [text] if text else [], (), channel=EVENT)


def completed_agent_message(step: Step, item: dict[str, Json]) -> None:
    """An AgentMessage item of the paginated mode."""
    texts, parts = read_content(step, item.get("content"))
    say(step, texts, parts, channel=EVENT)


def say(step: Step, texts: list[str], parts: tuple[Part, ...], *, channel: int, message_id: str = "") -> None:
    """Give the model's texts that were not given yet, as one message. The interface tells one event per text."""
    fresh = [t for t in texts if not is_twin(step, t, ASSISTANT, channel)]
    if fresh or (parts and not texts):
        text = "\n".join(fresh)
        model = step.state.model
        step.emit(AssistantMessage(text=text, model=model, message_id=message_id, parts=parts), "assistant")


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
            step.emit(Thinking(text=plain, message_id=message_id, is_encrypted=not plain), "assistant")
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
    """Give the parts of the reasoning that were not given yet, as one event."""
    fresh = [t for t in texts if not is_twin(step, t, THINKING, channel)]
    if fresh:
        step.emit(Thinking(text="\n\n".join(fresh), message_id=message_id), "assistant")


def item_agent_message(step: Step, payload: dict[str, Json]) -> None:
    """An `agent_message` item: one agent writes to another (trap 7: not the event of the same name)."""
    texts, _ = read_content(step, payload.get("content"))
    detail = without(payload, "content", "id", "metadata", "internal_chat_message_metadata_passthrough")
    step.emit(Lifecycle(name="subagent", text="\n".join(texts), detail=detail))


def instruct(step: Step, text: str, source: str) -> None:
    """Give instructions once per source, however often the harness repeats them."""
    if text and step.is_new_instruction(text):
        step.emit(Instructions(text=text, source=source))
