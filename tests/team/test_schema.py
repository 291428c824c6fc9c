"""Every key of the team's schema and every query of its server begins with the team, so that Citus can spread it."""

from __future__ import annotations

import ast
import re
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
