"""Words about tools that stand in for each other: which are to be used, and which not."""

from __future__ import annotations

import pytest

from recollect.ingest.learnings.rule_extractor import extract_session
from recollect.insights.language.tools import displaces, does_same, tools_in
from tests.quality.learned import session_saying


@pytest.mark.parametrize(
    ("said", "wanted", "refused"),
    [
        ("We switched to pnpm", "pnpm", ""),
        ("Stop. Not pip, conda.", "conda", "pip"),
        ("never use pip here", "", "pip"),
        ("we replaced jest with vitest last month", "vitest", "jest"),
        ("wir haben conda durch uv ersetzt", "uv", "conda"),
        ("Formatiert wird hier mit ruff, nicht mit black", "ruff", "black"),
        ("yarn is gone", "", "yarn"),
        ("c'est pas npm, c'est pnpm", "", "npm"),
        ("stop installing things with pip3", "", "pip"),
    ],
)
def test_a_sentence_says_which_tool_is_used_from_now_on(said: str, wanted: str, refused: str) -> None:
    found = tools_in(said)
    assert (found.wanted, found.refused, found.is_settled) == ({*wanted.split()}, {*refused.split()}, True)
    assert said.removeprefix("Stop. ") in [one.text for one in extract_session(session_saying(said)).learnings]


@pytest.mark.parametrize(
    "said",
    [
        "never commit the npm token",
        "always pin the pip version in the Dockerfile",
        "we publish to npm on Thursdays",
        "the tests never pass with jest",
        "pip is out of date",
        "if we switch to bun we need a new lock file",
        "they moved from npm to pnpm",
        "I moved the whole thing to bun",
        "install lodash with npm",
    ],
)
def test_a_sentence_that_only_names_a_tool_settles_nothing(said: str) -> None:
    assert not tools_in(said).is_settled


@pytest.mark.parametrize(
    ("command", "other", "is_same"),
    [
        ("uv add respx", "pip install respx", True),
        ("uv add 'respx>=0.2' httpx", "python -m pip install respx", True),
        ("uv pip install -r requirements.txt", "pip install -r requirements.txt", True),
        ("pnpm install", "npm ci", True),
        ("pnpm run test", "npm test", True),
        ("uv add httpx", "pip install respx", False),
        ("pnpm add lodash", "npm install", False),
        ("pip install respx", "pip install respx", False),
        ("ruff check", "flake8", False),
        ("uv add respx", "npm install respx", False),
    ],
)
def test_another_package_manager_may_do_the_same(command: str, other: str, is_same: bool) -> None:
    assert does_same(command.split(), other.split()) is is_same


@pytest.mark.parametrize(
    ("said", "command", "is_displaced"),
    [
        ("We switched to pnpm", "npm test", True),
        ("We switched to pnpm", "pnpm test", False),
        ("We switched to pnpm", "pip install", False),
        ("use uv instead of pip", "uv run pytest", False),
        ("use uv instead of pip", "python -m pip install", True),
        ("we use unittest now", "uv run pytest", True),
        ("never run npm audit here", "npm test", False),
        ("in the frontend use bun instead of npm", "npm test", False),
        ("use bun in the whole repo", "npm test", True),
        ("never call tox directly", "tox", True),
    ],
)
def test_a_tool_displaces_a_command_of_its_kind(said: str, command: str, is_displaced: bool) -> None:
    assert displaces(said, command.split()) is is_displaced
