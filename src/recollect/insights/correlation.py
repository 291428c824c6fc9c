"""Environment values with which another program can join its own records to a session. Pure data.

The names are a contract, see docs/how-to/join-other-records.md.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from recollect.model.insights.digests import Digest
from recollect.model.tools import canonical_tool
from recollect.paths import STORE_VARIABLE

INFRA_PATTERNS: tuple[str, ...] = ("mcp__*", "mcp_*", "mcp.*", "*__*")
"""Names of tools that count as infrastructure, as shell patterns: MCP first."""
INFRA_CANONICAL: tuple[str, ...] = ("mcp",)
"""Canonical tools that count as infrastructure whatever they are called."""
VARIABLES: tuple[str, ...] = (
    "HELIX_SESSION_UID", "HELIX_REPO", "HELIX_FLAVOR", "HELIX_TOKENS", "HELIX_INFRA_OVERHEAD_SHARE", STORE_VARIABLE,
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def exported(digest: Digest, infra_buckets: Sequence[str], store_path: str) -> dict[str, str]:
    """Return the variables of a session's close, by name, in the order of `VARIABLES`.

    infra_buckets: what counts as infrastructure, see `infra_calls`. store_path: the absolute path of the memory's
    database.
    """
    return {
        "HELIX_SESSION_UID": digest.session_uid,
        "HELIX_REPO": digest.repo,
        "HELIX_FLAVOR": digest.flavor,
        "HELIX_TOKENS": str(digest.cost.input_tokens + digest.cost.output_tokens),
        "HELIX_INFRA_OVERHEAD_SHARE": f"{overhead_share(digest, infra_buckets):.4f}",
        STORE_VARIABLE: store_path,
    }


def overhead_share(digest: Digest, infra_buckets: Sequence[str] = INFRA_PATTERNS) -> float:
    """Return the calls in the infrastructure bucket over all calls of the histogram, 0 to 1; 0 for no calls."""
    total = sum(digest.tool_histogram.values())
    return sum(infra_calls(digest, infra_buckets).values()) / total if total else 0.0


def infra_calls(digest: Digest, infra_buckets: Sequence[str]) -> dict[str, int]:
    """Return the calls in the infrastructure bucket, by tool.

    infra_buckets: shell patterns of tool names as the agent gives them, or canonical tools.
    """
    return {
        name: count
        for name, count in digest.tool_histogram.items()
        if counts_as_infra(name, infra_buckets, digest.tool_kinds.get(name, ""))
    }


def counts_as_infra(tool: str, infra_buckets: Sequence[str], canonical: str = "") -> bool:
    """Return whether calls of a tool, by its agent's name for it, count as infrastructure. canonical: its canonical
    tool, for names that do not tell.
    """
    if any(fnmatchcase(tool.lower(), pattern.lower()) for pattern in infra_buckets):
        return True
    canonical = canonical or canonical_tool(tool)
    is_mcp_wanted = any(pattern.startswith("mcp") for pattern in infra_buckets)
    return canonical in infra_buckets or (canonical in INFRA_CANONICAL and is_mcp_wanted)


def shell_lines(values: Mapping[str, str]) -> str:
    """Return `export NAME=value` lines for a POSIX shell, each with a newline; "" without values.

    Values are quoted so that nothing in them is expanded or run. Raises ValueError for an invalid variable name.
    """
    lines = []
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"not a variable's name: {name!r}")
        lines.append(f"export {name}={shlex.quote(value.replace(chr(0), ''))}\n")
    return "".join(lines)
