"""Links resolve, blocks parse, and every package has its line in ARCHITECTURE.md."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import anchor, blocks, headings, links, pages

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [p.relative_to(REPOSITORY).as_posix() for p in pages(REPOSITORY)]
ARCHITECTURE_LINES = 150
CONFIGURATION = "docs/reference/configuration.md"


def read(page: str) -> str:
    return (REPOSITORY / page).read_text("utf-8")


def is_reachable(page: str, target: str) -> bool:
    """Whether a link leads to a file or folder of the repository and, if it names one, to a heading there."""
    place, _, wanted = target.partition("#")
    path = (REPOSITORY / page).parent / place if place else REPOSITORY / page
    if not path.exists() or not path.resolve().is_relative_to(REPOSITORY):
        return False
    return not wanted or wanted in {anchor(h) for h in headings(path.read_text("utf-8"))}


@pytest.mark.parametrize("page", PAGES)
def test_every_relative_link_resolves(page: str) -> None:
    relative = [target for target in links(read(page)) if "://" not in target and not target.startswith("mailto:")]
    assert [target for target in relative if not is_reachable(page, target)] == []


@pytest.mark.parametrize("page", PAGES)
def test_every_toml_and_json_block_parses(page: str) -> None:
    for block in blocks(read(page)):
        if block.language == "toml":
            tomllib.loads(block.text)
        elif block.language == "json":
            json.loads(block.text)


@pytest.mark.parametrize("page", PAGES)
def test_no_empty_line_cuts_a_table(page: str) -> None:
    text = read(page)
    assert [text[m.start() + 3 : m.end()] for m in re.finditer(r"\|\n\n\|[^\n]*\n(?!\|[-:])", text)] == []


def packages() -> list[str]:
    source = REPOSITORY / "src" / "recollect"
    folders = {p.parent.name for p in source.glob("*/__init__.py")}
    modules = {p.stem for p in source.glob("*.py") if not p.stem.startswith("__")}
    return sorted(folders | modules)


@pytest.mark.parametrize("package", packages())
def test_every_package_has_a_line_in_the_architecture(package: str) -> None:
    rows = [line.split(" | ")[0] for line in read("ARCHITECTURE.md").splitlines() if line.startswith("| `")]
    assert any(f"`{package}`" in row for row in rows)


def test_the_architecture_stays_short() -> None:
    assert read("ARCHITECTURE.md").count("\n") < ARCHITECTURE_LINES


def keys() -> dict[str, str]:
    """Return the anchor of every key of the configuration whose name no other one has, and no word."""
    found = [h for h in headings(read(CONFIGURATION)) if re.fullmatch(r"[a-z.]+\w*_\w+", h)]
    names = Counter(key.rpartition(".")[2] for key in found)
    return {name: anchor(key) for key in found if names[name := key.rpartition(".")[2]] == 1}


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("docs/") and page.count("/") == 2])
def test_a_page_that_names_a_key_links_to_it(page: str) -> None:
    text = read(page)
    named = {name for name in keys() if re.search(rf"`{name}\b[^`]*`", text)}
    linked = {target.partition("#")[2] for target in links(text)}
    assert page == CONFIGURATION or [name for name in sorted(named) if keys()[name] not in linked] == []


def test_a_missing_file_is_seen() -> None:
    assert not is_reachable("README.md", "docs/no-such-page.md")


def test_a_missing_heading_is_seen() -> None:
    assert not is_reachable("README.md", "ARCHITECTURE.md#no-such-heading")


def test_a_link_inside_code_is_no_link() -> None:
    assert links("`[a](b)` and\n```\n[c](d)\n```\n[e](f.md#g)\n") == ["f.md#g"]


def test_the_list_of_pages_names_each_page_of_users() -> None:
    named = {target.partition("#")[0] for target in links(read("docs/README.md"))}
    pages_of_users = [p.removeprefix("docs/") for p in PAGES if p.startswith("docs/") and p.count("/") == 2]
    assert len(pages_of_users) > 25
    assert [page for page in pages_of_users if page not in named] == []
