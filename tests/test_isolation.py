"""The promises of conftest: tests see neither this machine's home nor any network."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest


def test_the_home_is_empty_and_not_the_users(isolated_home: Path) -> None:
    assert Path.home() == isolated_home
    assert list(isolated_home.iterdir()) == []


@pytest.mark.parametrize("variable", ["RECOLLECT_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"])
def test_every_place_is_inside_the_temporary_home(isolated_home: Path, variable: str) -> None:
    assert Path(os.environ[variable]).is_relative_to(isolated_home)


def test_another_machine_cannot_be_reached() -> None:
    with socket.socket() as stranger, pytest.raises(AssertionError, match="tried to reach"):
        stranger.connect(("192.0.2.1", 9))


def test_another_machine_cannot_be_looked_up() -> None:
    with pytest.raises(AssertionError, match="tried to reach"):
        socket.getaddrinfo("host.invalid", 443)


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
