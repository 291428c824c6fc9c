"""One list of agents: the folders, the names that commands and configuration accept, the documents and the fixtures."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from recollect.agents.registry import adapter, adapters
from recollect.capture.discover import RootDir, discover
from recollect.model.capabilities import Table
from recollect.model.payloads import KINDS

FIXTURES = Path(__file__).resolve().parent / "fixtures"
OWN = {slug: a for slug, a in adapters().items() if not a.facts.is_configured}


def described_in(repository: Path, slug: str) -> Path:
    """Return the page or the file in which an agent's traps are told."""
    agents = repository / "src/recollect/agents"
    pages = (agents / slug / "README.md", agents / f"{slug}_" / "README.md")
    return next((page for page in pages if page.is_file()), agents / "formats" / f"{slug}.toml")


def test_every_agents_file_is_in_the_registry_and_every_folder_has_a_file(repository: Path) -> None:
    agents = repository / "src/recollect/agents"
    files = {path.stem for path in (agents / "formats").glob("*.toml")}
    assert files == OWN.keys()
    folders = {path.parent.name.removesuffix("_") for path in agents.glob("*/README.md")}
    assert folders - files <= {"formats", "install"}


@pytest.mark.parametrize("slug", sorted(OWN))
def test_every_agent_has_its_traps_and_fixtures(repository: Path, slug: str) -> None:
    assert described_in(repository, slug).read_text("utf-8").startswith("# ")
    assert any((FIXTURES / slug).glob("*/*/"))


def test_every_fixture_is_of_an_agent_in_the_registry() -> None:
    assert {path.name for path in FIXTURES.iterdir()} <= OWN.keys()


def test_a_name_that_commands_accept_is_of_one_agent() -> None:
    names = Counter(name for a in OWN.values() for name in {a.facts.slug, *a.facts.aliases})
    assert [name for name, count in names.items() if count > 1] == []
    for name in names:
        assert name == name.lower()
        assert name in {adapter(name).facts.slug, *adapter(name).facts.aliases}


def test_the_page_names_every_agent_once_in_the_order_of_the_registry(repository: Path) -> None:
    page = (repository / "docs/reference/agents.md").read_text("utf-8")
    assert re.findall(r"^\| [^|]+ \| `([a-z]+)` \|", page, re.MULTILINE) == list(OWN)
    assert re.findall(r"^- Slug `([a-z]+)`", page, re.MULTILINE) == list(OWN)


@pytest.mark.parametrize("slug", sorted(OWN))
def test_the_facts_are_whole(slug: str) -> None:
    facts = OWN[slug].facts
    assert set(facts.capabilities.kinds) <= set(KINDS)
    assert len({(p.role, p.container, p.is_compressed, p.patterns) for p in facts.places}) == len(facts.places)
    containers = {place.container for place in facts.places}
    assert facts.capabilities.container in containers
    for place in facts.places:
        assert bool(place.tables) == (place.container == "sqlite")
        assert bool(place.members) == (place.container == "directory")
        assert bool(place.document_keys) == (place.container == "export")
        is_told_by_content = place.container in ("jsonl", "snapshot", "text", "export")
        assert place.patterns or place.members or is_told_by_content
        assert not any(pattern.startswith("/") or ".." in pattern for pattern in place.patterns)


FOLDERS_OF_THEIR_OWN = {
    "cortex": "its root is the folder of conversations, where nothing else is",
    "otel": "its roots are folders of traces, where nothing else is",
}
"""Agents whose root holds transcripts only, so that a file of any name in it is one."""
LOOKED_FOR = [s for s, a in OWN.items() if not a.facts.is_import_only and s not in FOLDERS_OF_THEIR_OWN]


@pytest.mark.parametrize("slug", sorted(LOOKED_FOR))
def test_no_place_can_match_what_must_never_be_read(slug: str, tmp_path: Path) -> None:
    """Names of the "Do NOT read" lists of all formats, where agents keep them: in the root, and in a folder of it."""
    for name in FORBIDDEN:
        for folder in ("", "config", "credentials", "globalStorage", "User", "logs", "settings"):
            path = tmp_path / folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("{}")
    found = discover(OWN[slug], [RootDir(str(tmp_path), True)], known_roles={}, read_head=lambda _path: b"")
    assert [source.relative for source in found.sources] == []


def test_no_table_that_holds_secrets_is_declared() -> None:
    tables: list[Table] = [t for a in OWN.values() for p in a.facts.places for t in p.tables]
    names = {t.name.lower() for t in tables}
    assert (
        names & {"auth_kv", "account", "accounts", "credential", "credentials", "permission", "control_account"}
        == set()
    )
    assert all(t.keys for t in tables if t.name in ("ItemTable", "cursorDiskKV"))


FORBIDDEN = (
    "auth.json", "mcp-auth.json", "oauth_creds.json", "google_accounts.json", ".credentials.json", "credentials.json",
    "secrets.json", "secrets.yaml", ".env", "config.toml", "config.yaml", "settings.json", "mcp.json",
    "cli-config.json", "mcp-config.json", "installation_id", "models.json", "shell_history", "user_settings.pb",
    ".jwt_secret", "agent_settings.json", "kiro-auth-token.json",
)  # fmt: skip
