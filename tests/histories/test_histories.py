"""Any history of an agent's files: the archive has every revision that was seen, and every record is told once."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.config import Config
from recollect.memory import Memory
from recollect.testing.builders import stable_uuid
from tests.examples import tried

FILES = 3
"""Sessions of a history, forks besides."""


PAD = " word" * 300
"""Makes lines long, so that a file of a few lines has a middle that its ends do not show."""


class Model:
    """What a memory must know: every content that a sync saw, the records in it, and the cost of each response.

    mixed: contents that a sync may take a file for whose middle changed while it grew: the old middle, the new end.
    """

    def __init__(self) -> None:
        self.revisions: dict[str, list[bytes]] = {}
        self.mixed: dict[str, list[bytes]] = {}
        self.records: dict[str, set[str]] = {}
        self.output_tokens: dict[str, int] = {}

    def see(self, session: str, content: bytes) -> None:
        """Take what a sync finds in the file of a session."""
        seen = self.revisions.setdefault(session, [])
        if seen and content.startswith(seen[-1]):
            seen[-1] = content
        elif seen or content:
            if seen and len(content) > len(seen[-1]):
                self.mixed.setdefault(session, []).append(seen[-1] + content[len(seen[-1]) :])
            seen.append(content)
        for line in content[: content.rfind(b"\n") + 1].splitlines():
            record = json.loads(line)
            self.records.setdefault(session, set()).add(record["uuid"])
            message = record["message"]
            if message["role"] == "assistant":
                spent = message["usage"]["output_tokens"]
                self.output_tokens[message["id"]] = spent


class History:
    """An agent's folder that things happen to, the memory beside it, and the model."""

    def __init__(self, root: Path) -> None:
        self.root = root
        env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude"), "CODEX_HOME": str(root / "codex")}
        self.memory = Memory.open(root / "memory", config=Config(), env=env)
        self.model = Model()
        self.paths = [self._path("-w-demo", stable_uuid(f"session {i}")) for i in range(FILES)]
        self.halves: dict[Path, bytes] = {}
        self.written = 0

    def _path(self, project: str, session: str) -> Path:
        return self.root / "claude/projects" / project / f"{session}.jsonl"

    def line(self, path: Path, *, is_response: bool) -> bytes:
        """Return a new record: a prompt, or one of the lines of a response, which all state its usage."""
        self.written += 1
        n = self.written
        message: dict[str, Any] = {"role": "user", "content": f"prompt number {n}{PAD}"}
        if is_response:
            usage = {"input_tokens": 1, "output_tokens": n // 3 + 1}
            said = [{"type": "text", "text": f"answer number {n}"}]
            message = {"role": "assistant", "id": f"msg_{n // 3}", "model": "claude-x", "content": said, "usage": usage}
        record = {"type": message["role"], "uuid": stable_uuid(str(n)), "sessionId": path.stem, "message": message}
        if is_response:
            record["requestId"] = f"req_{n // 3}"
        return json.dumps(record).encode() + b"\n"

    # What can happen

    def append(self, path: Path, count: int) -> None:
        """Finish a half-written line, and write whole ones."""
        lines = b"".join(self.line(path, is_response=i % 3 > 0) for i in range(count))
        self._add(path, self.halves.pop(path, b"") + lines)

    def append_half(self, path: Path, count: int) -> None:
        """Stop writing within a line."""
        line = self.line(path, is_response=bool(count % 2))
        self._add(path, self.halves.pop(path, b"") + line[: 20 * count])
        self.halves[path] = line[20 * count :]

    def truncate(self, path: Path, count: int) -> None:
        """Keep the first lines only."""
        self._rewrite(path, lambda lines: lines[:count])

    def drop_first(self, path: Path, count: int) -> None:
        """Rewrite without the first lines."""
        self._rewrite(path, lambda lines: lines[count:])

    def insert(self, path: Path, count: int) -> None:
        """Rewrite with a new line in the midst."""
        self._rewrite(path, lambda lines: [*lines[:count], self.line(path, is_response=False), *lines[count:]])

    def replace(self, path: Path, count: int) -> None:
        """Put another file in the place of this one."""
        path.unlink(missing_ok=True)
        self.halves.pop(path, None)
        self.append(path, count)

    def change_middle(self, path: Path, count: int) -> None:
        """Write other words into a line in the middle, as long as before, and go on at the end."""
        if path.exists():
            changed = with_another_middle(path.read_bytes())
            with path.open("r+b") as handle:
                handle.write(changed)
            self.append(path, count)

    def replace_middle(self, path: Path, count: int) -> None:
        """Put a file in the place of this one that has another middle, and goes on at the end."""
        if path.exists():
            beside = path.with_suffix(".new")
            beside.write_bytes(with_another_middle(path.read_bytes()))
            beside.replace(path)
            self.append(path, count)

    def delete(self, path: Path, _count: int) -> None:
        """Delete the file."""
        path.unlink(missing_ok=True)
        self.halves.pop(path, None)

    def move(self, path: Path, count: int) -> None:
        """Move the file to another project."""
        target = self._path(f"-w-project-{count}", path.stem)
        if path.exists() and path != target:
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            self.paths[self.paths.index(path)] = target
            if path in self.halves:
                self.halves[target] = self.halves.pop(path)

    def fork(self, path: Path, count: int) -> None:
        """Copy whole lines, with their ids, into a session of another name, and go on there."""
        if path.exists():
            copy = self._path("-w-demo", stable_uuid(f"fork {self.written} {count}"))
            content = path.read_bytes()
            whole = content[: content.rfind(b"\n") + 1]
            self._add(copy, whole.replace(path.stem.encode(), copy.stem.encode()))
            self.append(copy, count)
            self.paths.append(copy)

    def sync(self, _path: Path, _count: int) -> None:
        """Look at everything, and compare with the model."""
        for path in self.paths:
            if path.exists():
                self.model.see(path.stem, path.read_bytes())
        while any(line.changed for line in self.memory.sync().agents.values()):
            pass
        expected = {s: sorted(filter(None, r)) for s, r in self.model.revisions.items() if any(r)}
        assert self._without_mixed(kept(self.memory), expected) == expected
        assert told(self.memory) == {s: sorted(r) for s, r in self.model.records.items()}
        assert self.memory.usage.report(by="total").total.output_tokens == sum(self.model.output_tokens.values())
        sizes = self._sizes()
        assert self.memory.sync().events == 0
        assert self._sizes() == sizes

    def _without_mixed(self, found: dict[str, list[bytes]], expected: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
        for session, mixed in self.model.mixed.items():
            for content in mixed:
                if found[session].count(content) > expected[session].count(content):
                    found[session].remove(content)
        return found

    def _sizes(self) -> dict[str, int]:
        caches = (".db-shm", "look.json")
        files = (p for p in self.memory.home.rglob("*") if p.is_file() and not p.name.endswith(caches))
        return {str(p): p.stat().st_size for p in files}

    def _add(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as handle:
            handle.write(content)

    def _rewrite(self, path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
        if path.exists():
            self.halves.pop(path, None)
            lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
            path.write_bytes(b"".join(change(lines)))


def with_another_middle(content: bytes) -> bytes:
    """Return the content with other words in the line in the middle, as long as before."""
    lines = content.splitlines(keepends=True)
    if lines:
        lines[len(lines) // 2] = lines[len(lines) // 2].replace(b"word word", b"draw word", 1)
    return b"".join(lines)


def kept(memory: Memory) -> dict[str, list[bytes]]:
    """Return every revision that the archive holds and that has any bytes, by session."""
    found: dict[str, list[bytes]] = {}
    with memory.archive() as archive:
        for row in memory.reader().ledgers():
            places = [place for place, _ in memory.reader().chunks(row.source_id, row.revision)]
            session = row.session_uid.removeprefix("claude:")
            found.setdefault(session, []).append(b"".join(archive.iter_bytes(places)))
    return {session: sorted(filter(None, contents)) for session, contents in found.items() if any(contents)}


def told(memory: Memory) -> dict[str, list[str]]:
    """Return the ids of the messages of every session, as often as they are told."""
    sessions = [s.session_uid for s in memory.sessions(limit=1000, sync=False).sessions]
    return {
        uid.removeprefix("claude:"): sorted(
            e.event_id for e in memory.events(uid) if e.kind in ("user_message", "assistant_message")
        )
        for uid in sessions
    }


FILE_STEPS = (
    "append", "append_half", "truncate", "drop_first", "insert", "replace", "change_middle", "replace_middle", "delete",
    "move", "fork",
)  # fmt: skip
STEPS = (*FILE_STEPS, "sync", "sync", "sync")
HISTORIES = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(1, 4)), min_size=6, max_size=16)


@given(steps=HISTORIES)
@settings(max_examples=tried(30, floor=10))
def test_any_history_of_files_is_kept_and_told_once(steps: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = History(Path(folder))
        try:
            for step, which, count in [*steps, ("sync", 0, 1)]:
                getattr(history, step)(history.paths[which % len(history.paths)], count)
            assert history.memory.maintenance.verify().ok
        finally:
            history.memory.close()
