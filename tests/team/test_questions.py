"""What two people with a memory each ask their team, and what each may know of who asked."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest

from recollect.errors import TeamRefused, UnknownName, UsageError
from recollect.memory import DecisionQuestion, EventFilter
from recollect.model.team_citation import TeamCitation, read_citation
from recollect.model.team_messages import TEAM_USAGE_BY, TeamUsageBy
from tests.team.conftest import Machine, Server, Team

EVERYTHING = EventFilter()


@pytest.fixture
def ada(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("analytical engine")
    made.session("one", "Why does the checkout leak?", "Never use tabs in this repository. We use spaces instead.")
    made.session("two", "The invoices are late", repo="bills")
    made.join(server, team.invite("ada lovelace"))
    made.share("full")
    made.share("distilled", "bills")
    made.memory.team.push()
    return made


@pytest.fixture
def grace(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("harvard")
    made.join(server, team.invite("grace"))
    return made


@pytest.mark.parametrize(
    "place",
    [
        TeamCitation("ada", "laptop", "claude:5f0c"),
        TeamCitation("ada", "laptop", "claude:5f0c", "e1"),
        TeamCitation("ada", "laptop", "claude:5f0c", "e1", 3),
        TeamCitation("a/b #c%", "the\nbox", "aider:/w/shop#1", "x.2"),
        TeamCitation("å", "ü", "claude:a/b", "v1.2#3", 1),
    ],
)
def test_a_citation_is_read_as_it_is_written(place: TeamCitation) -> None:
    assert read_citation(str(place)) == place
    assert str(place).split() == [str(place)]


@pytest.mark.parametrize("text", ["", "team:", "team:ada", "team:ada/laptop", "team:ada//x", "claude:5f0c#1"])
def test_what_cites_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="cites nothing of a team"):
        read_citation(text)


def test_sessions_are_listed_with_who_shared_them_newest_first(ada: Machine, grace: Machine) -> None:
    page = grace.memory.team.sessions(EVERYTHING)
    own = {one.session_uid: one for one in ada.memory.sessions(sync=False, where=None).sessions}
    assert [one.session_uid for one in page.sessions] == list(own)
    assert page.total == 2
    for one in page.sessions:
        mine = own[one.session_uid]
        assert (one.person, one.machine) == ("ada lovelace", "analytical engine")
        assert (one.title, one.repo, one.turn_count, one.ended_at) == (
            mine.title, mine.repo, mine.turn_count, mine.ended_at,
        )  # fmt: skip
    assert [one.repo for one in grace.memory.team.sessions(EventFilter(repos=("hop",))).sessions] == ["shop"]
    assert grace.memory.team.sessions(EventFilter(agents=("codex",))).total == 0
    assert grace.memory.team.sessions(EventFilter(agents=("Claude Code",))).total == 2
    rest = grace.memory.team.sessions(EVERYTHING, limit=1, offset=1)
    assert (len(rest.sessions), rest.total) == (1, 2)
    assert grace.memory.team.sessions(EVERYTHING, after=1 << 61).total == 0
    with pytest.raises(UnknownName):
        grace.memory.team.sessions(EventFilter(agents=("nobody",)))


def test_a_citation_opens_the_event_and_the_reading_is_noted(ada: Machine, grace: Machine) -> None:
    hit = grace.memory.team.search("checkout").hits[0]
    view = grace.memory.team.show(hit.citation)
    cited = next(one for one in view.events if (one.event_id, one.part) == (hit.event_id, hit.part))
    assert "checkout" in cited.text
    assert view.session.person == "ada lovelace"
    line = ada.memory.team.audit().lines[0]
    assert (line.person, line.action, line.subject, line.session_uid, line.detail) == (
        "grace", "show", "ada lovelace", hit.session_uid, hit.citation,
    )  # fmt: skip
    ada.memory.team.show(hit.citation)
    assert ada.memory.team.audit().lines[0].subject == ""  # one's own sessions are one's own


def test_a_session_is_opened_page_by_page_and_by_a_beginning_of_its_name(ada: Machine, grace: Machine) -> None:
    hit = grace.memory.team.search("checkout").hits[0]
    whole = read_citation(hit.citation)._replace(event_id="", part=0)
    first = grace.memory.team.show(str(whole._replace(session_uid=whole.session_uid[:12])), limit=2)
    assert first.next_seq is not None
    rest = grace.memory.team.show(str(whole), first=first.next_seq)
    shown = [(one.event_id, one.part) for one in (*first.events, *rest.events)]
    mine = [(e.event_id, e.part) for e in ada.memory.events(hit.session_uid) if e.kind != "token_usage"]
    assert shown == mine
    assert len(first.events) == 2


def test_a_level_without_events_opens_and_says_so(ada: Machine, grace: Machine) -> None:
    (bills,) = grace.memory.team.sessions(EventFilter(repos=("bills",))).sessions
    view = grace.memory.team.show(bills.citation)
    assert (view.events, view.session.title) == ((), bills.title)
    assert "not shared" in view.notes[0]


@pytest.mark.parametrize(
    "cited",
    ["team:ada/x/claude:", "team:nobody/x/claude:5", "team:a%00b/x%25/%'; DROP TABLE", "team:ada lovelace/x/%25"],
)
def test_a_forged_citation_opens_nothing(ada: Machine, grace: Machine, cited: str) -> None:
    with pytest.raises(TeamRefused, match="is not among what the team shares"):
        grace.memory.team.show(cited)


def test_an_event_that_was_withdrawn_is_gone(ada: Machine, grace: Machine) -> None:
    hit = grace.memory.team.search("checkout").hits[0]
    ada.share("distilled")
    ada.memory.team.push()
    with pytest.raises(TeamRefused, match="any more"):
        grace.memory.team.show(hit.citation)
    ada.share(None)
    ada.memory.team.push()
    with pytest.raises(TeamRefused, match="is not among what the team shares"):
        grace.memory.team.show(hit.citation)


def test_decisions_are_told_with_person_and_event(ada: Machine, grace: Machine) -> None:
    mine = ada.memory.decisions_facet.find(DecisionQuestion()).decisions
    answer = grace.memory.team.decisions(DecisionQuestion())
    assert mine
    assert [view.decision.id for view in answer.decisions] == [view.decision.id for view in mine]
    view = answer.decisions[0]
    assert (view.person, view.machine, view.state, view.repo) == ("ada lovelace", "analytical engine", "holds", "shop")
    opened = grace.memory.team.show(view.citation)
    assert any(one.event_id == view.event_id for one in opened.events)
    line = next(line for line in ada.memory.team.audit().lines if line.action == "decisions")
    assert (line.person, line.session_uid) == ("grace", view.session_uid)
    for asked in (
        DecisionQuestion(words=("TABS",)), DecisionQuestion(words=(view.decision.id[:20],)),
        DecisionQuestion(session=view.session_uid[:12]), DecisionQuestion(session=view.citation.partition("#")[0]),
        DecisionQuestion(repos=("=shop",)),
    ):  # fmt: skip
        assert view.decision.id in [one.decision.id for one in grace.memory.team.decisions(asked).decisions]
    for asked in (
        DecisionQuestion(words=("true",)), DecisionQuestion(words=("xylophone%",)), DecisionQuestion(repos=("bill",)),
        DecisionQuestion(at=0), DecisionQuestion(states=("reversed",)), DecisionQuestion(words=("'; DROP TABLE",)),
    ):  # fmt: skip
        assert grace.memory.team.decisions(asked).decisions == ()


def test_a_decision_that_another_one_follows_holds_no_more_for_the_team(
    machine: Callable[[str], Machine], grace: Machine, team: Team, server: Server
) -> None:
    ada = machine("analytical")
    ada.session("one", "Let's use Redis for the cache, not Memcached.")
    ada.session("two", "Let's use Memcached for the cache instead of Redis.")
    ada.join(server, team.invite("ada"))
    ada.share("distilled")
    ada.memory.team.push()
    asked = DecisionQuestion(states=("holds", "contradicted", "superseded", "reversed"))
    mine = {view.decision.id: view.state for view in ada.memory.decisions_facet.find(asked).decisions}
    told = {view.decision.id: view.state for view in grace.memory.team.decisions(asked).decisions}
    assert set(mine.values()) != {"holds"}
    assert told == mine


def test_members_are_listed_and_owners_see_what_machines_share(
    ada: Machine, grace: Machine, machine: Callable[[str], Machine], team: Team, server: Server
) -> None:
    team.administration.grant("grace", "lead", "compilers")
    olga = machine("office")
    olga.join(server, team.owner_code)
    seen = {one.person: one for one in olga.memory.team.members().members}
    assert seen["ada lovelace"].shares == {"analytical engine": {"bills": "distilled", "shop": "full"}}
    assert (seen["grace"].role, seen["grace"].group, seen["grace"].machines) == ("lead", "compilers", ("harvard",))
    assert all(one.shares == {} for one in grace.memory.team.members().members)


def test_a_member_sees_figures_of_ones_own(ada: Machine, grace: Machine) -> None:
    report = ada.memory.team.usage("repo", EVERYTHING)
    mine = ada.memory.usage.report(by="repo")
    assert {row.key: row.totals for row in report.rows} == {row.key: row.totals for row in mine.rows}
    assert report.total == mine.total
    assert any("your own" in note for note in report.notes)
    assert grace.memory.team.usage("repo", EVERYTHING).rows == ()


@pytest.fixture
def lead(machine: Callable[[str], Machine], team: Team, server: Server) -> Machine:
    made = machine("bridge")
    made.join(server, team.invite("lena", "lead"))
    return made


def test_no_filter_takes_the_figures_of_few_out_of_those_of_many(lead: Machine, team: Team) -> None:
    """Six people with claude in shop, one of them with codex and in site too; each session another power of two."""
    whose = figures_of(team, [
        *(("shop", "claude", "fable", f"p{number}", 1) for number in range(6)),
        *(("shop", "claude", "fable", f"p{number}", 2) for number in range(5)),
        ("shop", "codex", "fable", "p0", 1), ("site", "claude", "fable", "p0", 1), ("shop", "claude", "other", "p1", 1),
        ("site", "claude", "fable", "p2", 2), ("site", "codex", "fable", "p3", 1), ("site", "codex", "other", "p4", 1),
    ])  # fmt: skip
    answers: list[set[int]] = []
    times = [BEGAN_US + days * 86_400_000_000 for days in (-7, 0, 1, 6, 7, 8, 14)]
    names = list(product(((), ("claude",), ("codex",)), ((), ("shop",), ("site",))))
    asked = [
        *((by, *filters, None, None) for by, filters in product(TEAM_USAGE_BY, names)),
        *((TEAM_USAGE_BY[0], *filters, *within) for filters, within in product(names[:2], combinations(times, 2))),
    ]
    for by, agents, repos, after, before in asked:
        report = lead.memory.team.usage(by, EventFilter(agents=agents, repos=repos), after=after, before=before)
        for totals in (report.total, *(row.totals for row in report.rows)):
            found = {number for number in whose if totals.input_tokens >> number & 1}
            if found and found not in answers:
                answers.append(found)
    assert len(answers) > 1
    for one, other in (*combinations(answers, 2), *((answer, set[int]()) for answer in answers)):
        for difference in (one - other, other - one):
            assert not difference or len({whose[number] for number in difference}) >= 4


BEGAN_US = 1_772_409_600_000_000
"""2026-03-02, a Monday."""


def figures_of(team: Team, sessions: list[tuple[str, str, str, str, int]]) -> dict[int, str]:
    """Put sessions of (repository, agent, model, person, week) into the database; return whose each is, by number."""
    for number, (repo, agent, model, person, week) in enumerate(sessions):
        team.execute(
            "WITH who AS (INSERT INTO recollect.member (team_id, name, role) VALUES (%(team)s, %(person)s, 'member') "
            "ON CONFLICT (team_id, name) DO UPDATE SET role = 'member' RETURNING member_id), "
            "box AS (INSERT INTO recollect.machine (team_id, member_id, name, token_hash, expires_at) "
            "SELECT %(team)s, member_id, %(uid)s, sha256(%(uid)s::text::bytea), now() FROM who "
            "RETURNING machine_id, member_id), "
            "one AS (INSERT INTO recollect.session (team_id, machine_id, member_id, session_uid, level, stamp, agent, "
            "repo, outcome, event_count, turn_count, title, branch, started_at, received_at) SELECT %(team)s, "
            "machine_id, member_id, %(uid)s, 'figures', 1, %(agent)s, %(repo)s, 'unknown', 1, 1, '', '', %(began)s, "
            "now() - interval '8 days' FROM box RETURNING session_id, member_id, machine_id) "
            "INSERT INTO recollect.usage (team_id, session_id, member_id, machine_id, model, input_tokens, "
            "output_tokens, cache_tokens, responses) "
            "SELECT %(team)s, session_id, member_id, machine_id, %(model)s, %(tokens)s, 0, 0, 1 FROM one",
            team=team.team_id, person=person, uid=f"{agent}:{number}", agent=agent, repo=repo, model=model,
            began=BEGAN_US + (week - 1) * 7 * 86_400_000_000, tokens=1 << number,
        )  # fmt: skip
    return {number: person for number, (*_, person, _week) in enumerate(sessions)}


@pytest.mark.parametrize("by", TEAM_USAGE_BY)
def test_a_lead_sees_figures_of_the_team(lead: Machine, team: Team, by: TeamUsageBy) -> None:
    figures_of(team, [("shop", "claude", "fable", f"p{number}", 1) for number in range(4)])
    report = lead.memory.team.usage(by, EVERYTHING)
    keys: dict[TeamUsageBy, str] = {
        "repo": "shop", "model": "fable", "agent": "claude", "group": "", "week": "2026-03-02", "total": "total",
    }  # fmt: skip
    (row,) = report.rows
    assert (row.key, row.totals, row.unpriced_models) == (keys[by], report.total, ("fable",))
    assert (report.total.input_tokens, report.total.responses, report.total.cost_usd) == (15, 4, None)


def test_an_auditor_reads_who_asked_what(
    ada: Machine, grace: Machine, machine: Callable[[str], Machine], team: Team, server: Server
) -> None:
    grace.memory.team.sessions(EventFilter(repos=("shop",)))
    grace.memory.team.usage("total", EVERYTHING)
    auditor = machine("tower")
    auditor.join(server, team.invite("alan", "auditor"))
    lines: list[Any] = [(line.person, line.action, line.detail) for line in auditor.memory.team.audit().lines]
    assert lines == [("grace", "usage", "by total"), ("grace", "sessions", "repo:shop")]
    assert auditor.memory.team.sessions(EVERYTHING).total == 0
    assert auditor.memory.team.decisions(DecisionQuestion()).decisions == ()
