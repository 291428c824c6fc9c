"""The commands, each in a process of its own, from an empty database to what another person found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from tests import program
from tests.team.conftest import Database, Machine, Server


def run(*words: str, machine: Machine | None = None, said: str = "", code: int = 0, **env: str) -> Any:
    """Run a command and return what its JSON says, or its error."""
    env = {**os.environ, **(machine.env if machine is not None else {}), **env}
    done = program.run_text(*words, "--json", stdin=said, env=env)
    assert done.returncode == code, done.stderr + done.stdout
    return json.loads(done.stdout) if code < 2 else done.stdout + done.stderr


def test_from_an_empty_database_to_what_another_found(
    database: Database, server: Server, machine: Callable[[str], Machine]
) -> None:
    owner = {"RECOLLECT_TEAM_DATABASE": database.url}
    made = run("team", "init", "commands", "--owner", "ada", **owner)
    assert made["server_url"].startswith("postgresql://recollect_server")
    invited = run("team", "invite", "grace", "--role", "lead", "--team", "commands", **owner)
    ada, grace = machine("analytical"), machine("harvard")
    for one, code in ((ada, made["code"]), (grace, invited["code"])):
        assert (
            run("team", "join", server.url, "--machine", one.name, said=f"{code}\n", machine=one)["team"] == "commands"
        )
    ada.session("one", "Why does the checkout leak?")
    assert "no repository" in run("team", "share", "nowhere", "--level", "full", machine=ada, code=2)
    assert run("team", "share", "shop", "--level", "full", machine=ada)["shares"] == {str(ada.folder / "shop"): "full"}
    sent = run("team", "push", machine=ada)
    assert (sent["sessions"], sent["is_dry_run"]) == (1, False)
    answer = run("search", "--team", "checkout", "leak", machine=grace)
    assert {(hit["person"], hit["machine"]) for hit in answer["hits"]} == {("ada", "analytical")}
    assert run("search", "--team", "nothing-like-it", machine=grace, code=1)["hits"] == []
    (hit, *_) = answer["hits"]
    cited = f"team:ada/analytical/{hit['session_uid']}#{hit['event_id']}"
    assert hit["citation"] == cited
    assert run("show", cited, machine=grace)["session"]["person"] == "ada"
    assert [one["citation"] for one in run("sessions", "--team", machine=grace)["sessions"]] == [
        cited.partition("#")[0]
    ]
    assert run("sessions", "--team", "--repo", "none", machine=grace, code=1)["total"] == 0
    assert run("decisions", "--team", "--session", cited.partition("#")[0], machine=grace, code=1)["decisions"] == []
    assert run("usage", "--team", machine=ada, code=1)["rows"] == []
    assert run("usage", "--team", "--by", "week", machine=grace, code=1)["by"] == "week"
    for refused, said in (
        (("usage", "--team", "--by", "day"), "a team has no figures by day"),
        (("usage", "--by", "group"), "only a team has figures by group"),
        (("show", "team:ada"), "cites nothing of a team"),
    ):
        assert said in run(*refused, machine=grace, code=2)
    assert run("team", "audit", machine=ada)["lines"][-1]["person"] == "grace"
    assert {one["person"]: one["shares"] for one in run("team", "members", machine=ada)["members"]} == {
        "ada": {"analytical": {"shop": "full"}}, "grace": {},
    }  # fmt: skip
    status = run("team", "status", machine=ada)
    server_says = status["server"]
    assert (server_says["role"], [held["level"] for held in server_says["held"]]) == ("owner", ["full"])
    assert (status["waiting"], status["failure"], status["pushed_at"] is not None) == (0, "", True)
    held = run("team", "status", "--database", database.url, "--team", "commands")
    assert (held["members"], held["machines"], held["sessions"]) == (2, 2, 1)
    run("team", "grant", "grace", "auditor", "--group", "audit", "--team", "commands", **owner)
    assert run("search", "--team", "checkout", machine=grace, code=1)["hits"] == []
    assert run("team", "revoke", "grace", "--team", "commands", **owner)["tokens"] == 1
    assert "does not know this token" in run("search", "--team", "checkout", machine=grace, code=3)
    roles = {
        one["person"]: (one["is_revoked"], one["group"])
        for one in run("team", "members", "--team", "commands", **owner)["members"]
    }
    assert roles == {"ada": (False, ""), "grace": (True, "audit")}
    assert run("team", "leave", machine=ada) == {"left": "commands"}
    assert run("team", "status", "--database", database.url, "--team", "commands")["sessions"] == 0


def test_the_text_of_a_hit_cites_the_event_with_person_and_machine(
    server: Server, database: Database, machine: Callable[[str], Machine]
) -> None:
    made = run("team", "init", "texts", "--owner", "ada", RECOLLECT_TEAM_DATABASE=database.url)
    ada = machine("analytical")
    ada.session("one", "Why does the checkout leak?")
    ada.join(server, made["code"])
    ada.share("full")
    ada.memory.team.push()
    hit = ada.memory.team.search("checkout").hits[0]

    def said(*words: str) -> str:
        return program.run_text(*words, env={**os.environ, **ada.env}).stdout

    for words in (("search", "--team", "checkout"), ("show", hit.citation)):
        assert "ada on analytical" in said(*words)
    assert f"team:ada/analytical/{hit.session_uid}#{hit.event_id}" in said("search", "--team", "checkout")
    assert f"team:ada/analytical/{hit.session_uid}" in said("sessions", "--team")
    assert "Why does the checkout leak?" in said("show", hit.citation)
    assert "ada asked" in said("team", "audit")
    assert "analytical shares shop (full)" in said("team", "members")
