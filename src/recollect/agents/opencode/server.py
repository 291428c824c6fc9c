"""Writes our MCP server entry for opencode 1 and 2. opencode 2 reads both forms."""

from recollect.agents.install.contract import InstallContext
from recollect.agents.install.values import Edit, SetKey
from recollect.model.own import SERVER


def edits(given: InstallContext) -> tuple[Edit, ...]:
    """Return what makes our server known."""
    server = given.server
    entry: dict[str, object] = {"type": "local", "command": [server.command, *server.args]}
    if server.env:
        entry["environment"] = dict(server.env)
    if is_second(given.version):
        return (SetKey(("mcp", "servers", SERVER), entry),)
    return (SetKey(("mcp", SERVER), {**entry, "enabled": True}),)


def is_second(version: str) -> bool:
    """Tell whether a version as opencode prints it is of opencode 2 or later; one that is not known counts as 1, whose
    form both read."""
    major = version.strip().lstrip("v").partition(".")[0]
    return major.isdigit() and int(major) >= 2
