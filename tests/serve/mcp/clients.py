"""The SDK's own client, over both transports, against the real program in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import anyio
import httpx2
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests import program
from tests.serve.mcp.homes import Machine

Result = TypeVar("Result")
TRANSPORTS = ("stdio", "http")


class Told(NamedTuple):
    """One answer of a tool."""

    text: str
    is_error: bool

    @property
    def cursor(self) -> str:
        """The cursor that it names, "" where it names none."""
        last = self.text.rstrip().rpartition("\n")[2]
        return last.rpartition('cursor "')[2].rstrip('"') if 'cursor "' in last else ""


class Caller:
    """A session of the client with short words for what tests do."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def call(self, tool: str, **arguments: Any) -> Told:
        return told(await self.session.call_tool(tool, arguments))

    async def fresh(self, tool: str, **arguments: Any) -> Told:
        """Return the first answer that does not say that the server is catching up."""
        for _ in range(500):
            answer = await self.call(tool, **arguments)
            if "catching up" not in answer.text:
                return answer
        raise AssertionError("it never caught up")

    async def pages(self, tool: str, **arguments: Any) -> list[str]:
        """Return every page of an answer."""
        pages = [await self.call(tool, **arguments)]
        while pages[-1].cursor:
            assert len(pages) < 200
            pages.append(await self.call(tool, **arguments, cursor=pages[-1].cursor))
        assert not any(page.is_error for page in pages)
        return [page.text for page in pages]


def told(result: Any) -> Told:
    (content,) = result.content
    assert result.structured_content is None
    return Told(content.text, bool(result.is_error))


class HttpServer(NamedTuple):
    """`recollect mcp --http` as it told of itself."""

    url: str
    token: str
    process: program.Program


@contextmanager
def http_server(machine: Machine) -> Iterator[HttpServer]:
    """Run the HTTP server on a free port; at the end it must stop at a signal, well."""
    with program.Program("mcp", "--http", "--port", "0", "--json", env=machine.env) as process:
        try:
            line = process.stdout.readline()
            assert line, process.errors()
            said = json.loads(line)
            token = Path(said["token_file"]).read_text("ascii").strip()
            yield HttpServer(said["url"], token, process)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0, process.errors()


@asynccontextmanager
async def stdio_caller(machine: Machine, cwd: Path, **session: Any) -> AsyncIterator[Caller]:
    """A client over stdio, initialized."""
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "recollect", "mcp"], env=dict(machine.env), cwd=str(cwd)
    )
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        async with stdio_client(server, errlog=nowhere) as streams, ClientSession(*streams, **session) as client:
            await client.initialize()
            yield Caller(client)


@asynccontextmanager
async def http_caller(server: HttpServer, **session: Any) -> AsyncIterator[Caller]:
    """A client over HTTP, initialized."""
    headers = {"Authorization": f"Bearer {server.token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        streamable_http_client(server.url, http_client=http) as streams,
        ClientSession(streams[0], streams[1], **session) as client,
    ):
        await client.initialize()
        yield Caller(client)


def ask(
    transport: str,
    machine: Machine,
    body: Callable[[Caller], Awaitable[Result]],
    *,
    cwd: Path | None = None,
    **session: Any,
) -> Result:
    """Return what a function makes of a client. cwd: where the server is started over stdio."""

    async def over_stdio() -> Result:
        async with stdio_caller(machine, cwd or machine.folder("shop"), **session) as caller:
            return await body(caller)

    async def over_http(server: HttpServer) -> Result:
        async with http_caller(server, **session) as caller:
            return await body(caller)

    if transport == "stdio":
        return anyio.run(over_stdio)
    with http_server(machine) as server:
        return anyio.run(over_http, server)
