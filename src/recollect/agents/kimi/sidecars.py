"""The files beside a session: its state, and the list of folders that Kimi was started in.

Evidence: format notes: Kimi CLI; kimi_cli/metadata.py, kimi_cli/session_state.py; fixtures of Kimi Code.
"""

from __future__ import annotations

from recollect.agents.kimi.state import KimiReading
from recollect.agents.kit.access import mapping, text
from recollect.model.payloads import Lifecycle

_STATE = frozenset(
    (
        "createdAt", "updatedAt", "title", "isCustomTitle", "agents", "custom", "workDir", "lastPrompt", "version",
        "custom_title", "title_generated", "title_generate_attempts", "archived", "archived_at", "auto_archive_exempt",
        "approval", "additional_dirs", "dynamic_subagents", "plan_mode", "plan_session_id", "plan_slug", "wire_mtime",
        "todos",
    )
)  # fmt: skip
_FOLDERS = frozenset(("work_dirs", "thinking", "session_to_workdir"))
_WORK_DIR = frozenset(("path", "last_session_id", "kaos"))
_SETTINGS = ("approval", "additional_dirs", "dynamic_subagents", "todos")


def read_state(reading: KimiReading) -> None:
    """Give what `state.json` knows of a session and its wire doesn't: title and folder."""
    value = reading.value
    reading.date(value.get("createdAt"), "createdAt")
    title = text(value.get("custom_title")) or reading.text(value, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="state/title")
    cwd = reading.text(value, "workDir")
    if cwd:
        reading.add(Lifecycle("cwd", cwd=cwd), native_id="state/cwd")
    settings = {k: value[k] for k in _SETTINGS if value.get(k)}
    if settings:
        reading.kept("state", settings, native_id="state/settings")
    reading.extra(value, _STATE, "state", native_id="state")


def read_folders(reading: KimiReading) -> None:
    """Give the folder of each session that `kimi.json` names: sessions lie under a hash of it only."""
    value = reading.value
    for entry in reading.items(value, "work_dirs"):
        found = mapping(entry)
        _add_folder(reading, text(found.get("last_session_id")), text(found.get("path")))
        reading.extra(found, _WORK_DIR, "work_dir", native_id=f"work_dir:{text(found.get('path'))}")
    for session, path in reading.mapping(value, "session_to_workdir").items():
        _add_folder(reading, session, text(path))
    reading.extra(value, _FOLDERS, "kimi.json", native_id="folders")


def _add_folder(reading: KimiReading, session: str, path: str) -> None:
    if session and path:
        reading.add(Lifecycle("cwd", cwd=path), native_id="folder", session=session)
