"""Text in the user's role, taken apart: what a person wrote stands in tags, the rest is the harness's.

Evidence: format notes: Cline / Roo / Kilo, "Records".
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TAG = re.compile(
    r"<(?:(task|feedback|user_message|answer|user_input)(?: [^<>\n]{0,200})?"
    r"|(environment_details|SYSTEM_NOTICE|mode_notice|explicit_instructions|hook_context)(?: [^<>\n]{0,200})?)>"
)
_CWD = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,4000}?)\)(?: Files)?$", re.M)
_ISO_TIME = re.compile(r"ISO 8601 UTC format: (\d{4}-\d\d-\d\dT[\d:.]{5,20}Z)")
_LOCAL_TIME = re.compile(
    r"# Current Time\n(\d{1,2})/(\d{1,2})/(\d{4}), (\d{1,2}):(\d\d):(\d\d)[ \u202f]?(AM|PM)? "
    r"\([^\n()]{1,80}, UTC([+-])(\d{1,2})(?::(\d\d))?\)"
)
_HARNESS = (
    "[TASK RESUMPTION]", "[ERROR]", "<environment_details>", "# task_progress", "# Task Progress", "# TODO LIST",
    "[NOTE]", "New message to respond to with ", "The user made the following updates", "Tool [", "[SYSTEM",
)  # fmt: skip
"""How texts begin that the harness writes without tags."""


class Said(NamedTuple):
    """A piece of a user message. is_tagged: it stood in a tag that only human text stands in."""

    text: str
    is_human: bool
    is_tagged: bool = False


def pieces(written: str) -> list[Said]:
    """Return the pieces of a text in order, without the tags around human text. Blank ones are left out."""
    found: list[Said] = []
    at = 0
    while tag := _TAG.search(written, at):
        human, notice = tag[1], tag[2]
        close = f"</{human or notice}>"
        end = written.find(close, tag.end())
        end = len(written) if end < 0 else end
        _append(found, written[at : tag.start()])
        if human:
            said = written[tag.end() : end].strip()
            found += [Said(said, True, True)] if said else []
        else:
            found.append(Said(written[tag.start() : end + len(close)].strip(), False))
        at = end + len(close)
    _append(found, written[at:])
    return found


def tagged(written: str) -> list[str]:
    """Return only what stands in tags around human text: a person's words inside a tool's result."""
    return [piece.text for piece in pieces(written) if piece.is_tagged] if "<" in written else []


def is_harness(written: str) -> bool:
    """Say whether a text without tags begins as the harness's texts do."""
    return written.lstrip().startswith(_HARNESS)


def cwd_in(written: str) -> str:
    """Return the working directory that environment details name, "" where they name none."""
    found = _CWD.search(written[:20_000])
    return found[1] if found else ""


def time_in(written: str) -> str | None:
    """Return the time that environment details name, as ISO 8601 with its offset; None where they name none."""
    iso = _ISO_TIME.search(written)
    if iso:
        return iso[1]
    local = _LOCAL_TIME.search(written)
    if local is None:
        return None
    month, day, year, hour, minute, second, half, sign, offset_hours, offset_minutes = local.groups()
    hours = int(hour) % 12 + (12 if half == "PM" else 0) if half else int(hour)
    offset = f"{sign}{int(offset_hours):02d}:{offset_minutes or '00'}"
    return f"{year}-{int(month):02d}-{int(day):02d}T{hours:02d}:{minute}:{second}{offset}"


def _append(found: list[Said], between: str) -> None:
    said = between.strip()
    if said:
        found.append(Said(said, not is_harness(said)))
