"""Where OpenClaude's spelling differs from Claude Code, whose parser reads its transcripts."""

import msgspec

from recollect.agents.kit.values import mapping
from recollect.model.records import Record

_BOUNDARY = "compact_boundary"


def as_claude_spells(record: Record) -> Record:
    """Return a record in Claude Code's spelling: a compaction there is a `system` record with a subtype.

    OpenClaude may write the subtype as the type, and the text as a message's.
    """
    value = record.value
    if not isinstance(value, dict) or value.get("type") != _BOUNDARY:
        return record
    rest = {k: v for k, v in value.items() if k != "message"}
    message = mapping(value.get("message"))
    said = {"content": message["content"]} if "content" in message and "content" not in value else {}
    return msgspec.structs.replace(record, value={**rest, **said, "type": "system", "subtype": _BOUNDARY})
