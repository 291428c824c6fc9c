"""Whatever serves is asked of the kernel: which sockets does it listen on?"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.surfaces.privacy.servers import serving

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sockets are looked up in /proc")

LOOPBACK = {"0100007F", "00000000000000000000000001000000"}
"""127.0.0.1 and ::1 as the kernel writes them."""
SERVERS = [("mcp", "--http", "--port", "0"), ("otlp", "--port", "0"), ("up", "--port", "0")]


@pytest.mark.parametrize("argv", SERVERS, ids=lambda argv: argv[0])
def test_a_server_listens_on_this_machine_only(argv: tuple[str, ...], isolated_home: Path, tmp_path: Path) -> None:
    with serving(argv, tmp_path / "said") as addresses:
        assert set(addresses) <= LOOPBACK
