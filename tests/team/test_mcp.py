"""An agent asks what a team shares: the SDK's client, the real program, a team's server and its database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.model.team_citation import read_citation
from tests.serve.mcp import homes
from tests.serve.mcp.clients import TRANSPORTS, Caller, Told, ask
from tests.team.conftest import Machine, Server, Team

LONG = " ".join(f"detail{number}" for number in range(2_000))


@pytest.fixture
def asker(tmp_path: Path, machine: Callable[[str], Machine], team: Team, server: Server) -> homes.Machine:
    ada = machine("analytical")
    ada.session("one", "Why does the checkout leak?", f"Tell everything: {LONG}")
    ada.session("two", "The checkout is late")
    ada.join(server, team.invite("ada"))
    ada.share("full")
    ada.memory.team.push()
    made = homes.Machine(tmp_path / "asker")
    homes.with_history(made)
    made.sync()
    with made.memory() as memory:
        memory.team.join(server.url, team.invite("grace"), "harvard")
    return made


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_agent_searches_opens_and_reads_what_the_team_shares(transport: str, asker: homes.Machine) -> None:
    async def body(caller: Caller) -> dict[str, list[str]]:
        found = await caller.pages("search", query="checkout leak", scope="team", max_bytes=1_000)
        cited = found[0].partition("team:")[2].split()[0]
        session = str(read_citation(f"team:{cited}")._replace(event_id="", part=0))
        everything = await caller.call("search", query="everything", scope="team", session=session)
        long = "team:" + everything.text.partition("team:")[2].split()[0]
        return {
            "search": found,
            "conversations": await caller.pages("search_conversations", query="checkout", scope="team"),
            "list": await caller.pages("list_sessions", scope="team", limit=1, repo="shop"),
            "session": await caller.pages("get_session", session=session, max_bytes=2_000),
            "open": await caller.pages("open", id=long, max_bytes=2_000),
            "status": [(await caller.fresh("status")).text],
        }

    told = ask(transport, asker, body)
    assert all("team:ada/analytical/claude:" in page for page in (*told["search"], *told["list"]))
    assert "2 sessions match" in told["conversations"][0]
    assert [("checkout leak" in page, "is late" in page) for page in told["list"]] == [(True, False), (False, True)]
    said = " ".join(told["session"])
    assert said.index("Why does the checkout leak?") < said.index("Tell everything")
    whole = " ".join(told["open"])
    assert len(told["open"]) > 3
    assert all(f"detail{number}" in whole for number in (0, 700, 1_999))
    assert 'scope "team"' in told["status"][0]
    assert "flaky" not in " ".join(told["search"])  # what is stored here is not asked


def test_what_a_team_cannot_be_asked_is_refused_in_words(asker: homes.Machine) -> None:
    async def body(caller: Caller) -> list[Told]:
        return [
            await caller.call("search", query="checkout", scope="team", collection="docs"),
            await caller.call("open", id="team:ada/analytical/claude:"),
            await caller.call("open", id="team:nobody/x/claude:1#e"),
            await caller.call("list_sessions", scope="team", after="never"),
        ]

    answers = ask("stdio", asker, body)
    assert all(answer.is_error for answer in answers)
    for answer, said in zip(answers, ("documents", "names no event", "not among", "never"), strict=True):
        assert said in answer.text


def test_without_a_team_the_scope_says_so(tmp_path: Path) -> None:
    made = homes.Machine(tmp_path)
    homes.with_history(made)
    made.sync()

    async def body(caller: Caller) -> Told:
        return await caller.call("search", query="checkout", scope="team")

    answer = ask("stdio", made, body)
    assert answer.is_error
    assert "belongs to no team" in answer.text
