"""A log of patches goes on behind a hole: what a new line changes is known from the agent's file, nothing else is."""

from __future__ import annotations

import json
from pathlib import Path

from recollect.config import Config
from recollect.erasure.cuts import compact
from recollect.memory import Memory
from tests.agents.vscode.chats import SESSION, request, said
from tests.erasure.cuts.conftest import DAY
from tests.erasure.cuts.lines import cut


def test_a_line_behind_a_hole_changes_what_stands_in_it(tmp_path: Path) -> None:
    path = tmp_path / ".config" / "Code" / "User" / "workspaceStorage" / "abc" / "chatSessions" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    first = {"version": 3, "sessionId": SESSION, "creationDate": 1_785_574_800_000, "requests": []}
    lines = [
        {"kind": 0, "v": first},
        {
            "kind": 2,
            "k": ["requests"],
            "v": [request("request_1", said("the first answer"), text="the first question")],
        },
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    env = {"HOME": str(tmp_path), "RECOLLECT_BACKGROUND": "0"}
    with Memory.open(tmp_path / "memory", config=Config(), env=env) as memory:
        memory.sync()
        (row,) = memory.reader().sources("vscode")
        assert row.container == "patchlog"
        events = sum(1 for _ in memory.events(f"vscode:{SESSION}"))
        assert events >= 3
        with memory.writing() as (_, writer, _, archive, _keys):
            cut(archive, writer, row.source_id, 1, ((0, 1 << 40),), reason="evicted", at=DAY)
            compact(archive, writer)
        second = request("request_2", said("the second answer"), text="the second question")
        with path.open("a") as file:
            file.write(json.dumps({"kind": 2, "k": ["requests"], "v": [second]}) + "\n")
        report = memory.sync()
        assert report.agents["vscode"].skipped == []
        texts = [str(e.payload) for e in memory.events(f"vscode:{SESSION}")]
        assert sum("the second question" in text for text in texts) == 1
        assert sum("the first question" in text for text in texts) == 1
        assert [row.revision for row in memory.reader().sources("vscode")] == [1]
        assert memory.maintenance.verify().ok
        before = list(memory.events(f"vscode:{SESSION}"))
        memory.maintenance.rebuild("all")
        assert list(memory.events(f"vscode:{SESSION}")) == before
