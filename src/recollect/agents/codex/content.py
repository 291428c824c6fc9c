"""Message content: text and images, and what of it the harness put in rather than a person."""

from __future__ import annotations

import binascii
import hashlib
import re

from recollect.agents.codex.step import Step
from recollect.agents.kit.drift import note_fields, note_type
from recollect.model.payloads import Json, Part
from recollect.model.text import flatten

_MAX_URL = 2048
_OPAQUE_LINE = 2048
_DATA_URL = re.compile(r"data:([\w.+/-]*)(?:;[\w=.+-]*)*?;base64,")
_IMAGE_TAG = re.compile(r"\s*</?image\b[^<>]*>\s*")
_TAG = re.compile(r"<([A-Za-z][\w-]*(?: instructions)?)\b[^<>]*>")
_INJECTED_TAGS = frozenset(
    (
        "environment_context",
        "user_instructions",
        "INSTRUCTIONS",
        "permissions instructions",
        "apps_instructions",
        "skills_instructions",
        "plugins_instructions",
        "recommended_plugins",
        "collaboration_mode",
        "personality_spec",
        "model_switch",
        "turn_aborted",
        "turn_context",
        "subagent_notification",
        "subagent_context",
        "skill",
        "skills",
        "user_shell_command",
        "user_action",
        "hook_prompt",
        "realtime_conversation",
        "goal_context",
        "codex_internal_context",
    )
)
_BLOCKS = frozenset(
    (
        "input_text output_text text summary_text reasoning_text encrypted_content input_image image local_image "
        "local_audio input_audio audio input_file skill mention Text inputText inputImage resource resource_link"
    ).split()
)
"""Content blocks of the model, of the interface (`Text`, `local_image`, `skill`) and of MCP tools."""
_BLOCK_FIELDS = frozenset(
    (
        "type text image_url imageUrl detail data mimeType path name encrypted_content annotations logprobs "
        "text_elements hookRunId uri resource title description size _meta file_id filename input_audio"
    ).split()
)
_INJECTED_STARTS = (
    ("# AGENTS.md instructions", "AGENTS.md"),
    ("Another language model started to solve this problem", "compaction_summary"),
)
INSTRUCTION_SOURCES = frozenset(
    (
        "AGENTS.md",
        "user_instructions",
        "INSTRUCTIONS",
        "permissions instructions",
        "apps_instructions",
        "skills_instructions",
        "plugins_instructions",
        "collaboration_mode",
        "personality_spec",
        "model_switch",
    )
)
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


def read_content(step: Step, content: Json) -> tuple[list[str], tuple[Part, ...]]:
    """Return the texts and the other parts of message content: a string, a list of blocks, or one block."""
    if isinstance(content, str):
        return ([content] if content else []), ()
    if isinstance(content, dict):
        content = [content]
    texts: list[str] = []
    parts: list[Part] = []
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


def _read_block(step: Step, block: dict[str, Json], texts: list[str], parts: list[Part]) -> None:
    kind = block.get("type")
    if isinstance(kind, str) and kind not in _BLOCKS:
        note_type(step.drift, f"content/{kind}")
    elif kind is not None:
        note_fields(step.drift, block, _BLOCK_FIELDS, "content")
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
        parts.append(Part(type="image", path=step.text(block["path"], "path")))
    elif block.get("encrypted_content") is not None:
        text = readable_secret(block["encrypted_content"])
        if text:
            texts.append(text)
    elif block.get("type") not in ("input_image", "image"):
        text = readable(block)
        if text:
            texts.append(text)


def image_of_url(step: Step, url: str) -> Part:
    """Return an image part of a `data:` or other URL, without the image's bytes."""
    head = _DATA_URL.match(url)
    if head is None:
        return Part(type="image", url=url[:_MAX_URL])
    return image_of_base64(step, url[head.end() :], head[1])


def image_of_base64(step: Step, data: str, media_type: str) -> Part:
    """Return an image part of base64 text: the hash and the number of the decoded bytes."""
    try:
        decoded = binascii.a2b_base64(data)
    except ValueError:  # binascii.Error, or text that is not ASCII
        step.defect("bad_image", f"{len(data)} characters are not base64")
        return Part(type="image", media_type=media_type)
    sha256 = hashlib.sha256(decoded).hexdigest()
    return Part(type="image", sha256=sha256, media_type=media_type, bytes=len(decoded))


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
