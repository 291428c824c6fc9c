"""The state of the last run, and what a list of chats shows, beside the messages."""

from __future__ import annotations

from recollect.agents.codebuff.state import Reading
from recollect.agents.kit.values import number, text
from recollect.model.payloads import Lifecycle, SessionStart, TokenUsage

_RUN_FIELDS = frozenset(("sessionState", "output", "traceSessionId"))
_META_FIELDS = frozenset(("messageCount", "firstPrompt", "messagesSize", "messagesMtimeMs", "version", "updatedAt"))
_USD_PER_CREDIT = 0.01


def read_run(reading: Reading) -> None:
    """Give the folder, the agent and the credits of the run. The rest is context, and the messages again."""
    session = reading.mapping(reading.value, "sessionState")
    agent, files = reading.mapping(session, "mainAgentState"), reading.mapping(session, "fileContext")
    kind = text(agent.get("agentType"))
    cwd = text(files.get("cwd")) or text(files.get("projectRoot"))
    reading.add(SessionStart(cwd=cwd, originator="freebuff" if "free" in kind.lower() else ""), native_id="run/start")
    if kind:
        reading.add(Lifecycle("mode", text=kind), native_id="mode")
    spent = number(agent.get("creditsUsed"))
    if spent:
        # The messages have credits of their own, so the total of all is not added to them.
        key = f"codebuff:{reading.state.session}"
        usage = TokenUsage(cost_usd=spent * _USD_PER_CREDIT, dedupe_key=key, is_additive=False)
        reading.add(usage, native_id="usage")
    reading.extra(reading.value, _RUN_FIELDS, "run-state", native_id="run")


def read_meta(reading: Reading) -> None:
    """Give the title of a chat: its first prompt."""
    reading.entitle(reading.text(reading.value, "firstPrompt"))
    reading.extra(reading.value, _META_FIELDS, "chat-meta", native_id="meta")
