"""Builds small transcripts in agents' own formats, line by line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

_SPACE = UUID("6f1d1c3e-9b1f-4d0a-8a52-000000000000")
_START = datetime(2026, 8, 1, 9, 0, tzinfo=UTC)


def stable_uuid(name: str) -> str:
    """Return a UUID that depends on the name only."""
    return str(uuid5(_SPACE, name))


class ClaudeTranscript:
    """Writes one Claude Code session below a home (`CLAUDE_CONFIG_DIR`), a record at a time."""

    def __init__(
        self, home: Path, name: str, *, cwd: str = "/w/demo", branch: str = "main", start: datetime = _START
    ) -> None:
        self.session = stable_uuid(name)
        self.cwd = cwd
        self.branch = branch
        slug = "".join(c if c.isalnum() else "-" for c in cwd)
        self.path = home / "projects" / slug / f"{self.session}.jsonl"
        self._count = 0
        self._parent: str | None = None
        self._at = start

    @property
    def uid(self) -> str:
        """The session_uid that the memory gives it."""
        return f"claude:{self.session}"

    def user(self, text: str, **fields: Any) -> str:
        """Append what a person typed; return the record's uuid."""
        return self._message("user", {"role": "user", "content": text}, fields)

    def assistant(self, text: str, *, output_tokens: int = 10, model: str = "claude-sonnet-4-5-20250929") -> str:
        """Append an answer with its token usage; return the record's uuid."""
        return self._reply([{"type": "text", "text": text}], output_tokens, model)

    def tool(
        self, name: str, arguments: dict[str, Any], result: str, *, is_error: bool = False, **fields: Any
    ) -> tuple[str, str]:
        """Append a tool call and its result; return both uuids. fields: of the result's record."""
        call_id = f"toolu_{self._count}"
        call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        first = self._reply([call], 10, "claude-sonnet-4-5-20250929")
        block = {"type": "tool_result", "tool_use_id": call_id, "content": result, "is_error": is_error}
        return first, self._message("user", {"role": "user", "content": [block]}, fields)

    def write(self, path: str, content: str) -> tuple[str, str]:
        """Append a call that writes a new file, with what the agent notes of it; return both uuids."""
        noted = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
        return self.tool("Write", {"file_path": path, "content": content}, "File created", toolUseResult=noted)

    def raw(self, data: bytes) -> None:
        """Append bytes as they are."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as handle:
            handle.write(data)

    def _reply(self, content: list[dict[str, Any]], output_tokens: int, model: str) -> str:
        message = {
            "id": f"msg_{self.session[:8]}_{self._count}",
            "model": model,
            "role": "assistant",
            "stop_reason": "end_turn",
            "content": content,
            "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "output_tokens": output_tokens},
        }
        return self._message("assistant", message, {"requestId": f"req_{self._count}"})

    def _message(self, kind: str, message: dict[str, Any], fields: dict[str, Any]) -> str:
        uuid = stable_uuid(f"{self.session}/{self._count}")
        self._at += timedelta(seconds=2)
        record = {
            "type": kind,
            "uuid": uuid,
            "parentUuid": self._parent,
            "timestamp": self._at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            "sessionId": self.session,
            "cwd": self.cwd,
            "gitBranch": self.branch,
            "version": "2.1.230",
            "isSidechain": False,
            "message": message,
            **fields,
        }
        self._parent = uuid
        self._count += 1
        self.raw(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        return uuid


class CodexRollout:
    """Writes one Codex rollout below a home (`CODEX_HOME`), a line at a time."""

    def __init__(self, home: Path, name: str, *, cwd: str = "/w/demo") -> None:
        self.session = stable_uuid(name)
        self.path = home / "sessions/2026/08/01" / f"rollout-2026-08-01T09-00-00-{self.session}.jsonl"
        self._at = _START
        self._total = 0
        meta = {"id": self.session, "cwd": cwd, "originator": "codex-tui", "cli_version": "0.150.0", "source": "cli"}
        self.line("session_meta", {**meta, "git": {"branch": "main"}})

    @property
    def uid(self) -> str:
        """The session_uid that the memory gives it."""
        return f"codex:{self.session}"

    def turn(self, prompt: str, answer: str, *, output_tokens: int = 10, model: str = "gpt-5.1-codex") -> None:
        """Append a whole turn: prompt and answer in both of their channels, and the token count."""
        self.line("turn_context", {"cwd": "/w/demo", "model": model})
        user = [{"type": "input_text", "text": prompt}]
        self.line("response_item", {"type": "message", "role": "user", "content": user})
        self.line("event_msg", {"type": "user_message", "message": prompt})
        said = [{"type": "output_text", "text": answer}]
        self.line("response_item", {"type": "message", "role": "assistant", "content": said})
        self.line("event_msg", {"type": "agent_message", "message": answer})
        self._total += output_tokens
        last = {"input_tokens": 20, "cached_input_tokens": 15, "output_tokens": output_tokens, "total_tokens": 30}
        total = {**last, "output_tokens": self._total, "total_tokens": 20 + self._total}
        info = {"last_token_usage": last, "total_token_usage": total}
        self.line("event_msg", {"type": "token_count", "info": info})

    def line(self, kind: str, payload: dict[str, Any]) -> None:
        """Append one line."""
        self._at += timedelta(seconds=2)
        record = {"timestamp": self._at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "type": kind, "payload": payload}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as handle:
            handle.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
