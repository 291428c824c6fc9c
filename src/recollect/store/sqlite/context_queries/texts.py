"""The text of what was learned or noted, by the uid that cites it."""

from __future__ import annotations

from typing import Any

import apsw

_STATEMENTS = {
    "learning": "SELECT json_extract(json, '$.text') FROM learning WHERE id = ?",
    "action": "SELECT json_extract(json, '$.text') FROM learning WHERE id = ?",
    "diary": "SELECT json_extract(json, '$.text') FROM diary WHERE id = ?",
    "fact": "SELECT json ->> '$.subject' || ' ' || (json ->> '$.predicate') || ' ' || (json ->> '$.object') "
    "FROM fact WHERE id = ?",
    "decision": "SELECT json_extract(json, '$.statement') FROM added_decision WHERE id = ?",
}


def named_text(db: apsw.Connection, uid: str) -> str:
    """Return the text of `learning:ID`, `action:ID`, `diary:ID`, `fact:ID` or an added `decision:ID`; "" for none."""
    kind, _, name = uid.partition(":")
    if kind not in _STATEMENTS:
        return ""
    found: Any = db.execute(_STATEMENTS[kind], (name,)).get
    return found if isinstance(found, str) else ""
