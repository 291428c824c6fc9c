"""Payloads of hooks in, events out: the adapter of the files that `ingest.spooled_events` writes. Pure.

A record is `{"drop", "agent", "host", "session", "at_us", "again"?, "payload"}`: what a hook was given, and when. Names
are made of the agent's own ids where it has some (`call:<id>`, `prompt:<id>:<text>`), so that a payload that came twice
names the same event; else of the drop. A change here needs a higher `DERIVATION`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.agents.kit.access import mapping, text, whole
from recollect.agents.kit.adapter import first_line_name, read_odd
from recollect.agents.kit.content.anthropic import without_opaque
from recollect.agents.kit.hooks import spelling as say
from recollect.agents.kit.naming import NamingState, content_sha256, numbered, short_name
from recollect.agents.kit.reading import Reading
from recollect.model.capabilities import AgentFacts, HookFacts
from recollect.model.ids import OWN_CALL_ID
from recollect.model.payloads import (
    AssistantMessage,
    Compaction,
    Lifecycle,
    Origin,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from recollect.model.records import Parsed, Record, SourceInfo
from recollect.model.text import flatten
from recollect.model.tools import canonical_tool

_BEGINNINGS = frozenset(("", "startup", "new"))


class HookState(NamingState, frozen=True, gc=False, omit_defaults=True):
    """compaction: the name of one that began and has not ended."""

    compaction: str = ""


Step = Reading[HookState]


class HookReader:
    """The adapter of an agent's payloads."""

    state_type = HookState

    def __init__(self, facts: AgentFacts, hooks: HookFacts) -> None:
        self.facts = facts
        self._hooks = hooks
        self._readers = {
            "start": self._start, "end": self._end, "prompt": self._prompt, "call": self._call, "result": self._result,
            "failure": self._result, "reply": self._reply, "subagent": self._subagent, "compaction": self._compaction,
            "compacted": self._compacted, "notice": self._notice,
        }  # fmt: skip

    def recognise(self, path: str, head: bytes) -> str | None:
        """See `Adapter.recognise`. These files are known by their place."""
        del path, head
        return None

    def source_key(self, info: SourceInfo) -> str:
        """See `Adapter.source_key`."""
        return info.place

    def identify(self, info: SourceInfo, head: bytes) -> str:
        """See `Adapter.identify`: the session that the records name."""
        del info
        try:
            named = text(mapping(msgspec.json.decode(head.partition(b"\n")[0])).get("session"))
        except (ValueError, RecursionError):
            named = ""
        return named or first_line_name(head)

    def begin(self, info: SourceInfo) -> HookState:
        """See `Adapter.begin`."""
        return HookState(session=info.session, role=info.role, name=info.name)

    def parse(self, record: Record, state: HookState) -> Parsed[HookState]:
        """See `Adapter.parse`."""
        step: Step = Reading(record, state)
        payload = say.payload_of(step.value.get("payload"))
        if not payload:
            read_odd(step)
            return step.finish()
        drop = text(step.value.get("drop")) or content_sha256(step.value)
        at = whole(step.value.get("at_us"))
        step.infer(at)
        if payload.get("timestamp") not in (None, ""):
            step.date(payload["timestamp"])
        self._begin_session(step, payload)
        kind = say.kind_of(payload)
        if kind is None:
            step.unknown(say.event_of(payload) or "payload", payload, native_id=drop)
        else:
            self._readers[kind](step, payload, drop)
        self._place(step, payload)
        return step.finish()

    def _place(self, step: Step, payload: dict[str, Any]) -> None:
        """Put what a subagent did into its own session, where it has one."""
        agent = text(payload.get("agent_id"))
        if not agent or say.kind_of(payload) == "subagent":
            return
        if not self._hooks.subagent:
            step.events[:] = [msgspec.structs.replace(draft, is_sidechain=True) for draft in step.events]
            return
        session = self._hooks.subagent.format(session=step.state.session, agent=short_name(agent))
        step.events[:] = [
            draft if isinstance(draft.payload, SessionStart) else msgspec.structs.replace(draft, session=session)
            for draft in step.events
        ]

    @staticmethod
    def _begin_session(step: Step, payload: dict[str, Any]) -> None:
        if step.now("is_started"):
            return
        step.set(is_started=True)
        begun = SessionStart(
            cwd=say.cwd_of(payload),
            model=say.first_text(payload, say.MODEL),
            parent_session=text(payload.get("parent_session_id")),
        )
        step.add(begun, native_id="start")

    @staticmethod
    def _start(step: Step, payload: dict[str, Any], drop: str) -> None:
        source = say.first_text(payload, say.SOURCE)
        if source in _BEGINNINGS and step.index == 0:
            return  # that it began is said already
        detail = {"source": source} if source else None
        cwd, model = say.cwd_of(payload), say.first_text(payload, say.MODEL)
        begun = Lifecycle("hook", text=f"session start: {source}", detail=detail, cwd=cwd, model=model)
        step.add(begun, native_id=f"begin:{drop}")

    @staticmethod
    def _end(step: Step, payload: dict[str, Any], drop: str) -> None:
        step.add(SessionEnd(text(payload.get("reason"))), native_id=f"end:{drop}")

    def _prompt(self, step: Step, payload: dict[str, Any], drop: str) -> None:
        said = say.first_text(payload, say.PROMPT)
        named = say.first_text(payload, say.PROMPT_ID)
        name = f"prompt:{short_name(named)}:{content_sha256(said)}" if named else f"prompt:{drop}"
        is_persons = not self._hooks.has_other_prompts or bool(text(payload.get("submitted_prompt")))
        origin: Origin = "injected" if not is_persons else "command" if said.startswith("/") else "human"
        step.add(UserMessage(said, origin), "user", native_id=name)

    def _call(self, step: Step, payload: dict[str, Any], drop: str) -> None:
        self._give_call(step, payload, is_after=False)
        del drop

    def _result(self, step: Step, payload: dict[str, Any], drop: str) -> None:
        del drop
        call_id, tool = self._give_call(step, payload, is_after=True)
        response = say.response_of(payload)
        error = payload.get("error") or mapping(response).get("error")
        code = whole(mapping(response).get("exit_code", mapping(response).get("exitCode", payload.get("exit_code"))))
        is_failed = bool(error) or bool(code) or mapping(response).get("resultType") in ("failure", "denied")
        said = say.response_text(without_opaque(response))
        if error and not said:
            said = error if isinstance(error, str) else flatten(error)
        ok = False if is_failed or say.kind_of(payload) == "failure" else True if response is not None else None
        took = whole(payload.get("duration_ms"))
        result = ToolResult(call_id, tool, ok, code, said, duration_ms=took)
        step.add(result, "tool", native_id=f"result:{short_name(call_id)}")

    def _give_call(self, step: Step, payload: dict[str, Any], *, is_after: bool) -> tuple[str, str]:
        """Give the call of a payload before or after it, under one name for both; return its id and tool."""
        tool = say.tool_of(payload)
        arguments = without_opaque(say.arguments_of(payload))
        given = say.first_text(payload, say.CALL_ID)
        if given and self._hooks.shares_call_ids:
            call_id = given
        else:
            # Without an id the n-th payload before and the n-th after the same action belong together. Payloads of
            # another day are in another file, which names them differently.
            content = given or content_sha256(tool, arguments)
            count = numbered(step, f"{'after' if is_after else 'before'}:{content}").partition("/")[2]
            call_id = f"{OWN_CALL_ID}{content_sha256(step.state.name)}:{short_name(content)}:{count or 1}"
        call = ToolCall(call_id, tool, canonical_tool(tool), arguments)
        step.add(call, "assistant", native_id=f"call:{short_name(call_id)}")
        return call_id, tool

    @staticmethod
    def _reply(step: Step, payload: dict[str, Any], drop: str) -> None:
        said = say.first_text(payload, say.REPLY)
        if said:
            reply = AssistantMessage(said, model=say.first_text(payload, say.MODEL))
            turn = say.first_text(payload, say.PROMPT_ID)
            name = f"reply:{short_name(turn)}:{content_sha256(said)}" if turn else f"reply:{drop}"
            step.add(reply, "assistant", native_id=name)
        else:
            step.add(Lifecycle("turn_ended"), native_id=f"stop:{drop}")

    @staticmethod
    def _subagent(step: Step, payload: dict[str, Any], drop: str) -> None:
        fields = ("agent_id", "agent_type", "status")
        detail = {name: payload[name] for name in fields if isinstance(payload.get(name), str)}
        said = say.first_text(payload, ("last_assistant_message", "result_preview", "prompt_preview"))
        told = f"{say.event_of(payload)}: {said}" if said else say.event_of(payload)
        step.add(Lifecycle("subagent", text=told, detail=detail or None), native_id=f"subagent:{drop}")

    @staticmethod
    def _compaction(step: Step, payload: dict[str, Any], drop: str) -> None:
        name = f"compaction:{drop}"
        step.add(Compaction(trigger=text(payload.get("trigger"))), native_id=name)
        step.set(compaction=short_name(name))

    @staticmethod
    def _compacted(step: Step, payload: dict[str, Any], drop: str) -> None:
        """The end of a compaction is the same event as its beginning, now with the summary."""
        done = Compaction(
            trigger=text(payload.get("trigger")), summary=text(payload.get("compact_summary") or payload.get("summary"))
        )
        step.add(done, native_id=step.now("compaction") or f"compaction:{drop}")
        step.set(compaction="")

    @staticmethod
    def _notice(step: Step, payload: dict[str, Any], drop: str) -> None:
        told = say.first_text(payload, ("message", "title", "error", "reason", "text"))
        name = say.event_of(payload)
        step.add(Lifecycle("hook", text=f"{name}: {told}" if told else name), native_id=f"notice:{drop}")
