"""Text in the user's role: what the person asked, and what Cursor wrote around it.

Transcripts and the command line's store wrap the question in `<user_query>` and put the time, the machine, open files
and rules beside it. Evidence: format notes: Cursor, stores B and C.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.agents.cursor.state import Step, give_cwd, named
from recollect.model.payloads import Part, UserMessage

_QUERY = re.compile(r"<user_query>(.*?)(?:</user_query>|\Z)", re.DOTALL)
_TIME = re.compile(r"<timestamp>(.*?)</timestamp>", re.DOTALL)
_SPOKEN_TIME = re.compile(
    r"(?:\w+, )?(\w{3})\w* (\d{1,2}), (\d{4}),? (\d{1,2}):(\d\d) ?(AM|PM) ?\(?(?:UTC|GMT)([+-]\d{1,2})?(?::?(\d\d))?\)?"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_HARNESS = re.compile(
    r"\s*<(?:user_info|system_reminder|system-reminder|rules|user_rules|always_applied_workspace_rules|git_status|"
    r"project_layout|open_and_recently_viewed_files|agent_transcripts|agent_skills|mcp_file_system|attached_files|"
    r"additional_data|context|conversation_summary|environment_context|system_notification)\b"
)
_WORKSPACE = re.compile(r"^\s*Workspace Path: (.+?)\s*$", re.MULTILINE)


class Prompt(NamedTuple):
    """A user text taken apart: the person's words, the harness's, and the time that stands beside them."""

    human: str
    injected: str
    at: str


def split_prompt(said: str) -> Prompt:
    """Take a user text apart. Without the wrapping tag it is the person's, unless it starts with one of the harness."""
    time = _TIME.search(said)
    at = time[1].strip() if time else ""
    rest = _TIME.sub("", said) if time else said
    asked = [q.strip() for q in _QUERY.findall(rest)]
    if asked:
        return Prompt("\n".join(filter(None, asked)), _QUERY.sub("", rest).strip(), at)
    if _HARNESS.match(rest):
        return Prompt("", rest.strip(), at)
    return Prompt(rest.strip() if time else rest, "", at)


def iso_of(spoken: str) -> str:
    """Return "Saturday, Mar 7, 2026, 3:12 PM (UTC-8)" as an ISO time; any other text as it is."""
    found = _SPOKEN_TIME.fullmatch(spoken)
    if found is None or found[1] not in _MONTHS:
        return spoken
    hour = int(found[4]) % 12 + (12 if found[6] == "PM" else 0)
    offset = int(found[7] or 0)
    zone = f"{'-' if offset < 0 else '+'}{abs(offset):02}:{found[8] or '00'}"
    month = _MONTHS.index(found[1]) + 1
    return f"{found[3]}-{month:02}-{int(found[2]):02}T{hour:02}:{found[5]}:00{zone}"


def give_prompt(step: Step, said: str, parts: tuple[Part, ...] = ()) -> str:
    """Give a user text of a store without ids: the harness's part first. Return the person's message's name."""
    prompt = split_prompt(said)
    if prompt.at:
        step.date(iso_of(prompt.at))
    if prompt.injected:
        step.add(UserMessage(prompt.injected, "injected"), "user", native_id=named(step, "context", prompt.injected))
        workspace = _WORKSPACE.search(prompt.injected)
        if workspace:
            give_cwd(step, workspace[1])
    if not prompt.human and not parts:
        return ""
    name = named(step, "ask", prompt.human)
    step.add(UserMessage(prompt.human, parts=parts), "user", native_id=name)
    return name
