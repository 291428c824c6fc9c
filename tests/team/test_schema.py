"""Every key of the team's schema and every query of its server begins with the team, so that Citus can spread it."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from recollect.errors import TeamRefused
from tests.team.conftest import Database

OF_THE_DATABASE = {"version"}
"""Tables that belong to no team."""
ALL_TEAMS = "SELECT team_id, name FROM recollect.team"
"""An administrator's list of the teams themselves."""
_NO_ALIAS = "ON|SET|WHERE|JOIN|LEFT|ORDER|FOR|GROUP|VALUES|ENABLE"
_TABLE = re.compile(
    r"\b(?:(?:INTO|COPY)\s+recollect\.([a-z_]+)\b|"  # in parentheses: columns, not arguments
    r"(?:FROM|JOIN|UPDATE|USING|ONLY)\s+recollect\.([a-z_]+)\b(?!\s*\())(?:\s+AS)?"
    rf"(?:\s+(?!(?:{_NO_ALIAS})\b)([a-z]+)\b)?"
)


def test_every_key_begins_with_the_team(database: Database) -> None:
    keys = database.opened.connection.execute(
        "SELECT c.relname, i.indisunique, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0] "
        "JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam "
        "WHERE n.nspname = 'recollect' AND m.amname = 'btree'"
    ).fetchall()
    assert {str(table) for table, *_ in keys} >= {"team", "member", "machine", "session", "event", "audit"}
    assert {row for row in keys if row[2] != "team_id" and row[0] not in OF_THE_DATABASE} == set()


def test_every_reference_between_tables_begins_with_the_team(database: Database) -> None:
    references = database.opened.connection.execute(
        "SELECT k.conname, a.attname, b.attname FROM pg_constraint k "
        "JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1] "
        "JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = k.confkey[1] "
        "JOIN pg_namespace n ON n.oid = k.connamespace WHERE k.contype = 'f' AND n.nspname = 'recollect'"
    ).fetchall()
    assert len(references) > 8
    assert {row for row in references if row[1:] != ("team_id", "team_id")} == set()


def test_row_level_security_is_on_for_every_table(database: Database) -> None:
    without = database.opened.connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'recollect' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT c.relrowsecurity"
    ).fetchall()
    assert {str(name) for (name,) in without} == OF_THE_DATABASE


def statements(repository: Path) -> dict[str, str]:
    """Return every statement of the server's modules and of the functions in its migrations, by where it is."""
    found = {}
    for module in sorted((repository / "src/recollect/team").glob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            text = _text_of(node)
            if _TABLE.search(text):
                found[f"{module.name}:{node.lineno}"] = text
    for migration in sorted((repository / "src/recollect/team/migrations").glob("*.sql")):
        for number, body in enumerate(migration.read_text("utf-8").split("$$")[1::2]):
            for at, part in enumerate(re.split(r";|' ?\n", body)):
                if _TABLE.search(part) and "EXECUTE format" not in part:
                    found[f"{migration.name} function {number}.{at}"] = part
    return found


def _text_of(node: ast.AST) -> str:
    """Return the text of a string; what is put into it stands there as a name."""
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "anything" for part in node.values)
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def test_no_table_is_named_in_a_way_that_is_not_looked_at(database: Database, repository: Path) -> None:
    rows = database.opened.connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'recollect' AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    ).fetchall()
    assert len(rows) > 10
    named = re.compile(rf"\brecollect\.(?:{'|'.join(str(name) for (name,) in rows)})\b(?!\.)")
    checked = 0
    for module in sorted((repository / "src/recollect/team").rglob("*.py")):
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            text = _text_of(node)
            if named.search(text) and "CREATE TABLE" not in text:
                assert len(named.findall(text)) == len(_TABLE.findall(text)), f"{module.name}: {text}"
                checked += 1
    assert checked > 30


def test_every_statement_names_the_team_of_each_table(repository: Path) -> None:
    checked = 0
    for place, statement in statements(repository).items():
        for written, read, alias in _TABLE.findall(statement):
            table = written or read
            if table in OF_THE_DATABASE or "INTO recollect.team (name)" in statement or statement.startswith(ALL_TEAMS):
                continue
            name = f"{alias}.team_id" if alias else "team_id"
            is_first = bool(re.search(rf"recollect\.{table}(?: AS [a-z])? \(team_id", statement))
            assert is_first if written else name in statement, f"{place}: {statement}"
            checked += 1
    assert checked > 25


