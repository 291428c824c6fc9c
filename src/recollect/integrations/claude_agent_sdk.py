"""Callbacks for the Claude Agent SDK for Python, so that your own agents are remembered too.

    from claude_agent_sdk import ClaudeAgentOptions
    from recollect.integrations.claude_agent_sdk import hooks

    options = ClaudeAgentOptions(hooks=hooks())

The callbacks are the hook (`recollect.hook`) inside your program: each leaves its input as a drop in the spool, and the
next sync takes it in. They never raise, never decide anything, and return within `timeout_s`: the SDK takes a callback
that takes too long before a prompt for a refusal. The SDK has no callback for a session's start, so with `context=True`
the context for it is given with the first prompt of each session.
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from recollect.hook import event_file
from recollect.hook.answer import HookCall, answer
from recollect.paths import SPOOL_FOLDER, home_dir
from recollect.processes import own_command
from recollect.wire import INTERNAL_VARIABLE, MAX_EVENT_BYTES

if TYPE_CHECKING:
    from claude_agent_sdk import HookMatcher  # type: ignore[import-not-found]  # no dependency of ours

TIMEOUT_S = 2.0
"""How long the SDK waits for a callback. Its own default is a minute, and running into it before a prompt blocks it."""
EVENTS = (
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
)
"""What is remembered. Not PreToolUse: what was asked stands in the events after a tool, and nothing may hold it up."""
_AGENT = "claude"
_SHARE = 0.75
"""Of the time that the SDK allows, what a callback takes at most."""
_MAX_SESSIONS = 4096

Callback = Callable[[Mapping[str, Any], "str | None", Any], Awaitable[dict[str, Any]]]


def hooks(
    *, context: bool = False, home: str | os.PathLike[str] | None = None, timeout_s: float = TIMEOUT_S
) -> dict[str, list[HookMatcher]]:
    """Return what `ClaudeAgentOptions(hooks=…)` takes; add your own matchers to its lists.

    Args:
        context: give each session what is known of its repository with its first prompt.
        home: the memory's home; by default the user's own.
        timeout_s: how long the SDK waits for a callback, in seconds.
    Raises:
        ImportError: the package `claude-agent-sdk` is not installed.
    """
    from claude_agent_sdk import HookMatcher

    callback = make_callback(context=context, home=home, timeout_s=timeout_s)
    return {event: [HookMatcher(matcher=None, hooks=[callback], timeout=timeout_s)] for event in EVENTS}


def make_callback(
    *, context: bool = False, home: str | os.PathLike[str] | None = None, timeout_s: float = TIMEOUT_S
) -> Callback:
    """Return the one callback for every event, for those who register it themselves; arguments as of `hooks`.

    It returns `{}`, or the context for a first prompt; it never raises, except that a cancelled task stays cancelled.
    """
    import anyio  # what the SDK itself runs on
    import anyio.to_thread

    folder = os.path.abspath(home_dir() if home is None else home)
    greeted: dict[str, None] = {}
    limit_s = timeout_s * _SHARE

    async def callback(event: Mapping[str, Any], tool_use_id: str | None, _context: Any) -> dict[str, Any]:
        try:
            session = _text(event, "session_id")
            is_first = context and _text(event, "hook_event_name") == "UserPromptSubmit" and session not in greeted
            if is_first:
                greeted[session] = None
                if len(greeted) > _MAX_SESSIONS:
                    del greeted[next(iter(greeted))]
            take = partial(_take, dict(event), tool_use_id, folder, limit_s if is_first else 0.0)
            # What is under way goes on in its thread: the drop is written also when nobody waits for it any more.
            with anyio.fail_after(limit_s):
                return await anyio.to_thread.run_sync(take, abandon_on_cancel=True)
        except Exception:  # noqa: BLE001 - the hook: the agent continues, whatever went wrong in here
            return {}

    return callback


def _take(event: dict[str, Any], tool_use_id: str | None, home: str, seconds: float) -> dict[str, Any]:
    """Leave a drop, and return the answer to an event. seconds: for context; 0: none is wanted."""
    if os.environ.get(INTERNAL_VARIABLE):
        return {}
    if tool_use_id and not event.get("tool_use_id") and "tool_name" in event:
        event["tool_use_id"] = tool_use_id
    payload = json.dumps(event, default=str).encode("utf-8", "surrogatepass")
    spool = os.path.join(home, SPOOL_FOLDER)
    if len(payload) > MAX_EVENT_BYTES:
        event_file.lose(spool, _AGENT)
        return {}
    event_file.keep(spool, _AGENT, payload)
    if not seconds:
        return {}
    call = HookCall(_AGENT, "start", payload, home=home, program=own_command(), is_alone=False)
    said = answer(call, seconds=seconds * 0.9)
    if not said:
        return {}
    # The context for a session's start is given in the answer to its first prompt.
    text = json.loads(said)["hookSpecificOutput"]["additionalContext"]
    return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}


def _text(event: Mapping[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""
