"""Two people with a memory each share with one team, find what the other found, and take back what they shared."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from recollect.endpoints.team_client import TeamClient
from recollect.errors import TeamForbidden, TeamRefused, UnknownName
from recollect.memory import ForgetSelection, Memory, NewDecision, NewLearning
from recollect.model.team_messages import TeamQuestion
from recollect.recall.answers import TeamAnswer
from recollect.testing.builders import ClaudeTranscript
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


def test_of_a_session_that_grew_only_what_is_new_is_sent(ada: Machine, team: Team) -> None:
    ada.share("full")
    written = ada.session("two", "A new question about invoices", "And another")
    ada.memory.team.push()
    ids = "SELECT event_id, part, xmin::text FROM recollect.event WHERE {mine} ORDER BY 1, 2"
    before = team.rows(ids)
    written.user("And one more")
    ada.memory.sync()
    report = ada.memory.team.push()
    assert (report.sessions, report.events) == (1, 1)
    after = team.rows(ids)
    assert len(after) == len(before) + 1
    assert set(before) < set(after)  # rows that stay are not written again


def test_a_text_that_changed_alone_is_sent_again(ada: Machine, team: Team) -> None:
    ada.share("distilled")
    ada.session("two", "The deploy word is flugelhorn-4711-x")
    ada.memory.team.push()
    title = "SELECT 1 FROM recollect.session WHERE {mine} AND title LIKE '%%flugelhorn%%'"
    assert team.rows(title)
    settings = ada.folder / "recollect" / "config.toml"
    settings.write_text('[[privacy.patterns]]\nname = "flugel"\npattern = "flugelhorn-[0-9]+-x"\n')
    changed = Memory.open(ada.folder / "recollect", env=ada.env)
    with pytest.raises(TeamRefused, match="told otherwise"):
        changed.team.push()  # what is stored still holds the word
    changed.sync()
    assert changed.team.push().restarted
    changed.close()
    assert not team.rows(title)


def test_a_decision_that_is_added_follows(ada: Machine, team: Team) -> None:
    ada.share("distilled")
    ada.memory.team.push()
    (session,) = [one for one in ada.memory.sessions(sync=False, where=None).sessions if one.repo == "shop"]
    ada.memory.decisions_facet.add(NewDecision("We keep file handles open", session=session.session_uid))
    assert ada.memory.team.push().sessions == 1
    assert team.rows("SELECT 1 FROM recollect.decision WHERE {mine} AND body::text LIKE '%%handles open%%'")


def test_two_repositories_of_one_name_are_shared_apart(ada: Machine, team: Team) -> None:
    ada.session("elsewhere", "Another customer's shop", repo="customer/shop")
    with pytest.raises(TeamRefused, match="2 repositories are called shop"):
        ada.share("full")
    ada.memory.team.share(str(ada.folder / "customer" / "shop"), "full")
    ada.memory.team.push()
    said = "SELECT count(*) FROM recollect.event WHERE {mine} AND said LIKE '%%"
    assert team.rows(f"{said}customer%%'") == [(2,)]
    assert team.rows(f"{said}checkoutWorker%%'") == [(0,)]
    assert team.rows("SELECT repo FROM recollect.share WHERE {mine}") == [("shop",)]
    ada.share(None)
    ada.memory.team.push()
    assert team.rows(SESSIONS) == []


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


def learn(machine: Machine, text: str, repo: str = "shop") -> str:
    """Keep what a person says and return its id."""
    return machine.memory.learn.add(NewLearning(kind="fact", text=text, scope="repo", repo=repo)).id


def test_what_is_learned_is_shared_as_distilled_and_withdrawn_when_it_holds_no_more(
    ada: Machine, grace: Machine, team: Team
) -> None:
    rows = "SELECT body ->> 'text' FROM recollect.learning WHERE {mine}"
    known = learn(ada, "The worker needs two file handles")
    learn(ada, "My diary is nobody's business", repo="diary")
    ada.share("figures")
    ada.memory.team.push()
    assert team.rows(rows) == []
    ada.share("distilled")
    assert ada.memory.team.push().learnings == 1
    assert team.rows(rows) == [("The worker needs two file handles",)]
    assert ada.memory.team.push().batches == 0
    ada.memory.learn.retire(known, reason="It needs three")
    assert ada.memory.team.push().retired == (known,)
    assert team.rows(rows) == []


def test_what_means_the_same_is_found_without_its_words(ada: Machine, grace: Machine) -> None:
    ada.session("two", "The automobile would not start in cold weather", "Bread needs flour and yeast")
    ada.share("full")
    ada.memory.team.push()
    answer = grace.memory.team.search("car winter")
    assert "automobile" in answer.hits[0].snippet
    assert answer.notes == ()
    assert not any("Bread" in hit.snippet for hit in answer.hits)


def test_a_question_of_another_model_is_answered_by_words_and_says_so(ada: Machine, grace: Machine, team: Team) -> None:
    ada.share("full")
    ada.memory.team.push()
    mine = grace.memory.team.membership()
    asked = TeamQuestion("checkout leak", model="another", vector=bytes(range(128)) * 2)
    with TeamClient(mine.url, mine.token) as client:
        answer = client.ask("search", asked, TeamAnswer)
    assert answer.hits
    assert any("no vectors of this memory's model" in note for note in answer.notes)


def test_what_a_team_keeps_no_longer_is_removed_and_not_sent_again(ada: Machine, grace: Machine, team: Team) -> None:
    ada.share("full")
    shop = str(ada.folder / "shop")
    times = (datetime.fromtimestamp(1_600_000_000, UTC), datetime.fromtimestamp(4_000_000_000, UTC), datetime.now(UTC))
    old, wrong, now = (ClaudeTranscript(ada.folder / "claude", str(at), cwd=shop, start=at) for at in times)
    old.user("How old is the xylophone?")
    wrong.user("Which clock says so?")
    now.user("What is the time?")
    ada.memory.sync()
    ada.memory.team.push()
    assert grace.memory.team.search("xylophone").hits
    assert team.administration.keep(30) == 3
    assert team.rows(SESSIONS) == [(now.uid,)]
    assert team.rows("SELECT count(*) FROM recollect.audit WHERE {mine} AND detail = 'xylophone'") == [(1,)]
    assert ada.memory.team.push().sessions == 0
    team.administration.keep(None)
    ada.memory.team.push()
    assert len(team.rows(SESSIONS)) == 4
