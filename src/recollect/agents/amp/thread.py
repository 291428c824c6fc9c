"""What stands around the messages of a thread: where and when it began, its title, and its relatives.

Left in the archive: `~debug` and `meta.traces`, which repeat usage and times, and what identifies the machine.
Evidence: format notes: Amp; trimmed captures of two threads.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.amp.state import AmpReading
from recollect.agents.kit.access import items, mapping, text
from recollect.agents.kit.adapter import read_odd
from recollect.model.payloads import Compaction, Lifecycle, SessionStart

_THREAD = frozenset(
    (
        "v id created title agentMode messages env meta relationships ~debug nextMessageId draft queuedMessages "
        "originThreadID mainThreadID forkedFromThreadID archived visibility creatorUserID usesDtw autoSubmitDraft "
        "activatedSkills maxTokens trees updatedAt"
    ).split()
)
_KEPT = ("draft", "queuedMessages", "activatedSkills")
_PLATFORM = ("client", "clientVersion", "os", "osVersion")


def read_thread(reading: AmpReading) -> None:
    """Give the members of the document that stand before or after the messages."""
    value = reading.value
    if not value:
        read_odd(reading)
        return
    if "created" in value or "id" in value:
        reading.date(value.get("created"), "created")
        forked = text(value.get("forkedFromThreadID"))
        parent = text(value.get("mainThreadID"))
        start = SessionStart(forked_from=forked, parent_session=parent if parent != value.get("id") else "")
        reading.add(start, native_id="start")
    if "env" in value:
        _read_environment(reading, mapping(reading.mapping(value, "env").get("initial")))
    title = reading.text(value, "title")
    if title:
        reading.add(Lifecycle("title", title=title), native_id="title")
    mode = reading.text(value, "agentMode")
    if mode:
        reading.add(Lifecycle("mode", text=mode), native_id="mode")
    for relationship in reading.items(value, "relationships"):
        _read_relationship(reading, mapping(relationship))
    for name in _KEPT:
        if value.get(name):
            reading.kept(name, value[name], native_id=name)
    meta = {k: v for k, v in reading.mapping(value, "meta").items() if k != "traces" and v not in (None, "", [], {})}
    if meta:
        reading.kept("meta", meta, native_id="meta")
    reading.extra(value, _THREAD, "thread", native_id="thread")


def _read_environment(reading: AmpReading, initial: dict[str, Any]) -> None:
    tree = mapping(next(iter(items(initial.get("trees"))), None))
    repository, platform = mapping(tree.get("repository")), mapping(initial.get("platform"))
    cwd = text(tree.get("uri")).removeprefix("file://")
    tags = [tag for tag in items(initial.get("tags")) if isinstance(tag, str)]
    model = next((tag.removeprefix("model:") for tag in tags if tag.startswith("model:")), "")
    start = SessionStart(
        cwd=cwd,
        repo_root=cwd if repository else "",
        git_branch=text(repository.get("ref")).removeprefix("refs/heads/"),
        git_commit=text(repository.get("sha")),
        git_remote=text(repository.get("url")),
        model=model,
        tool_version=text(platform.get("clientVersion")),
        originator=text(platform.get("client")),
    )
    reading.add(start, native_id="start/env")
    others = [text(mapping(t).get("uri")) for t in items(initial.get("trees"))[1:]]
    detail = {key: platform[key] for key in _PLATFORM if platform.get(key)}
    if others:
        detail["trees"] = others
    if detail:
        reading.add(Lifecycle("environment", detail=detail), native_id="environment")


def _read_relationship(reading: AmpReading, value: dict[str, Any]) -> None:
    """Give a relative of the thread. `role` is the other's: a handoff's child goes on from its parent's summary."""
    other = text(value.get("threadID")) or text(value.get("threadId"))
    kind, role = text(value.get("type")), text(value.get("role"))
    if not other:
        reading.wrong("relationships")
        return
    name = f"relationship:{kind}:{other}"
    comment = text(value.get("comment"))
    if kind == "handoff" and role == "parent":
        reading.add(SessionStart(resumed_from=other), native_id=f"{name}/start")
        reading.add(Compaction("handoff", comment), native_id=name)
    elif kind == "fork" and role == "parent":
        reading.add(SessionStart(forked_from=other), native_id=f"{name}/start")
    else:
        detail = {k: v for k, v in value.items() if k not in ("comment", "type") and v not in (None, "")}
        reading.add(Lifecycle(kind or "relationship", text=comment, detail=detail), native_id=name)
