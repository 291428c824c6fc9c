"""What a message says, by the type of its content: text, pictures and what a page or a program gave."""

from __future__ import annotations

from typing import Any, NamedTuple

from recollect.agents.kit.access import items, mapping, text, whole
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.model.payloads import Part
from recollect.model.text import flatten

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
_UNSAID = frozenset(
    ("tether_id", "computer_id", "language", "response_format_name", "source_analysis_msg_id", "ref_id")
)
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
    parts: tuple[Part, ...] = ()
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
    parts: list[Part] = []
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


def attachments_of(metadata: dict[str, Any]) -> tuple[Part, ...]:
    """Return the files that were uploaded with a message. Their bytes are files of their own in the export."""
    return tuple(
        Part(
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
    parts: list[Part] = []
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


def _media(one: dict[str, Any]) -> list[Part]:
    """Return a picture or a recording; one of a call with its sound, its video and the frames of it."""
    kind = text(one.get("content_type"))
    if kind == "real_time_user_audio_video_asset_pointer":
        inside: list[Any] = []
        for name in _NESTED:
            value = one.get(name)
            inside += value if isinstance(value, list) else [value]
        nested = [part for value in inside for part in _media(mapping(value))]
        return nested or [Part(type="audio")]
    if kind not in _MEDIA:
        return []
    size = max(0, whole(one.get("size_bytes")) or 0)
    return [Part(_MEDIA[kind], media_type=text(one.get("format")), bytes=size, url=text(one.get("asset_pointer")))]
