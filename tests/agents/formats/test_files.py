"""Agents described by a file: whole, found by their file alone, and read only when they are needed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from recollect.agents import facts as files
from recollect.agents.formats.parse import FormatAdapter
from recollect.agents.kit.language import Format
from recollect.agents.registry import adapters
from recollect.model.payloads import UserMessage
from recollect.model.records import Record, SourceInfo
from recollect.testing.conformance import check_adapter, read

TINY = """
name = "Tiny"
aliases = ["tiny-agent"]
parser_version = 1
roots = [{ variable = "TINY_HOME", default = ".tiny" }]
places = [{ role = "transcript", container = "jsonl", patterns = ["logs/*.jsonl"] }]

[capabilities]
container = "jsonl"
rewrites_history = false
timestamps = "exact"
usage = "no"
usage_authority = "none"
thinking = "no"
edits = "no"
lineage = "no"
session_end = "no"
kinds = ["user_message", "assistant_message", "unknown"]
notes = "Invented."
verified_version = "1.0"
verified_on = "2026-11-21"
evidence = "invented"

[[format.rules]]
time = "at"
role = "who"
speakers = "user assistant"
content = "says"
blocks = "aisdk"
known = [{ name = "line", fields = "who says at" }]
"""
FORGET = (files.entries, files._read, adapters)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of descriptions in the place of ours."""
    monkeypatch.setattr(files, "_FOLDER", tmp_path)
    for found in FORGET:
        found.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for found in FORGET:
        found.cache_clear()


def test_a_file_is_all_that_an_agent_needs(folder: Path) -> None:
    (folder / "tiny.toml").write_text(TINY, "utf-8")
    tiny = adapters()["tiny"]
    info = SourceInfo("tiny", "transcript", "logs/first.jsonl", "first")
    lines = [{"who": "user", "says": "polish the samovar", "at": "2026-08-01T09:00:00Z"}, {"who": "it"}, 3]
    records = [Record(value, b"", index) for index, value in enumerate(lines)]
    assert (tiny.facts.slug, tiny.identify(info, b"")) == ("tiny", "first")
    drafts = [draft for found in read(tiny, info, records).events for draft in found]
    assert drafts[0].payload == UserMessage("polish the samovar")
    assert check_adapter(tiny, info, lines) == []


def test_an_unknown_word_is_an_error(folder: Path) -> None:
    (folder / "tiny.toml").write_text(TINY.replace('content = "says"', 'contents = "says"'), "utf-8")
    with pytest.raises(msgspec.ValidationError, match="contents"):
        FormatAdapter("tiny")


def keys(value: Any, at: str = "") -> set[str]:
    if isinstance(value, list | tuple):
        return {key for one in value for key in keys(one, at)}
    if not isinstance(value, dict):
        return set()
    return {f"{at}.{name}" for name in value} | {key for name in value for key in keys(value[name], f"{at}.{name}")}


def test_the_facts_that_a_process_loads_are_those_in_the_files() -> None:
    """`make docs` writes them down."""
    assert files._fields() == {slug: files.written_fields(slug) for slug in files.described_agents()}
    assert files.entries() == {slug: files._entry(files.written_entry(slug)) for slug in files.described_agents()}


@pytest.mark.parametrize("slug", files.described_agents())
def test_every_fact_in_a_file_is_one_that_is_known(slug: str) -> None:
    assert keys(files.written_entry(slug)) <= keys(msgspec.to_builtins(files.entries()[slug]))


@pytest.mark.parametrize("slug", files.described_agents())
def test_every_agent_is_read_by_code_or_by_a_description(slug: str) -> None:
    entry = files.entries()[slug]
    is_described = "format" in files._read(slug)
    assert is_described + bool(entry.parser) + bool(entry.like) == 1
    assert not is_described or isinstance(msgspec.convert(files.format_table(slug), Format), Format)


def test_a_path_with_choices_is_one_path_for_each() -> None:
    assert files.spread("{a,b}/{x,}.{name}") == ["a/x.{name}", "a/.{name}", "b/x.{name}", "b/.{name}"]


def test_no_file_is_read_to_resolve_a_name() -> None:
    program = (
        "import sys; from recollect.agents.registry import slug_of; from recollect.agents import facts as files;"
        "print(slug_of('zen-cli'), files._read.cache_info().currsize);"
        "print('recollect.agents.kit.language' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["zencoder", "0", "False"]
