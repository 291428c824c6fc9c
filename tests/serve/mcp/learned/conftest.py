"""Machines for the tests of what was learned and noted, as the MCP server shows it."""

from __future__ import annotations

from tests.serve.mcp.conftest import history, machine

__all__ = ["history", "machine"]
