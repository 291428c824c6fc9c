"""Images and files as the UI log names them: data URLs and paths."""

from __future__ import annotations

from typing import Any

from recollect.agents.kit.access import items
from recollect.agents.kit.cline.state import ClineReading
from recollect.agents.kit.content.anthropic import base64_part, without_opaque
from recollect.model.payloads import Json, Part

_MAX_DEPTH = 8
_OPAQUE = frozenset(("screenshot", "imageData"))


def row_parts(reading: ClineReading, row: dict[str, Any]) -> tuple[Part, ...]:
    """Return the images (data URLs) and files (paths) of a row of the UI log."""
    parts: list[Part] = []
    for url in items(row.get("images")):
        part = data_url_part(url)
        if part is None:
            reading.wrong("images")
        else:
            parts.append(part)
    parts += [Part("file", path=path) for path in items(row.get("files")) if isinstance(path, str)]
    return tuple(parts)


def data_url_part(url: object) -> Part | None:
    """Return an image of a data URL or another URL; None for anything else."""
    if not isinstance(url, str):
        return None
    if not url.startswith("data:"):
        return Part("image", url=url) if len(url) <= 4096 else None
    media_type, _, data = url[5:].partition(";base64,")
    part, is_readable = base64_part("image", media_type[:100], data)
    return part if is_readable and data else None


def readable(value: Json, depth: int = 0) -> Json:
    """Return decoded JSON without screenshots and other encoded bytes."""
    if depth == 0:
        value = without_opaque(value)
    if depth >= _MAX_DEPTH:
        return value
    if isinstance(value, dict):
        return {k: readable(v, depth + 1) for k, v in value.items() if k not in _OPAQUE and not _is_data(v)}
    if isinstance(value, list):
        return [readable(v, depth + 1) for v in value if not _is_data(v)]
    return value


def _is_data(value: object) -> bool:
    return isinstance(value, str) and value.startswith("data:image/")
