"""Each role, connected with plain SQL as the server's role of the database, sees and writes what it may and no more.

Nothing of our server takes part here: a hole in it would not open these.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from recollect.model.team_messages import ROLES, TeamRole
from tests.team.conftest import Database, Team

psycopg = pytest.importorskip("psycopg")

READERS = ("member", "lead", "owner")
TEXTS = ("event", "passage", "learning", "digest", "decision", "decision_link")
SEED = int(os.environ.get("RECOLLECT_FAULT_SEED", random.randrange(1 << 30)))
NEAR = "SELECT 1 FROM recollect.find_near(%s, 'm', array_fill(1, ARRAY[256])::halfvec, 9)"
Ask = Callable[..., list[tuple[Any, ...]]]


class Person:
    """A member with one machine and its token."""

    def __init__(self, team: Team, name: str, role: TeamRole) -> None:
        from recollect.team.database import credential, new_token

        self.name = name
        self._url = team.database.server_url
        self.shown = credential(team.invite(name, role))
        _token, self.hashed = new_token(self.shown.team_id)
        with psycopg.connect(self._url) as db:
            statement = "SELECT person FROM recollect.join_team(%s, %s, %s, %s, '1 day')"
            assert db.execute(statement, (*self.shown, f"{name}'s machine", self.hashed)).fetchone() == (name,)

    @contextmanager
    def asking(self) -> Iterator[Ask]:
        """Give a transaction of this person."""
        with closing(psycopg.connect(self._url)) as db, db.transaction():
            found = db.execute("SELECT is_expired FROM recollect.enter(%s, %s)", (self.shown.team_id, self.hashed))
            assert found.fetchone() == (False,)

            def ask(statement: str, *values: object) -> list[tuple[Any, ...]]:
                done = db.execute(statement, values or None)
                return done.fetchall() if done.description else []

            yield ask

    def share(self, name: str, level: str) -> int:
        """Share one session, with one event, a digest and a decision where the level has them."""
        with self.asking() as ask:
            ask("SELECT recollect.make_month()")
            ((session_id, month),) = ask(
                "INSERT INTO recollect.session (team_id, machine_id, member_id, session_uid, level, stamp, agent, "
                "repo, outcome, event_count, turn_count, title, branch) VALUES (recollect.present_team(), "
                "recollect.present_machine(), recollect.present_member(), %s, %s, 1, 'claude', 'shop', 'success', 1, "
                "1, '', '') RETURNING session_id, month",
                name,
                level,
            )
            ask(
                "INSERT INTO recollect.usage VALUES (recollect.present_team(), %s, recollect.present_member(), 'm', 1, "
                "2, 3, 4, 0.5)",
                session_id,
            )
            if level != "figures":
                ask(
                    "INSERT INTO recollect.digest VALUES "
                    "(recollect.present_team(), %s, recollect.present_member(), '{}')",
                    session_id,
                )
                ask(
                    "INSERT INTO recollect.decision VALUES (recollect.present_team(), %s, 'node', "
                    "recollect.present_member(), '{}')",
                    session_id,
                )
                ask(
                    "INSERT INTO recollect.decision_link VALUES (recollect.present_team(), %s, 'node', 'older', "
                    "recollect.present_member(), '{}')",
                    session_id,
                )
            if level == "full":
                self.add_event(ask, session_id, month)
                self.add_passage(ask, session_id, month)
                ask(
                    "INSERT INTO recollect.share VALUES (recollect.present_team(), recollect.present_machine(), "
                    "'shop', 'distilled')"
                )
                self.add_learning(ask, "shop")
        return int(session_id)

    @staticmethod
    def add_learning(ask: Ask, repo: str) -> None:
        """Add what was learned of a repository."""
        ask(
            "INSERT INTO recollect.learning VALUES (recollect.present_team(), recollect.present_machine(), %s, "
            "recollect.present_member(), 1, %s, 'fact', '{}')",
            f"of {repo}",
            repo,
        )

    @staticmethod
    def add_passage(ask: Ask, session_id: int, month: object, piece: int = 0) -> None:
        """Add a vector of the one event of a session."""
        ask(
            "INSERT INTO recollect.passage VALUES (recollect.present_team(), %s, %s, 'e', 0, %s, "
            "recollect.present_machine(), recollect.present_member(), 'm', array_fill(1, ARRAY[256])::halfvec)",
            month,
            session_id,
            piece,
        )

    @staticmethod
    def add_event(ask: Ask, session_id: int, month: object, event_id: str = "e") -> None:
        """Add one event to a session."""
        ask(
            "INSERT INTO recollect.event (team_id, month, session_id, event_id, part, seq, machine_id, member_id, "
            "kind, role, turn_index, tool, summary, said, paths, is_undone) VALUES (recollect.present_team(), %s, %s, "
            "%s, 0, 0, recollect.present_machine(), recollect.present_member(), 'user_message', 'user', 0, '', '', "
            "'the leak', '', false)",
            month,
            session_id,
            event_id,
        )


@pytest.fixture
def ada(team: Team) -> Person:
    person = Person(team, "ada", "member")
    for level in ("figures", "distilled", "full"):
        person.share(level, level)
    return person


@pytest.fixture
def other(team: Team, request: pytest.FixtureRequest) -> Person:
    return Person(team, "grace", request.param)


def every(roles: tuple[str, ...] = ROLES) -> pytest.MarkDecorator:
    """Return what runs a test as each role."""
    return pytest.mark.parametrize("other", roles, indirect=True)


@every(READERS)
def test_readers_see_what_is_shared_and_figures_of_nobody(ada: Person, other: Person) -> None:
    with other.asking() as ask:
        assert ask("SELECT session_uid FROM recollect.session ORDER BY 1") == [("distilled",), ("full",)]
        assert [len(ask(f"SELECT 1 FROM recollect.{table}")) for table in TEXTS] == [1, 1, 1, 2, 2, 2]
        assert ask("SELECT 1 FROM recollect.usage") == []


@every(("auditor",))
def test_an_auditor_sees_no_session_of_others(ada: Person, other: Person) -> None:
    with other.asking() as ask:
        for table in ("session", "usage", *TEXTS):
            assert ask(f"SELECT 1 FROM recollect.{table}") == []
        assert ask("SELECT 1 FROM recollect.find_events(%s, 9)", asked("leak")) == []
        assert ask(NEAR, asked("leak")) == []


@every()
def test_a_person_sees_all_of_ones_own(other: Person) -> None:
    for level in ("figures", "distilled", "full"):
        other.share(level, level)
    with other.asking() as ask:
        assert [len(ask(f"SELECT 1 FROM recollect.{t}")) for t in ("session", "usage", *TEXTS)] == [
            3,
            3,
            1,
            1,
            1,
            2,
            2,
            2,
        ]
        assert len(ask("SELECT 1 FROM recollect.find_events(%s, 9)", asked("leak"))) == 1
        assert len(ask(NEAR, asked("leak"))) == 1


@every()
def test_nobody_changes_or_removes_what_another_shared(ada: Person, other: Person, team: Team) -> None:
    with other.asking() as ask:
        for table in ("session", "usage", *TEXTS):
            ask(f"DELETE FROM recollect.{table}")
        ask("UPDATE recollect.session SET title = 'mine', level = 'full'")
        ask("UPDATE recollect.event SET said = 'mine'")
        ask("UPDATE recollect.machine SET position = 7")
    assert team.rows("SELECT count(*) FROM recollect.session WHERE {mine} AND title = ''") == [(3,)]
    assert team.rows("SELECT said FROM recollect.event WHERE {mine}") == [("the leak",)]
    assert team.rows("SELECT count(*) FROM recollect.machine WHERE {mine} AND position = 7") == [(1,)]


@every()
@pytest.mark.parametrize("table", ["event", "passage", "digest", "decision", "decision_link", "usage"])
def test_nobody_writes_into_the_session_of_another(ada: Person, other: Person, team: Team, table: str) -> None:
    ((session_id, month, machine),) = team.rows(
        "SELECT session_id, month, machine_id FROM recollect.session WHERE {mine} AND session_uid = 'full'"
    )
    team.rows("DELETE FROM recollect.digest WHERE {mine}")  # its place is free
    own = "recollect.present_team(), %s, recollect.present_member()"
    values = {
        "usage": f"({own}, 'x', 1, 1, 1, 1, 1)",
        "digest": f"({own}, '{{}}')",
        "decision": "(recollect.present_team(), %s, 'x', recollect.present_member(), '{}')",
        "decision_link": "(recollect.present_team(), %s, 'x', 'y', recollect.present_member(), '{}')",
    }

    def write(ask: Ask) -> None:
        if table == "event":
            other.add_event(ask, session_id, month, "forged")
        elif table == "passage":
            other.add_passage(ask, session_id, month, 1)
        else:
            ask(f"INSERT INTO recollect.{table} VALUES {values[table]}", session_id)

    with pytest.raises(psycopg.errors.ForeignKeyViolation), other.asking() as ask:  # at the end of the transaction
        write(ask)
    other.share("own", "full")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), other.asking() as ask:
        ask(f"UPDATE recollect.{table} SET machine_id = %s WHERE member_id = recollect.present_member()", machine)


@every()
def test_nothing_that_was_learned_comes_of_a_repository_that_is_not_shared(other: Person) -> None:
    other.share("full", "full")
    with pytest.raises(psycopg.errors.ForeignKeyViolation), other.asking() as ask:
        other.add_learning(ask, "diary")


def test_events_need_the_level_that_allows_them(ada: Person, team: Team) -> None:
    ((session_id, month),) = team.rows(
        "SELECT session_id, month FROM recollect.session WHERE {mine} AND session_uid = 'distilled'"
    )
    with pytest.raises(psycopg.errors.ForeignKeyViolation), ada.asking() as ask:
        ada.add_event(ask, session_id, month)


@every()
def test_no_session_can_be_made_in_the_name_of_another(ada: Person, other: Person, team: Team) -> None:
    ((machine, member),) = team.rows("SELECT machine_id, member_id FROM recollect.session WHERE {mine} LIMIT 1")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), other.asking() as ask:
        ask(
            "INSERT INTO recollect.session (team_id, machine_id, member_id, session_uid, level, stamp, agent, repo, "
            "outcome, event_count, turn_count, title, branch) VALUES (recollect.present_team(), %s, %s, 'forged', "
            "'full', 1, 'claude', 'shop', 'success', 1, 1, '', '')",
            machine,
            member,
        )


@every()
def test_another_team_is_not_there(ada: Person, other: Person, database: Database) -> None:
    stranger = Person(Team(database), "mallory", "owner")
    with stranger.asking() as ask:
        for table in ("session", "usage", "audit", "share", *TEXTS):
            assert ask(f"SELECT 1 FROM recollect.{table}") == []
        assert len(ask("SELECT 1 FROM recollect.team")) == 1
        assert {name for (name,) in ask("SELECT name FROM recollect.member")} == {"mallory", "olga"}
        assert ask("SELECT 1 FROM recollect.find_events(%s, 9)", asked("leak")) == []


def test_without_a_token_nothing_is_there(ada: Person, database: Database) -> None:
    with psycopg.connect(database.server_url) as db:
        assert db.execute("SELECT 1 FROM recollect.enter(%s, %s)", (ada.shown.team_id, b"x" * 32)).fetchall() == []
        assert db.execute("SELECT 1 FROM recollect.enter(%s, %s)", (uuid.uuid4(), ada.hashed)).fetchall() == []
        for table in ("team", "member", "share", "session", "usage", "audit", *TEXTS):
            assert db.execute(f"SELECT 1 FROM recollect.{table}").fetchall() == []
        assert db.execute("SELECT 1 FROM recollect.find_events(%s, 9)", (asked("leak"),)).fetchall() == []
        assert db.execute(NEAR, (asked("leak"),)).fetchall() == []


@every()
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT token_hash FROM recollect.machine",
        "SELECT * FROM recollect.invitation",
        "UPDATE recollect.machine SET revoked_at = NULL",
        "UPDATE recollect.machine SET expires_at = now() + interval '1 year'",
        "UPDATE recollect.member SET role = 'owner'",
        "INSERT INTO recollect.member (team_id, name, role) VALUES (recollect.present_team(), 'x', 'owner')",
        "DELETE FROM recollect.audit",
        "UPDATE recollect.audit SET detail = ''",
        "ALTER TABLE recollect.event DISABLE ROW LEVEL SECURITY",
        "CREATE TABLE recollect.mine (team_id uuid)",
        "TRUNCATE recollect.session CASCADE",
    ],
)
def test_no_role_may(other: Person, statement: str) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege), other.asking() as ask:
        ask(statement)


def test_no_partition_can_be_read_past_the_policies(ada: Person, team: Team) -> None:
    parts = team.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'recollect.event'::regclass"
    )
    assert parts
    for (part,) in parts:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), ada.asking() as ask:
            ask(f"SELECT 1 FROM {part}")


@every()
def test_who_was_read_and_auditors_read_the_audit(ada: Person, other: Person, team: Team) -> None:
    reader = Person(team, "rita", "member")
    ((subject,),) = team.rows("SELECT DISTINCT member_id FROM recollect.session WHERE {mine}")
    with reader.asking() as ask:
        ask(
            "INSERT INTO recollect.audit (team_id, asker_id, action, subject_id) "
            "VALUES (recollect.present_team(), recollect.present_member(), 'search', %s)",
            subject,
        )
    with ada.asking() as ask:
        assert len(ask("SELECT 1 FROM recollect.audit")) == 1
    with other.asking() as ask:
        ((role,),) = ask("SELECT recollect.present_role()")
        assert len(ask("SELECT 1 FROM recollect.audit")) == (role == "auditor")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), other.asking() as ask:
        ask(
            "INSERT INTO recollect.audit (team_id, asker_id, action) VALUES (recollect.present_team(), %s, 'search')",
            subject,
        )


FIGURES = "SELECT repo, input_tokens, output_tokens, cost_usd FROM recollect.team_figures()"


def received_before_this_week(team: Team) -> None:
    """Make every session one that was received in an earlier week."""
    team.rows("UPDATE recollect.session SET received_at = now() - interval '8 days' WHERE {mine}")


@every()
def test_figures_of_fewer_than_four_people_are_withheld(ada: Person, other: Person, team: Team) -> None:
    people = [Person(team, f"person {number}", "member") for number in range(3)]
    for number, person in enumerate(people, 2):
        received_before_this_week(team)
        with other.asking() as ask:
            assert ask(FIGURES) == []
        person.share(f"session {number}", "figures")
    received_before_this_week(team)
    with other.asking() as ask:
        ((role,),) = ask("SELECT recollect.present_role()")
        assert ask("SELECT count(*) FROM recollect.usage") == [(0,)]
        figures = ask(FIGURES)
    assert figures == ([("shop", 6, 12, 3.0)] if role in ("lead", "owner") else [])


@every(("lead",))
def test_figures_do_not_move_while_a_week_lasts(ada: Person, other: Person, team: Team) -> None:
    for number in range(3):
        Person(team, f"person {number}", "member").share("one", "figures")
    with other.asking() as ask:
        assert ask(FIGURES) == []
    received_before_this_week(team)
    ada.share("today", "figures")
    with other.asking() as ask:
        assert ask(FIGURES) == [("shop", 6, 12, 3.0)]


@every(("lead", "owner"))
def test_no_figure_and_no_difference_of_figures_is_of_fewer_than_four(other: Person, team: Team) -> None:
    """Each session uses another power of two of tokens, so that a sum tells which sessions are in it."""
    chance = random.Random(SEED)
    people = [Person(team, f"person {number}", "member") for number in range(9)]
    whose: dict[int, str] = {}
    for number in range(60):
        person = chance.choice(people)
        session = person.share(f"session {number}", "figures")
        whose[number] = person.name
        team.execute(
            "UPDATE recollect.session SET repo = %(repo)s, agent = %(agent)s, people_group = %(group)s, "
            "started_at = %(began)s, received_at = date_trunc('week', now()) - make_interval(weeks => %(seen)s) "
            "WHERE team_id = %(team)s AND session_id = %(session)s",
            team=team.team_id, session=session, repo=chance.choice(["shop", "shop", "site"]),
            agent=chance.choice(["claude", "claude", "codex"]), group=chance.choice(["", "blue"]),
            began=chance.choice([1, 2, 900_000_000_000]), seen=chance.choice([1, 2]),
        )  # fmt: skip
        team.execute(
            "UPDATE recollect.usage SET input_tokens = %(tokens)s, model = %(model)s "
            "WHERE team_id = %(team)s AND session_id = %(session)s",
            team=team.team_id, session=session, tokens=1 << number, model=chance.choice("mmn"),
        )  # fmt: skip
    with other.asking() as ask:
        sums = [int(tokens) for (tokens,) in ask("SELECT input_tokens FROM recollect.team_figures()")]
    cells = [{number for number in whose if tokens >> number & 1} for tokens in sums]
    assert cells, f"seed {SEED}"
    assert all(len({whose[number] for number in cell}) >= 4 for cell in cells), f"seed {SEED}"
    assert sum(map(len, cells)) == len(set().union(*cells)), f"two cells share a session, seed {SEED}"


@every(READERS)
def test_what_one_response_used_is_read_by_nobody_else(ada: Person, other: Person, team: Team) -> None:
    team.rows("UPDATE recollect.event SET kind = 'token_usage' WHERE {mine}")
    with other.asking() as ask:
        assert ask("SELECT 1 FROM recollect.event") == []
    with ada.asking() as ask:
        assert ask("SELECT 1 FROM recollect.event") == [(1,)]


def test_who_is_revoked_is_nobody(ada: Person, team: Team, database: Database) -> None:
    team.administration.revoke("ada")
    with psycopg.connect(database.server_url) as db:
        found = db.execute("SELECT 1 FROM recollect.enter(%s, %s)", (ada.shown.team_id, ada.hashed))
        assert found.fetchall() == []


def asked(word: str) -> str:
    """Return a question of one word."""
    import json

    empty = "must must_not agents repos branches sessions kinds not_kinds tools not_tools paths".split()
    return json.dumps({"need": "all", "words": [word], "after": None, "before": None, **{name: [] for name in empty}})
