"""How a memory is kept fresh: the table `[daemon]`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta


class DaemonConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The process that watches, takes in and serves, see docs/operations.md."""

    http: Annotated[
        bool,
        Meta(description="Whether `recollect up` serves MCP (at `/mcp`) and a status page, on this machine only."),
    ] = True
    port: Annotated[
        int,
        Meta(
            ge=0,
            le=65_535,
            description="Where it listens on 127.0.0.1. 0: any free port, which `recollect up --status` tells.",
        ),
    ] = 4319
    watch: Annotated[
        Literal["auto", "poll"],
        Meta(
            description="'auto': the system tells what changed, and folders are looked at every 2 seconds where it "
            "cannot (network file systems, too many folders). 'poll': they all are."
        ),
    ] = "auto"
    rescan_seconds: Annotated[
        int,
        Meta(
            ge=10,
            le=86_400,
            description="How often everything is looked at again, in case a change was not told (seconds).",
        ),
    ] = 600
