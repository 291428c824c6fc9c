"""The documentation builds into a site that needs nothing from outside, and a wrong page ends the build."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scripts.build_site import build

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_LOADED = re.compile(r"<(?:script|img|link)\b[^>]*?\b(?:src|href)=\"((?:https?:)?//[^\"]*)\"")
_TITLE = "# A page\n\nText.\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    assert build(out) == 0
    return out


def test_every_page_of_users_is_on_it(site: Path, repository: Path) -> None:
    kinds = ("tutorial", "how-to", "explanation", "reference")
    pages = [path for kind in kinds for path in (repository / "docs" / kind).glob("*.md")]
    assert len(pages) > 25
    assert [path for path in pages if not (site / path.parent.name / f"{path.stem}.html").exists()] == []


def test_it_loads_nothing_from_outside(site: Path) -> None:
    loaded = {path.name: _LOADED.findall(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert {name: found for name, found in loaded.items() if found} == {}
    assert [
        path.name for path in site.rglob("*.css") if re.search(r"url\(\s*['\"]?(https?:)?//", path.read_text("utf-8"))
    ] == []


def test_options_can_be_copied(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text("utf-8")
    assert "--once" in page
    assert "–once" not in page


def test_a_command_is_copied_without_its_prompt_its_output_and_its_comment(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "tutorial" / "get-started.html").as_uri())
    blocks = page.evaluate("[...document.querySelectorAll('div.highlight')].map(copied)")
    page.close()
    assert blocks[0] == "make up\n. .venv/bin/activate"
    assert "recollect show claude:2aaeb4f4#7" in blocks


def test_a_page_shows_its_pictures_in_the_colours_of_the_reader(site: Path) -> None:
    page = (site / "how-to" / "use-the-web-page.html").read_text("utf-8")
    for scheme in ("light", "dark"):
        assert re.search(rf'class="only-{scheme}"[^>]*session-{scheme}\.png', page)
        assert (site / "_images" / f"session-{scheme}.png").exists()


@pytest.mark.parametrize("name", ["src/recollect/agents/base.py", "docs/how-to/template-agent/README"])
def test_a_file_that_a_page_links_to_can_be_read(site: Path, name: str) -> None:
    assert f'href="../files/{name}.html"' in (site / "how-to" / "add-an-agent.html").read_text("utf-8")
    assert (site / "files" / f"{name}.html").exists()


def test_records_of_decisions_are_listed_on_their_own_page_and_are_no_hits(site: Path) -> None:
    record = "0001-imports-are-a-contract"
    assert record in (site / "development" / "decisions" / "README.html").read_text("utf-8")
    assert "Imports follow a checked contract" not in (site / "searchindex.js").read_text("utf-8").split("docnames")[0]


def test_it_can_be_searched(site: Path) -> None:
    assert "retent" in (site / "searchindex.js").read_text("utf-8")


@pytest.mark.parametrize("link", ["[a](no-such-page.md)", "[a](a.md#no-such-heading)"])
def test_a_broken_link_ends_the_build(tmp_path: Path, capfd: pytest.CaptureFixture[str], link: str) -> None:
    assert _built(tmp_path, f"{_TITLE}\n{link}\n") != 0
    assert "how-to/a.md" in capfd.readouterr().err


def test_without_it_the_build_is_well(tmp_path: Path) -> None:
    assert _built(tmp_path, _TITLE) == 0


def _built(folder: Path, page: str) -> int:
    (folder / "docs/how-to").mkdir(parents=True)
    (folder / "docs/images").mkdir()
    (folder / "docs/README.md").write_text("# All pages\n\n[a](how-to/a.md)\n")
    (folder / "docs/how-to/a.md").write_text(page)
    return build(folder / "site", folder)
