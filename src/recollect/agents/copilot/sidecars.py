"""The text files beside an event stream: what the session is called and where it works, its plan, its checkpoints."""

from __future__ import annotations

from collections.abc import Callable

from recollect.agents.copilot.declare import CHECKPOINT, PLAN, WORKSPACE
from recollect.agents.copilot.history import HistoryState
from recollect.agents.kit.reading import Reading
from recollect.model.payloads import Lifecycle

_MAX_LINES = 200


def read_workspace(reading: Reading[HistoryState], body: str) -> None:
    """Give the session's title, folder and branch of `workspace.yaml`: flat `key: value` lines."""
    told = _flat_yaml(body)
    reading.date(told.get("updated_at") or told.get("created_at"), "updated_at")
    title = told.get("name") or told.get("summary") or ""
    if title:
        reading.add(Lifecycle("title", title=title), native_id="workspace/title")
    rest = {k: v for k, v in told.items() if k not in ("cwd", "branch", "name") and v}
    cwd, branch = told.get("cwd") or "", told.get("branch") or ""
    reading.add(Lifecycle("workspace", detail=rest or None, cwd=cwd, branch=branch), native_id="workspace")
    if not told and body.strip():
        reading.wrong("workspace.yaml", "not_yaml")
        reading.kept("workspace.yaml", body, native_id="workspace/text")


def _flat_yaml(body: str) -> dict[str, str]:
    """Return the top-level scalars of a YAML mapping; block texts are joined by lines. Nothing else is written."""
    told: dict[str, str] = {}
    key = ""
    for line in body.splitlines()[:_MAX_LINES]:
        if line[:1] in (" ", "\t") and key:
            told[key] = f"{told[key]}\n{line.strip()}".strip("\n")
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip() or line.startswith("#"):
            continue
        key = name.strip()
        value = value.strip()
        told[key] = "" if value in ("|", "|-", ">", ">-", "null", "~") else _unquoted(value)
    return told


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        inner = value[1:-1]
        return inner.replace("''", "'") if value[0] == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    return value


def read_plan(reading: Reading[HistoryState], body: str) -> None:
    """Give the plan as it stands."""
    reading.add(Lifecycle("plan", text=body), native_id="plan")


def read_checkpoint(reading: Reading[HistoryState], body: str) -> None:
    """Give what a compaction wrote down of the work so far."""
    name = reading.state.name
    reading.add(Lifecycle("checkpoint", text=body, detail={"file": name}), native_id=f"checkpoint/{name}")


TEXTS: dict[str, Callable[[Reading[HistoryState], str], None]] = {
    WORKSPACE: read_workspace,
    PLAN: read_plan,
    CHECKPOINT: read_checkpoint,
}
