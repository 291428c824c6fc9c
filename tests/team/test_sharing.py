"""Two people with a memory each share with one team, find what the other found, and take back what they shared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.errors import TeamForbidden, TeamRefused, UnknownName
from recollect.memory import ForgetSelection
from tests.team.conftest import Machine, Server, Team

EVENTS = "SELECT count(*) FROM recollect.event WHERE {mine}"
SESSIONS = "SELECT session_uid FROM recollect.session WHERE {mine} ORDER BY session_uid"


@pytest.fixture
def ada(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("analytical")
    made.session("one", "Why does the checkoutWorker leak file_handles?", "Close them in the finalizer")
    made.session("private", "My salary is not for the team", repo="diary")
    made.join(server, team.invite("ada"))
    return made


@pytest.fixture
def grace(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("harvard")
    made.join(server, team.invite("grace"))
    return made


def test_nothing_is_shared_until_a_repository_is_named(ada: Machine, team: Team) -> None:
    report = ada.memory.team.push()
    assert (report.sessions, report.events) == (0, 0)
    assert team.rows(SESSIONS) == []


def test_what_one_shares_another_finds_with_person_machine_and_event(ada: Machine, grace: Machine) -> None:
    ada.share("full")
    ada.memory.team.push()
    answer = grace.memory.team.search("checkout leak")
    (session,) = ada.memory.sessions(sync=False, where=None).sessions[-1:]
    assert answer.hits
    best = answer.hits[0]
    assert (best.person, best.machine, best.agent, best.repo) == ("ada", "analytical", "claude", "shop")
    mine = {event.event_id for event in ada.memory.events(best.session_uid)}
    assert best.event_id in mine
    assert "checkoutWorker" in best.snippet
    assert session is not None


@pytest.mark.parametrize(
    "query", ["handles", "worker", '"leak file"', "*eckoutWork*", "/file.handles/", "repo:shop finalizer"]
)
def test_the_query_language_is_the_memorys(ada: Machine, grace: Machine, query: str) -> None:
    ada.share("full")
    ada.memory.team.push()
    assert grace.memory.team.search(query).hits
    assert not grace.memory.team.search("salary").hits


@pytest.mark.parametrize(
    "query",
    [
        "'; DROP TABLE recollect.event; --",
        "\\",
        '"%"',
        "/(/",
        "\0",
        "repo:' leak",
        "a" * 9000,
        '-"\'" leak',
        "/((a+)+)+$/",
    ],
)
def test_no_query_is_sql(ada: Machine, grace: Machine, team: Team, query: str) -> None:
    ada.share("full")
    ada.memory.team.push()
    grace.memory.team.search(query)
    assert grace.memory.team.search("leak").hits
    assert team.rows(EVENTS)[0][0] > 0


def test_pushing_again_changes_nothing(ada: Machine, team: Team) -> None:
    ada.share("full")
    first = ada.memory.team.push()
    before = team.rows("SELECT * FROM recollect.event WHERE {mine} ORDER BY 3, 4, 5")
    second = ada.memory.team.push()
    assert first.events > 0
    assert (second.sessions, second.events, second.batches) == (0, 0, 0)
    assert team.rows("SELECT * FROM recollect.event WHERE {mine} ORDER BY 3, 4, 5") == before


def test_what_is_new_follows_and_nothing_else_is_sent(ada: Machine, team: Team) -> None:
    ada.share("full")
    ada.memory.team.push()
    (before,) = team.rows(EVENTS)
    written = ada.session("two", "A new question about invoices")
    written.user("And one more")
    ada.memory.sync()
    report = ada.memory.team.push()
    assert report.sessions == 1
    (after,) = team.rows(EVENTS)
    assert after[0] == before[0] + report.events
    written.assistant("One more answer")
    ada.memory.sync()
    report = ada.memory.team.push()
    assert report.sessions == 1


def test_figures_hold_no_text(ada: Machine, grace: Machine, team: Team) -> None:
    ada.share("figures")
    ada.memory.team.push()
    ((title, branch, count, tokens),) = team.rows(
        "SELECT s.title, s.branch, s.event_count, u.output_tokens FROM recollect.session s "
        "JOIN recollect.usage u USING (team_id, session_id) WHERE {mine}"
    )
    assert (title, branch) == ("", "")
    assert count > 0
    assert tokens > 0
    for table in ("event", "digest", "decision"):
        assert team.rows(f"SELECT count(*) FROM recollect.{table} WHERE {{mine}}") == [(0,)]
    assert not grace.memory.team.search("checkout").hits


def test_a_lower_level_withdraws_what_it_no_longer_allows(ada: Machine, team: Team) -> None:
    ada.share("full")
    ada.memory.team.push()
    ada.share("distilled")
    ada.memory.team.push()
    assert team.rows(EVENTS) == [(0,)]
    assert team.rows("SELECT count(*) FROM recollect.digest WHERE {mine}") == [(1,)]
    ada.share("figures")
    ada.memory.team.push()
    assert team.rows("SELECT count(*) FROM recollect.digest WHERE {mine}") == [(0,)]
    assert team.rows("SELECT title FROM recollect.session WHERE {mine}") == [("",)]
    ada.share(None)
    report = ada.memory.team.push()
    assert len(report.withdrawn) == 1
    assert team.rows(SESSIONS) == []


def test_what_is_forgotten_here_is_withdrawn_with_the_next_push(ada: Machine, grace: Machine, team: Team) -> None:
    ada.share("full")
    kept = ada.session("two", "The invoices are late")
    ada.memory.team.push()
    gone = next(hit.session_uid for hit in grace.memory.team.search("leak").hits)
    ada.memory.maintenance.forgetting.run(ForgetSelection(session=gone))
    ada.memory.team.push()
    assert team.rows(SESSIONS) == [(kept.uid,)]
    assert not grace.memory.team.search("leak").hits


def test_a_record_that_is_forgotten_is_withdrawn_from_a_session_that_stays(
    ada: Machine, grace: Machine, team: Team
) -> None:
    ada.share("full")
    ada.session("two", "The word xylophone", "An ordinary word")
    ada.memory.team.push()
    assert grace.memory.team.search("xylophone").hits
    ada.memory.maintenance.forgetting.run(ForgetSelection(pattern="xylophone"))
    ada.memory.team.push()
    assert not grace.memory.team.search("xylophone").hits
    assert grace.memory.team.search("ordinary").hits
    for table, column in (("event", "said || summary"), ("session", "title"), ("digest", "body::text")):
        assert not team.rows(f"SELECT 1 FROM recollect.{table} WHERE {{mine}} AND {column} LIKE '%%xylo%%'")


def test_a_dry_run_shows_what_would_be_sent_and_sends_nothing(ada: Machine, team: Team) -> None:
    shown: list[bytes] = []
    ada.share("full")
    report = ada.memory.team.push(show=shown.append)
    assert report.is_dry_run
    assert len(shown) == report.batches
    assert any(b"checkoutWorker" in batch for batch in shown)
    assert not any(b"salary" in batch for batch in shown)
    assert team.rows(SESSIONS) == []
    assert ada.memory.team.push().events == report.events


def test_leaving_withdraws_everything_and_ends_the_token(ada: Machine, team: Team) -> None:
    ada.share("full")
    ada.memory.team.push()
    ada.memory.team.leave()
    assert team.rows(SESSIONS) == []
    with pytest.raises(TeamRefused, match="belongs to no team"):
        ada.memory.team.push()


def test_an_invitation_holds_once(machine: Callable[[str], Machine], team: Team, server: Server) -> None:
    code = team.invite("ada")
    machine("one").join(server, code)
    with pytest.raises(TeamForbidden, match="invitation"):
        machine("two").join(server, code)


def test_a_revoked_token_ends_at_once(ada: Machine, team: Team) -> None:
    ada.share("full")
    ada.memory.team.push()
    team.administration.revoke("ada", "analytical")
    for ask in (ada.memory.team.push, ada.memory.team.audit, lambda: ada.memory.team.search("leak")):
        with pytest.raises(TeamForbidden, match="does not know this token"):
            ask()
    with pytest.raises(TeamForbidden, match="stays with the team"):
        ada.memory.team.leave()


def test_a_token_expires_by_the_databases_clock(ada: Machine, team: Team) -> None:
    team.rows("UPDATE recollect.machine SET expires_at = now() - interval '1 second' WHERE {mine}")
    with pytest.raises(TeamForbidden, match="has expired"):
        ada.memory.team.search("leak")


def test_an_unknown_repository_cannot_be_shared(ada: Machine) -> None:
    with pytest.raises(UnknownName, match="shop"):
        ada.memory.team.share("sho", "full")


def test_a_reader_is_noted_where_the_person_who_is_read_can_see_it(ada: Machine, grace: Machine) -> None:
    ada.share("full")
    ada.memory.team.push()
    grace.memory.team.search("leak")
    (line,) = [line for line in ada.memory.team.audit().lines if line.subject]
    assert (line.person, line.subject, line.detail) == ("grace", "ada", "leak")
    ada.memory.team.search("leak")  # one's own sessions are one's own
    assert [line.subject for line in grace.memory.team.audit().lines] == ["ada"]


def test_a_memory_that_was_derived_anew_is_sent_anew(ada: Machine, team: Team) -> None:
    ada.share("full")
    ada.memory.team.push()
    rows = "SELECT session_id, event_id, part, said FROM recollect.event WHERE {mine} ORDER BY 1, 2, 3"
    before = team.rows(rows)
    ada.memory.sync(force=True)
    ada.memory.team.push()
    assert team.rows(rows) == before
