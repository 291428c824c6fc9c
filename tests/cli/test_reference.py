"""docs/reference/commands.md is what the program says."""

from __future__ import annotations

from pathlib import Path

from recollect.verbs import VERBS
from scripts.generate_docs import cli_reference


def test_the_page_is_fresh(repository: Path) -> None:
    assert (repository / "docs" / "reference" / "commands.md").read_text("utf-8") == cli_reference(), "run `make docs`"


def test_every_verb_has_a_heading_and_an_example() -> None:
    page = cli_reference()
    for verb in VERBS:
        section = page.split(f"\n### {verb.name}\n")[1].split("\n##")[0]
        assert verb.line in section
        assert section.count(f"recollect {verb.name}") >= 2


def test_every_subcommand_has_a_heading_and_its_options() -> None:
    section = cli_reference().split("\n#### facts add\n")[1].split("\n###")[0]
    assert "recollect facts add [OPTIONS] SUBJECT PREDICATE OBJECT" in section
    assert "`--from WHEN`" in section
    assert "`--history`" not in section
