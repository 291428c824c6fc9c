"""Who asked what, and whose sessions an answer showed: noted by every question, read by whom it concerns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from recollect.model.team_messages import AuditLine, AuditPage
from recollect.team.database import Connection, TeamDatabase

MAX_AUDIT_LINES = 1000
MAX_DETAIL_CHARS = 1000

ADD_AUDIT = (
    "INSERT INTO recollect.audit (team_id, asker_id, action, subject_id, session_uid, detail) "
    "VALUES (recollect.present_team(), recollect.present_member(), %s, %s, %s, %s)"
)
PRESENT_MEMBER = "SELECT recollect.present_member()"
AUDIT = (
    "SELECT (extract(epoch FROM a.at) * 1e6)::bigint, p.name, a.action, coalesce(o.name, ''), a.session_uid, a.detail "
    "FROM recollect.audit a JOIN recollect.member p ON p.team_id = a.team_id AND p.member_id = a.asker_id "
    "LEFT JOIN recollect.member o ON o.team_id = a.team_id AND o.member_id = a.subject_id "
    "WHERE a.team_id = recollect.present_team() ORDER BY a.audit_id DESC LIMIT %s"
)


def note(db: Connection, action: str, detail: str, shown: Iterable[tuple[Any, str]]) -> None:
    """Note a question, and whose sessions its answer shows. shown: (member, session or ""); one's own are one's own."""
    own = db.execute(PRESENT_MEMBER).fetchone()
    assert own is not None
    of_others = dict.fromkeys((member, session) for member, session in shown if member != own[0])
    said = detail[:MAX_DETAIL_CHARS].replace("\0", "\ufffd")
    for member, session in of_others or {(None, ""): None}:
        db.execute(ADD_AUDIT, (action, member, session, said))


def audit(database: TeamDatabase, token: str) -> AuditPage:
    """Return the newest lines that the asker may read: of own questions, of readings of own sessions, as auditor all.
    Raises TeamRefused, TeamUnavailable."""
    with database.as_asker(token) as (db, _asker):
        rows = db.execute(AUDIT, (MAX_AUDIT_LINES,)).fetchall()
    named = (dict(zip(AuditLine.__struct_fields__, row, strict=True)) for row in rows)
    return AuditPage(tuple(msgspec.convert(row, AuditLine) for row in named))
