"""docs/how-to/add-an-agent.md is followed to the letter: its files are written, its commands are run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from recollect.model.capabilities import Container
from tests.docs.pages import Block, blocks
from tests.surfaces.strangers import PACKAGES, installed, program

__all__ = ["installed"]
REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "docs/how-to/add-an-agent.md").read_text("utf-8")
TEMPLATE = REPOSITORY / "docs/how-to/template-agent"


def section(title: str) -> str:
    return next(part for part in PAGE.split("\n## ") if part.startswith(f"{title}\n"))


def files(text: str) -> dict[str, str]:
    """Return the blocks whose first line names a file."""
    named = ((re.match(r"# (\S+\.\w+)\n", block.text), block) for block in blocks(text))
    return {match[1]: block.text for match, block in named if match is not None}


def commands(text: str) -> Iterator[list[str]]:
    """Yield the command lines of `recollect` in a text, without the program's name."""
    shells: list[Block] = [block for block in blocks(text) if block.language == "sh"]
    for line in "\n".join(block.text for block in shells).splitlines():
        words = [os.path.expanduser(word) for word in shlex.split(line, comments=True)]
        if words and words[0] == "recollect":
            yield words[1:]


@pytest.fixture
def log(isolated_home: Path) -> Path:
    """Write the page's lines where the agent would."""
    (lines,) = [block.text for block in blocks(PAGE) if block.language == "jsonl"]
    path = isolated_home / ".tiny/logs/first.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(lines)
    return path


def run(text: str, **options: Any) -> str:
    """Run every command of a text, each of which must end well; return what they said."""
    said = ""
    for words in commands(text):
        done = program(*words, **options)
        assert done.returncode == 0, (words, done.stderr)
        said += done.stdout
    return said


def test_the_way_by_configuration_works(isolated_home: Path, log: Path) -> None:
    text = section("By configuration")
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect/config.toml").write_text(files(text)["config.toml"])
    said = run(text)
    assert said.count("polish the samovar") >= 2
    assert "Tiny (tiny): 1 session, 2 events" in said


def test_the_way_by_a_package_works(isolated_home: Path, log: Path, installed: Path) -> None:
    text = section("By a package")
    assert files(text) == {
        name: (PACKAGES / "tiny-agent" / name).read_text("utf-8") for name in ("pyproject.toml", "tiny_agent.py")
    }
    assert run(text, beside=installed).count("polish the samovar") >= 2


def test_the_two_ways_give_the_same_events(isolated_home: Path, log: Path, installed: Path) -> None:
    package = program("parse", str(log), beside=installed).stdout
    (isolated_home / "recollect").mkdir()
    (isolated_home / "recollect/config.toml").write_text(files(section("By configuration"))["config.toml"])
    assert program("parse", str(log), "--as", "tiny").stdout == package


def test_the_fixtures_are_checked_as_the_page_says(tmp_path: Path, log: Path, installed: Path) -> None:
    said = '{"who": "me", "says": "Which files are here?"}\n{"who": "it", "says": "There are two: a.py and b.py."}\n'
    future = said.replace("}", ', "novelty": "x"}', 1) + '{"who": "from_the_future"}\n'
    for scenario, text in (("dialogue", said), ("unknown_record", future)):
        path = tmp_path / f"fixtures/tiny/1.0/{scenario}/logs/one.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(text)
    text = section("Show it with fixtures")
    assert "2 fixtures, the adapter keeps every rule" in run(text, beside=installed, cwd=tmp_path)
    named = re.findall(r"`recollect (conformance [^`]*:[^`]*)`", text)
    assert [program(*words.split(), beside=installed, cwd=tmp_path).returncode for words in named] == [0]


def test_the_property_of_the_page_holds() -> None:
    (example,) = [block.text for block in blocks(section("Show it with fixtures")) if block.language == "python"]
    names: dict[str, Any] = {}
    exec(compile(example, "<docs/how-to/add-an-agent.md>", "exec"), names)
    names["test_any_content_keeps_the_contract"]()


def test_every_container_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", section("Declare the facts"), re.M)
    assert sorted(rows) == sorted(Container.__args__)


def test_the_template_keeps_every_rule(isolated_home: Path) -> None:
    done = program("conformance", "myagent.parse:MyAgentAdapter", str(TEMPLATE / "fixtures"), beside=TEMPLATE / "src")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("ok       myagent/1.0/dialogue\n")
    assert done.stdout.endswith("10 fixtures, the adapter keeps every rule\n")


def test_the_tests_of_the_template_pass(tmp_path: Path) -> None:
    copy = tmp_path / "template"
    shutil.copytree(TEMPLATE, copy, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    env = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=copy, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
