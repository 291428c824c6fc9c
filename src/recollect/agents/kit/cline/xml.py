"""Tool calls of older versions: XML in the model's text, and results without ids in the next user message."""

from __future__ import annotations

import re
from typing import NamedTuple

_TOOLS = frozenset(
    (
        "execute_command read_file write_to_file replace_in_file apply_diff insert_content search_and_replace "
        "search_files list_files list_code_definition_names browser_action use_mcp_tool access_mcp_resource "
        "ask_followup_question attempt_completion plan_mode_respond act_mode_respond new_task condense report_bug "
        "load_mcp_documentation web_fetch web_search summarize_task switch_mode fetch_instructions codebase_search "
        "update_todo_list generate_image run_slash_command edit_file delete_file new_rule use_subagents use_skill "
        "skill apply_patch"
    ).split()
)
_OPEN = re.compile(r"<([a-z_]{3,40})>")
_RESULT = re.compile(r"\[([a-z_]{3,40})((?: for |\b)[^\n]{0,4000}?)?\] Result:[ \t]*\n?")
_THINKING = re.compile(r"</?thinking>\s?")


class XmlCall(NamedTuple):
    """One call as it was written."""

    name: str
    arguments: dict[str, str]


def taken_apart(written: str) -> tuple[str, list[XmlCall]]:
    """Return what the model said without its calls and without the tags around its thinking, and the calls.

    What it thought stays in the text, as the UI log has it.
    """
    said: list[str] = []
    calls: list[XmlCall] = []
    at = start = 0
    while tag := _OPEN.search(written, at):
        at = tag.end()
        if tag[1] not in _TOOLS:
            continue
        close = f"</{tag[1]}>"
        end = written.find(close, at)
        body = written[at:] if end < 0 else written[at:end]
        said.append(written[start : tag.start()])
        calls.append(XmlCall(tag[1], _parameters(body)))
        at = start = len(written) if end < 0 else end + len(close)
    said.append(written[start:])
    return _THINKING.sub("", "".join(said)).strip(), calls


def result_head(written: str) -> tuple[str, str] | None:
    """Return (tool, the rest) of a text that begins a result: `[read_file for 'a.py'] Result:`."""
    found = _RESULT.match(written)
    return (found[1], written[found.end() :]) if found else None


def _parameters(body: str) -> dict[str, str]:
    """Return the parameters of a call. The last closing tag ends one: content may hold tags of its own."""
    found: dict[str, str] = {}
    at = 0
    while tag := _OPEN.search(body, at):
        close = f"</{tag[1]}>"
        is_long = tag[1] in ("content", "diff", "result", "arguments", "args")
        end = body.rfind(close, tag.end()) if is_long else body.find(close, tag.end())
        value = body[tag.end() :] if end < 0 else body[tag.end() : end]
        found[tag[1]] = value.strip("\n") if is_long else value.strip()
        at = len(body) if end < 0 else end + len(close)
    return found
