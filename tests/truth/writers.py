"""Sessions of six agents, written into their own formats from the same few steps: say, answer, run, edit, undo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from recollect.testing.builders import stable_uuid

FIRST_DAY = datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0) - timedelta(days=8)
"""A week ago: what is to be done expires after some weeks."""
Json = dict[str, Any]


class Session:
    """One session of an agent in a repository, on a day of its own. Each step is on the disk when it returns."""

    agent: ClassVar[str]
    folder: ClassVar[str]
    """The agent's folder below HOME, or below what the variable names."""

    def __init__(self, root: Path, name: str, *, repo: Path, day: int) -> None:
        self.home = root / self.folder
        self.id = stable_uuid(f"{self.agent} {name}")
        self.repo = repo
        self.now = FIRST_DAY + timedelta(days=day)
        self.count = 0
        self.begin()

    def begin(self) -> None:
        """Write what stands at the start."""

    def user(self, text: str) -> None:
        """Write what a person says."""
        raise NotImplementedError

    def assistant(self, text: str) -> None:
        """Write what the agent answers."""
        raise NotImplementedError

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        """Write a shell command and how it ended."""
        raise NotImplementedError

    def edit(self, name: str, old: str, new: str) -> None:
        """Write an edit of a file, and make it."""
        raise NotImplementedError

    def undo(self) -> None:
        """Go back to before the last thing that the person said."""
        raise NotImplementedError

    def tick(self) -> str:
        """Let two seconds pass and return the time."""
        self.now += timedelta(seconds=2)
        self.count += 1
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000Z")

    def put(self, path: Path, *records: Json) -> None:
        """Append lines."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as handle:
            for record in records:
                handle.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")

    def change(self, name: str, old: str, new: str) -> Path:
        """Make an edit in the repository."""
        path = self.repo / name
        text = path.read_text("utf-8") if path.exists() else ""
        path.write_text(text.replace(old, new) if old else text + new, "utf-8")
        return path


class Linked(Session):
    """An agent whose records name the one before them; what is undone is left on a branch."""

    last: str | None = None

    def begin(self) -> None:
        self.said: list[str | None] = []

    def link(self) -> tuple[str, str | None]:
        """Return the name of the next record, and of the one before it."""
        name, before = stable_uuid(f"{self.id} {self.count}"), self.last
        self.last = name
        return name, before

    def undo(self) -> None:
        self.last = self.said.pop()


class Claude(Linked):
    agent = "claude"
    folder = ".claude"

    def user(self, text: str) -> None:
        self.said.append(self.last)
        self._record("user", {"role": "user", "content": text})

    def assistant(self, text: str) -> None:
        self._reply({"type": "text", "text": text})

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        self._call("Bash", {"command": command}, output, fails=fails)

    def edit(self, name: str, old: str, new: str) -> None:
        path = str(self.change(name, old, new))
        self._call("Edit", {"file_path": path, "old_string": old, "new_string": new}, "updated")

    def _call(self, name: str, arguments: Json, output: str, *, fails: bool = False) -> None:
        call = f"toolu_{self.id[:8]}_{self.count}"
        self._reply({"type": "tool_use", "id": call, "name": name, "input": arguments})
        block = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": fails}
        self._record("user", {"role": "user", "content": [block]})

    def _reply(self, block: Json) -> None:
        message = {
            "id": f"msg_{self.id[:8]}_{self.count}", "model": "claude-sonnet-4-5-20250929", "role": "assistant",
            "content": [block], "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 5},
        }  # fmt: skip
        self._record("assistant", message)

    def _record(self, kind: str, message: Json) -> None:
        at = self.tick()
        name, before = self.link()
        slug = "".join(c if c.isalnum() else "-" for c in str(self.repo))
        self.put(
            self.home / "projects" / slug / f"{self.id}.jsonl",
            {
                "type": kind, "uuid": name, "parentUuid": before, "timestamp": at, "sessionId": self.id,
                "cwd": str(self.repo), "gitBranch": "main", "version": "2.1.230", "isSidechain": False,
                "message": message,
            },
        )  # fmt: skip


class Pi(Linked):
    agent = "pi"
    folder = ".pi/agent"

    def begin(self) -> None:
        super().begin()
        header = {"type": "session", "version": 3, "id": self.id, "timestamp": self.tick(), "cwd": str(self.repo)}
        self.put(self._path, header)

    def user(self, text: str) -> None:
        self.said.append(self.last)
        self._record({"role": "user", "content": [{"type": "text", "text": text}]})

    def assistant(self, text: str) -> None:
        self._reply({"type": "text", "text": text})

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        ended = f"{output}\n\nCommand exited with code 1" if fails else output
        self._call("bash", {"command": command}, ended, fails=fails)

    def edit(self, name: str, old: str, new: str) -> None:
        self.change(name, old, new)
        self._call("edit", {"path": name, "oldText": old, "newText": new}, "Successfully replaced text.",
                   details={"diff": f"-1 {old}\n+1 {new}"})  # fmt: skip

    def _call(self, name: str, arguments: Json, output: str, *, fails: bool = False, **more: Any) -> None:
        call = f"toolu_{self.count}"
        self._reply({"type": "toolCall", "id": call, "name": name, "arguments": arguments})
        content = [{"type": "text", "text": output}]
        self._record({"role": "toolResult", "toolCallId": call, "toolName": name, "content": content,
                      "isError": fails, **more})  # fmt: skip

    def _reply(self, block: Json) -> None:
        usage = {"input": 5, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 10, "cost": {"total": 0.001}}
        self._record({"role": "assistant", "content": [block], "provider": "anthropic", "model": "claude-sonnet-4-5",
                      "usage": usage, "stopReason": "stop"})  # fmt: skip

    def _record(self, message: Json) -> None:
        at = self.tick()
        name, before = self.link()
        self.put(
            self._path,
            {"type": "message", "id": name[:8], "parentId": before and before[:8], "timestamp": at,
             "message": {**message, "timestamp": int(self.now.timestamp() * 1000)}},
        )  # fmt: skip

    @property
    def _path(self) -> Path:
        slug = "-".join(self.repo.parts[1:])
        return self.home / "sessions" / f"--{slug}--" / f"2026-08-01T09-00-00-000Z_{self.id}.jsonl"


class Qwen(Linked):
    agent = "qwen"
    folder = ".qwen"

    def user(self, text: str) -> None:
        self.said.append(self.last)
        self._record("user", {"text": text})

    def assistant(self, text: str) -> None:
        self._record("assistant", {"text": text})

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        shown = f"Command: {command}\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {int(fails)}"
        self._call("run_shell_command", {"command": command, "is_background": False}, shown, output)

    def edit(self, name: str, old: str, new: str) -> None:
        path = str(self.change(name, old, new))
        diff = f"--- {name}\tCurrent\n+++ {name}\tProposed\n@@ -1,1 +1,1 @@\n-{old}\n+{new}\n"
        self._call("edit", {"file_path": path, "old_string": old, "new_string": new}, f"The file: {path} was updated.",
                   {"fileDiff": diff, "fileName": name, "originalContent": old, "newContent": new})  # fmt: skip

    def undo(self) -> None:
        super().undo()
        kept = self.last
        self._record("system", subtype="rewind", systemPayload={"targetUuid": kept})

    def _call(self, name: str, arguments: Json, output: str, shown: Any) -> None:
        call = f"call_{self.count}"
        self._record("assistant", {"functionCall": {"id": call, "name": name, "args": arguments}})
        response = {"functionResponse": {"id": call, "name": name, "response": {"output": output}}}
        ended = {"callId": call, "status": "success", "resultDisplay": shown}
        self._record("tool_result", response, toolCallResult=ended)

    def _record(self, kind: str, part: Json | None = None, **more: Any) -> None:
        at = self.tick()
        name, before = self.link()
        role = "model" if kind == "assistant" else "user"
        message: Json = {"message": {"role": role, "parts": [part]}} if part is not None else {}
        origin = {"user": "real_user", "assistant": "assistant_output", "tool_result": "tool_result"}.get(kind)
        record = {
            "uuid": name, "parentUuid": before, "sessionId": self.id, "timestamp": at, "type": kind,
            "cwd": str(self.repo), "version": "0.21.13", "gitBranch": "main", **message, **more,
        }  # fmt: skip
        if origin:
            record["provenance"] = origin
        slug = str(self.repo).replace("/", "-")
        self.put(self.home / "projects" / slug / "chats" / f"{self.id}.jsonl", record)


class Gemini(Session):
    agent = "gemini"
    folder = ".gemini"

    def begin(self) -> None:
        self.said: list[str] = []
        slot = self.home / "tmp" / self.repo.name
        slot.mkdir(parents=True, exist_ok=True)
        (slot / ".project_root").write_text(str(self.repo), "utf-8")
        self._path = slot / "chats" / f"session-{self.now:%Y-%m-%dT%H-%M}-{self.id[:8]}.jsonl"
        at = self.tick()
        project = sha256(str(self.repo).encode()).hexdigest()
        header = {"sessionId": self.id, "projectHash": project, "startTime": at, "kind": "main"}
        self.put(self._path, {**header, "directories": [str(self.repo)]})

    def user(self, text: str) -> None:
        self.said.append(self._message("user", [{"text": text}]))

    def assistant(self, text: str) -> None:
        self._message("gemini", text, model="gemini-3-flash-preview")

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        shown = f"Command: {command}\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {int(fails)}"
        self._call("run_shell_command", {"command": command}, shown, output)

    def edit(self, name: str, old: str, new: str) -> None:
        path = str(self.change(name, old, new))
        diff = f"--- {name}\tCurrent\n+++ {name}\tProposed\n@@ -1,1 +1,1 @@\n-{old}\n+{new}\n"
        self._call("replace", {"file_path": path, "old_string": old, "new_string": new}, f"Modified file: {path}.",
                   {"fileDiff": diff, "fileName": name, "originalContent": old, "newContent": new})  # fmt: skip

    def undo(self) -> None:
        self.put(self._path, {"$rewindTo": self.said.pop()})

    def _call(self, name: str, arguments: Json, output: str, shown: Any) -> None:
        call = f"{name}-{self.count}"
        result = [{"functionResponse": {"id": call, "name": name, "response": {"output": output}}}]
        ended = {"id": call, "name": name, "args": arguments, "status": "success", "timestamp": self.tick(),
                 "result": result, "resultDisplay": shown}  # fmt: skip
        self._message("gemini", "", model="gemini-3-flash-preview", toolCalls=[ended])

    def _message(self, kind: str, content: Any, **more: Any) -> str:
        name = stable_uuid(f"{self.id} {self.count}")
        self.put(self._path, {"id": name, "timestamp": self.tick(), "type": kind, "content": content, **more})
        return name


class Codex(Session):
    agent = "codex"
    folder = ".codex"

    def begin(self) -> None:
        self._path = (
            self.home / f"sessions/{self.now:%Y/%m/%d}" / f"rollout-{self.now:%Y-%m-%dT%H-%M-%S}-{self.id}.jsonl"
        )
        meta = {"id": self.id, "cwd": str(self.repo), "originator": "codex-tui", "cli_version": "0.150.0"}
        self._line("session_meta", {**meta, "source": "cli", "git": {"branch": "main"}})

    def user(self, text: str) -> None:
        self._line("turn_context", {"cwd": str(self.repo), "model": "gpt-5.1-codex"})
        self._line("response_item", {"type": "message", "role": "user",
                                     "content": [{"type": "input_text", "text": text}]})  # fmt: skip
        self._line("event_msg", {"type": "user_message", "message": text})

    def assistant(self, text: str) -> None:
        self._line("response_item", {"type": "message", "role": "assistant",
                                     "content": [{"type": "output_text", "text": text}]})  # fmt: skip
        self._line("event_msg", {"type": "agent_message", "message": text})

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        call = f"call_{self.count}"
        arguments = json.dumps({"command": ["bash", "-lc", command], "workdir": str(self.repo)})
        self._line("response_item", {"type": "function_call", "name": "shell", "arguments": arguments, "call_id": call})
        ended = json.dumps({"output": output, "metadata": {"exit_code": int(fails), "duration_seconds": 0.4}})
        self._line("response_item", {"type": "function_call_output", "call_id": call, "output": ended})

    def edit(self, name: str, old: str, new: str) -> None:
        self.change(name, old, new)
        call = f"call_{self.count}"
        removed = f"-{old}\n" if old else ""
        patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n{removed}+{new}\n*** End Patch"
        self._line("response_item", {"type": "custom_tool_call", "status": "completed", "call_id": call,
                                     "name": "apply_patch", "input": patch})  # fmt: skip
        done = f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM {name}\n"
        self._line("response_item", {"type": "custom_tool_call_output", "call_id": call, "output": done})

    def undo(self) -> None:
        self._line("event_msg", {"type": "thread_rolled_back", "num_turns": 1})

    def _line(self, kind: str, payload: Mapping[str, Any]) -> None:
        self.put(self._path, {"timestamp": self.tick(), "type": kind, "payload": dict(payload)})


class CodeWhale(Session):
    """A document that is written again as a whole; what is undone is not in it any more."""

    agent = "codewhale"
    folder = ".codewhale"

    def begin(self) -> None:
        self.created = self.tick()
        self.messages: list[Json] = []

    def user(self, text: str) -> None:
        self._message("user", {"type": "text", "text": text})

    def assistant(self, text: str) -> None:
        self._message("assistant", {"type": "text", "text": text})

    def run(self, command: str, output: str, *, fails: bool = False) -> None:
        self._call("exec_shell", {"command": command}, f"{output}\nExit code: {int(fails)}", fails=fails)

    def edit(self, name: str, old: str, new: str) -> None:
        self.change(name, old, new)
        self._call("edit_file", {"path": name, "search": old, "replace": new}, f"Updated {name}.")

    def undo(self) -> None:
        while not self._is_said(self.messages.pop()):
            pass
        self._write()

    def _is_said(self, message: Json) -> bool:
        return message["role"] == "user" and message["content"][0]["type"] == "text"

    def _call(self, name: str, arguments: Json, output: str, *, fails: bool = False) -> None:
        call = f"call_{self.count}"
        self._message("assistant", {"type": "tool_use", "id": call, "name": name, "input": arguments})
        result = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": fails}
        self._message("user", result)

    def _message(self, role: str, block: Json) -> None:
        self.messages.append({"role": role, "content": [block]})
        self._write()

    def _write(self) -> None:
        metadata = {
            "id": self.id, "title": "", "created_at": self.created, "updated_at": self.tick(),
            "message_count": len(self.messages), "total_tokens": 10, "model": "deepseek-v4-pro",
            "workspace": str(self.repo), "mode": "agent",
        }  # fmt: skip
        path = self.home / "sessions" / f"{self.id}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"schema_version": 1, "metadata": metadata, "messages": self.messages}), "utf-8")


AGENTS: tuple[type[Session], ...] = (Claude, Codex, Gemini, Qwen, Pi, CodeWhale)
