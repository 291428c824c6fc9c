"""Machines for the tests of the MCP server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serve.mcp.homes import Machine, with_history


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine without any history."""
    return Machine(tmp_path)


@pytest.fixture
def history(machine: Machine) -> Machine:
    """Return a machine with a little history, taken in."""
    with_history(machine)
    machine.sync()
    return machine
