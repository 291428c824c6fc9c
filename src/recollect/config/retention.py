"""What is kept how long, and who is told: the tables `[retention]` and `[notify]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

GIB = 1 << 30
MOST_BYTES = 1 << 50
MOST_DAYS = 36_500


class RetentionConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much is kept of what agents wrote, and how long, see docs/retention.md."""

    raw_soft_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this the oldest analysed sessions go down to what their digests and decisions rest on "
            "(bytes). Counted is what that really gives back: the archive and the stored text of events.",
        ),
    ] = 4 * GIB
    raw_hard_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this, where nothing analysed is left, what is left is analysed at once, and as the last "
            "resort the oldest that cannot be analysed goes too, reported as data loss (bytes). Not below the "
            "soft cap.",
        ),
    ] = 6 * GIB
    raw_max_age_days: Annotated[
        Annotated[int, Meta(ge=0, le=MOST_DAYS)] | Literal["never"],
        Meta(
            description="How long an analysed session is kept whole, whatever the room, after its last event and after "
            "it was last ingested (days). 'never': only the caps count."
        ),
    ] = 45
    distilled_cap_bytes: Annotated[
        int,
        Meta(
            ge=0,
            le=MOST_BYTES,
            description="Above this a warning says how much digests, decisions and the like take (bytes). They are "
            "never dropped.",
        ),
    ] = GIB
    cadence: Annotated[
        Literal["daily", "weekly", "on-hook"],
        Meta(
            description="How often this is looked after: once a day or a week, or after each sync that ingested what "
            "hooks left."
        ),
    ] = "daily"
    keep_gone: Annotated[
        Literal["age", "always", "never"],
        Meta(
            description="Whether a session is spared whose file the agent has deleted, so that here is its only copy. "
            "age: its age does not count, the caps do; always: the caps neither, except as the last resort; never."
        ),
    ] = "age"


class NotifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who is told of what should not wait: data loss, the cap of what was distilled, failures that persist."""

    command: Annotated[
        tuple[str, ...],
        Meta(
            description="A program and its arguments, run without a shell; it gets one JSON object on standard input. "
            "Each thing at most once a day. Empty: nobody is told. Example: ['/usr/local/bin/tell-me', '--quiet']."
        ),
    ] = ()
    timeout_seconds: Annotated[
        int, Meta(ge=1, le=60, description="The program is ended when it takes longer than this (seconds).")
    ] = 10