def test_no_policy_looks_anything_up(database: Database) -> None:
    """Citus distributes no table that has one."""
    policies = database.opened.connection.execute(
        "SELECT tablename, policyname, concat_ws(' ', qual, with_check) FROM pg_policies WHERE schemaname = 'recollect'"
    ).fetchall()
    assert len(policies) > 15
    assert [row for row in policies if re.search(r"\b(?:SELECT|EXISTS)\b", str(row[2]))] == []


def test_who_asks_is_noted_by_what_citus_sends_to_its_workers(database: Database) -> None:
    ((body,),) = database.opened.connection.execute(
        "SELECT prosrc FROM pg_proc WHERE proname = 'enter' AND pronamespace = 'recollect'::regnamespace"
    ).fetchall()
    noted = re.findall(r"(SET LOCAL|set_config\(')\s*([a-z_.]+)", str(body))
    assert {name for how, name in noted if how == "SET LOCAL"} == {
        f"recollect.{name}" for name in ("team_id", "member_id", "machine_id", "role", "people_group")
    }
    assert {name for how, name in noted if how != "SET LOCAL"} == {"citus.propagate_set_commands"}


def test_the_page_for_administrators_distributes_every_table(database: Database, repository: Path) -> None:
    """In an order in which each table comes after those that it refers to."""
    page = (repository / "docs/how-to/run-a-team-server.md").read_text("utf-8")
    listed = re.search(r"unnest\(ARRAY\[(.*?)\]\)", page, re.S)
    assert listed is not None
    order = ["team", *re.findall(r"'([a-z_]+)'", listed[1])]
    rows = database.opened.connection.execute(
        "SELECT c.relname, f.relname FROM pg_class c LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND "
        "k.contype = 'f' LEFT JOIN pg_class f ON f.oid = k.confrelid "
        "WHERE c.relnamespace = 'recollect'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    ).fetchall()
    assert sorted(order) == sorted({str(table) for table, _ in rows} - OF_THE_DATABASE)
    assert [row for row in rows if row[1] and order.index(str(row[0])) <= order.index(str(row[1]))] == []


def test_rows_of_an_older_schema_stay_and_are_found(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.team import database as module

    every = module.migrations()
    monkeypatch.setattr(module, "migrations", lambda: every[:3])
    old = Database(postgres)
    try:
        db = old.opened.connection
        for statement in OLDER_ROWS:
            db.execute(statement)  # type: ignore[arg-type]
        before = [db.execute(f"SELECT count(*) FROM recollect.{table}").fetchone() for table in OLDER]  # type: ignore[arg-type]
        monkeypatch.undo()
        assert old.opened.migrate() == every[-1][0]
        assert before == [
            db.execute(f"SELECT count(*) FROM recollect.{table}").fetchone()  # type: ignore[arg-type]
            for table in OLDER
        ]
        assert (
            db.execute("SELECT DISTINCT machine_id FROM recollect.usage").fetchall()
            == db.execute("SELECT machine_id FROM recollect.machine").fetchall()
        )
        with db.transaction():
            db.execute("SELECT set_config('recollect.role', 'member', true), set_config('recollect.team_id', "
                       "(SELECT team_id::text FROM recollect.team), true)")  # fmt: skip
            for words in ("checkout", "src/shop_cart.py", "CHECKOUTWORKER leak"):
                asked = json.dumps({"words": words.split(), "need": "all", **dict.fromkeys(FILTERS, ())})
                assert db.execute("SELECT event_id FROM recollect.find_events(%s, 9)", (asked,)).fetchall() == [("e",)]
    finally:
        old.close()


def test_words_that_very_many_events_have_are_looked_for_month_by_month(postgres: str) -> None:
    made = Database(postgres)
    try:
        db = made.opened.connection
        for statement in (*OLDER_ROWS[1:4], *MANY_EVENTS):
            db.execute(statement)  # type: ignore[arg-type]
        asked = json.dumps({"words": ["checkout", "leak"], "need": "all", **dict.fromkeys(FILTERS, ())})
        with db.transaction():
            db.execute("SELECT set_config('recollect.role', 'member', true), set_config('recollect.team_id', "
                       "(SELECT team_id::text FROM recollect.team), true)")  # fmt: skip
            found = db.execute("SELECT month::text, total FROM recollect.find_events(%s, 9000)", (asked,)).fetchall()
        assert Counter(found) == {("2026-02-01", 5000): 2500, ("2026-03-01", 5000): 2500}
    finally:
        made.close()


OLDER = ("share", "session", "usage", "digest", "decision", "decision_link", "learning", "event", "passage")
FILTERS = (
    "must", "must_not", "agents", "kinds", "not_kinds", "tools", "not_tools", "sessions", "repos", "branches", "paths",
)  # fmt: skip
_OWN = "SELECT team_id, machine_id, member_id FROM recollect.machine"
_IN_SESSION = "SELECT team_id, session_id, member_id, machine_id, month FROM recollect.session"
OLDER_ROWS = (
    "SELECT recollect.make_month()",
    "INSERT INTO recollect.team (name) VALUES ('old')",
    "INSERT INTO recollect.member (team_id, name, role) SELECT team_id, 'ada', 'member' FROM recollect.team",
    "INSERT INTO recollect.machine (team_id, member_id, name, token_hash, expires_at) "
    "SELECT team_id, member_id, 'box', 'x', now() FROM recollect.member",
    "INSERT INTO recollect.share SELECT team_id, machine_id, 'Shop', 'full' FROM recollect.machine",
    "INSERT INTO recollect.session (team_id, machine_id, member_id, session_uid, level, stamp, agent, repo, outcome, "
    "event_count, turn_count, title, branch) SELECT o.*, 's', 'full', 1, 'a', 'shop', 'x', 1, 1, '', '' "
    f"FROM ({_OWN}) o",
    "INSERT INTO recollect.usage (team_id, session_id, member_id, model, input_tokens, output_tokens, cache_tokens, "
    f"responses) SELECT s.team_id, s.session_id, s.member_id, 'm', 1, 1, 1, 1 FROM ({_IN_SESSION}) s",
    f"INSERT INTO recollect.digest SELECT s.team_id, s.session_id, s.member_id, '{{}}' FROM ({_IN_SESSION}) s",
    f"INSERT INTO recollect.decision SELECT s.team_id, s.session_id, 'n', s.member_id, '{{}}' FROM ({_IN_SESSION}) s",
    "INSERT INTO recollect.decision_link SELECT s.team_id, s.session_id, 'n', 'o', s.member_id, '{}' "
    f"FROM ({_IN_SESSION}) s",
    "INSERT INTO recollect.learning SELECT o.team_id, o.machine_id, 'l', o.member_id, 1, 'SHOP', 'k', '{}' "
    f"FROM ({_OWN}) o",
    "INSERT INTO recollect.event (team_id, month, session_id, event_id, part, seq, machine_id, member_id, kind, role, "
    "turn_index, tool, summary, said, paths, is_undone) SELECT s.team_id, s.month, s.session_id, 'e', 0, 0, "
    "s.machine_id, s.member_id, 'user_message', 'user', 0, '', '', 'Why does checkoutWorker leak in src/shop_cart.py', "
    f"'', false FROM ({_IN_SESSION}) s",
    "INSERT INTO recollect.passage SELECT s.team_id, s.month, s.session_id, 'e', 0, 0, s.machine_id, s.member_id, 'm', "
    f"array_fill(1, ARRAY[256])::halfvec FROM ({_IN_SESSION}) s",
)


MANY_EVENTS = (
    "SELECT recollect.make_partitions(month::date) FROM unnest(ARRAY['2026-02-01', '2026-03-01']) month",
    "INSERT INTO recollect.session (team_id, machine_id, member_id, session_uid, month, level, stamp, agent, repo, "
    "outcome, event_count, turn_count, title, branch) SELECT o.*, month, month::date, 'full', 1, 'a', 'shop', 'x', 1, "
    f"1, '', '' FROM ({_OWN}) o, unnest(ARRAY['2026-02-01', '2026-03-01']) month",
    "INSERT INTO recollect.event (team_id, month, session_id, event_id, part, seq, machine_id, member_id, kind, role, "
    "turn_index, tool, summary, said, paths, is_undone) SELECT s.team_id, s.month, s.session_id, n::text, 0, n, "
    "s.machine_id, s.member_id, 'user_message', 'user', 0, '', '', 'A leak at the checkout', '', false "
    f"FROM ({_IN_SESSION}) s, generate_series(1, 2500) n",
)


def test_migrating_again_changes_nothing(database: Database) -> None:
    assert database.opened.migrate() == database.opened.version() == database.opened.migrate()


def test_a_role_that_the_policies_do_not_hold_cannot_serve(database: Database) -> None:
    from recollect.team.database import TeamDatabase

    with pytest.raises(TeamRefused, match="row-level security does not hold"):
        TeamDatabase(database.url)


def test_an_older_schema_is_refused(database: Database) -> None:
    from recollect.team.database import TeamDatabase

    connection = database.opened.connection
    newest = connection.execute("DELETE FROM recollect.version WHERE number > 1 RETURNING number").fetchall()
    try:
        with pytest.raises(TeamRefused, match="has schema 1, this server needs"):
            TeamDatabase(database.server_url)
    finally:
        connection.cursor().executemany("INSERT INTO recollect.version (number) VALUES (%s)", newest)
