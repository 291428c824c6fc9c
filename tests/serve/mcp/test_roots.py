"""Where a caller works: what its client says, else the folder that the server was started in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from tests.serve.mcp.clients import TRANSPORTS, Caller, ask
from tests.serve.mcp.homes import Machine

pytestmark = pytest.mark.filterwarnings("ignore:The roots capability is deprecated")


def roots(*folders: Path) -> dict[str, Any]:
    async def listed(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=folder.as_uri()) for folder in folders])

    return {"list_roots_callback": listed}


async def listed(caller: Caller) -> str:
    return (await caller.call("list_sessions")).text


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_roots_of_a_client_are_where_it_works(transport: str, history: Machine) -> None:
    text = ask(transport, history, listed, **roots(history.folder("blog")))
    assert "repository blog" in text
    assert "shop@main" not in text


def test_several_roots_count_all(history: Machine) -> None:
    text = ask("stdio", history, listed, **roots(history.folder("blog"), history.folder("shop")))
    assert "blog@main" in text
    assert "shop@main" in text


def test_without_roots_it_is_the_folder_of_the_server(history: Machine) -> None:
    assert "repository blog" in ask("stdio", history, listed, cwd=history.folder("blog"))
    assert "repository shop" in ask("stdio", history, listed, cwd=history.folder("shop"), **roots())


def test_a_client_that_fails_to_say_is_answered(history: Machine) -> None:
    async def fails(_context: Any) -> types.ErrorData:
        return types.ErrorData(code=-32000, message="no roots today")

    assert "repository shop" in ask("stdio", history, listed, list_roots_callback=fails)


def test_new_roots_count_from_when_they_are_told(history: Machine) -> None:
    now = [history.folder("blog")]

    async def current(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=folder.as_uri()) for folder in now])

    async def body(caller: Caller) -> tuple[str, str]:
        before = await listed(caller)
        now[0] = history.folder("shop")
        await caller.session.send_roots_list_changed()
        return before, await listed(caller)

    before, after = ask("stdio", history, body, list_roots_callback=current)
    assert "repository blog" in before
    assert "repository shop" in after
