"""The command line agent's store: message blobs and lists of them, and one row about the session.

Blobs are named by their content and never change. A turn writes its messages and then a new list of all messages: what
an earlier list had and the newest has not was left behind. Evidence: format notes: Cursor, store C.
"""

from __future__ import annotations

from typing import Any

from recollect.agents.cursor.decode import Root, decoded, digest, hex_object, root_of
from recollect.agents.cursor.messages import model_of, read_message
from recollect.agents.cursor.state import MAX_MESSAGES, Human, Step, give_cwd, short
from recollect.agents.kit.access import text
from recollect.agents.kit.reading import remember
from recollect.model.payloads import Compaction, Json, Lifecycle, Rewind, SessionStart

_ID_CHARS = 16
_FIELDS = frozenset(("role", "content", "id", "providerOptions", "experimental_providerMetadata"))
_ROLES = frozenset(("system", "user", "assistant", "tool"))
_META = frozenset(
    (
        "agentId", "latestRootBlobId", "name", "mode", "createdAt", "lastUsedModel", "isRunEverything",
        "approvalMode", "lastDebugServerPort", "blobEncryptionKey",
    )
)  # fmt: skip


def read_blob(step: Step) -> None:
    """Give a message, or what the newest list of messages left behind. Other protobuf says nothing."""
    name = text(step.value.get("id"))[:_ID_CHARS]
    data = decoded(step.value.get("data"))
    step.ts, step.ts_quality = None, "missing"
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if isinstance(data, bytes):
        root = root_of(data)
        if root is not None:
            _read_root(step, root)
    elif isinstance(data, dict) and isinstance(data.get("role"), str):
        _read_message(step, data, name)
    elif data is not None:
        step.unknown("blob", data, native_id=f"blob:{name or digest(data)}")


def _read_message(step: Step, message: dict[str, Any], name: str) -> None:
    role = message["role"]
    if role not in _ROLES:
        step.unknown(role, message, native_id=f"blob:{name or digest(message)}")
        return
    step.native_id = name or digest(message)
    content: Json = message.get("content")
    read_message(step, role, content, message, model=model_of(message, content))
    step.extra(message, _FIELDS, "message", native_id=f"blob:{step.native_id}")
    step.set(messages=remember(step.now("messages"), step.native_id, MAX_MESSAGES))


def _read_root(step: Step, root: Root) -> None:
    """Compare a list of messages with the one before: a missing end is a rewind, a missing middle a compaction."""
    listed = tuple(child[:_ID_CHARS] for child in root.children)[-MAX_MESSAGES:]
    known = set(step.now("messages"))
    if known.isdisjoint(listed):
        return
    if root.workspace:
        give_cwd(step, root.workspace)
    before: tuple[str, ...] = step.state.root
    is_told = step.state.is_summed_up
    step.set(root=listed, is_summed_up=False)
    if not before or listed[: len(before)] == before:
        return
    same = next((i for i, (old, new) in enumerate(zip(before, listed, strict=False)) if old != new), None)
    start = min(len(before), len(listed)) if same is None else same
    left, new = before[start:], listed[start:]
    humans: dict[str, Human] = {h.id: h for h in step.now("humans")}
    dropped = [humans[i] for i in left if i in humans and i not in new]
    if not dropped:
        return
    if set(left) & set(new) or (new and not any(i in humans for i in new)):
        if not is_told:  # else the message that sums them up says it
            go_on = next((humans[i].event for i in new if i in humans), "")
            step.add(Compaction(continues_at=go_on), native_id=f"compaction:{digest(list(listed))}")
        return
    back_to = next((humans[i].event for i in reversed(before[:start]) if i in humans), "")
    rewind = Rewind(dropped[0].before, len(dropped))
    step.add(rewind, native_id=f"rewind:{digest([back_to, dropped[0].event])}")


def read_meta(step: Step) -> None:
    """Give what the store knows of the session: its start, title, mode and newest model."""
    value = step.value.get("value")
    meta = hex_object(value)
    if not meta:
        step.wrong("value", "not_json")
        step.unknown("meta", value, native_id=f"meta:{digest(value)}")
        return
    created = meta.get("createdAt")
    step.date(created if not isinstance(created, str) or not created.isdigit() else int(created[:18]), "createdAt")
    model = step.text(meta, "lastUsedModel")
    step.add(SessionStart(model=model, originator="cursor-agent"), native_id="start")
    title, mode = step.text(meta, "name"), step.text(meta, "mode")
    if title:
        step.add(Lifecycle("title", title=title), native_id="title")
    if mode:
        step.add(Lifecycle("mode", text=mode), native_id="mode")
    if model:
        step.add(Lifecycle("model", model=model), native_id=f"model:{short(model)}")
    step.extra(meta, _META, "meta", native_id="meta")
