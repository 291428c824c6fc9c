"""Questions that share no word with their answer: found by vectors, within the filters; a note where some miss."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import Config, EmbeddingConfig
from recollect.index.query.candidates import POOL
from recollect.testing.builders import ClaudeTranscript

QUESTION = "automobile engine repair"
TALK = "We sang in the garden and spoke of summer rain, of music, of bread and cheese, of poems"
ANSWER = "The car's motor was fixed by the mechanic."


def write(claude: Path) -> None:
    first = ClaudeTranscript(claude, "cars", cwd="/w/garage")
    first.user("Anything new from the workshop?")
    first.assistant(ANSWER)
    other = ClaudeTranscript(claude, "parsers", cwd="/w/parser")
    other.user("Please rename the parser module and run the tests")
    other.assistant("Renamed it; all tests pass.")


def opened(tmp_path: Path, config: Config | None = None) -> Memory:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "RECOLLECT_BACKGROUND": "0"}
    return Memory.open(tmp_path / "home", config=config or Config(), env=env)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    write(tmp_path / "claude")
    with opened(tmp_path) as made:
        made.sync(agents=("claude",))
        yield made


def answers(memory: Memory, query: str) -> list[str]:
    return [hit.snippet for hit in memory.search(query, sync=False).hits if ANSWER in hit.snippet]


def test_what_shares_no_word_is_found_by_its_meaning(memory: Memory) -> None:
    assert not answers(memory, f"parser {QUESTION}")
    memory.embedding.run()
    hits = [h for h in memory.search(f"parser {QUESTION}", sync=False).hits if h.snippet == ANSWER]
    assert [hit.match_level for hit in hits] == ["semantic"]


@pytest.mark.parametrize("where", ["repo:parser", "kind:user", "agent:codex", "before:2020", "session:claude:0"])
def test_what_is_near_keeps_to_the_filters(memory: Memory, where: str) -> None:
    memory.embedding.run()
    assert answers(memory, f"repo:garage parser {QUESTION}")
    assert not answers(memory, f"{where} parser {QUESTION}")


@pytest.mark.parametrize("query", [f'"parser" {QUESTION}', f"+parser {QUESTION}", f"*parse* {QUESTION}", "parser"])
def test_what_asks_for_words_gets_words(memory: Memory, query: str) -> None:
    memory.embedding.run()
    found = memory.search(query, sync=False)
    assert found.hits
    assert all(hit.match_level != "semantic" for hit in found.hits)


def test_what_is_near_and_not_among_the_best_by_its_words_is_found_for_its_meaning(
    tmp_path: Path, memory: Memory
) -> None:
    # Another month is another part of the index, where the near one is among the best: not among those of all.
    said = f"On the way back we asked about the pipeline as well, and heard of it. {ANSWER}"
    late = ClaudeTranscript(tmp_path / "claude", "late", cwd="/w/garage", start=datetime(2025, 1, 5, tzinfo=UTC))
    late.assistant(said)
    many = ClaudeTranscript(tmp_path / "claude", "pipelines", cwd="/w/ci")
    for _ in range(POOL + 20):  # copies, which are shown once
        many.assistant("pipeline, pipeline, and once more: the pipeline " + "that nobody wanted to hear of " * 4)
    memory.sync(agents=("claude",))
    query = f"pipeline {QUESTION}"
    assert not answers(memory, query)
    memory.embedding.run()
    assert any(said in hit.snippet for hit in memory.search(query, sync=False).hits)


def test_missing_and_stale_vectors_are_said_once_and_the_words_still_answer(tmp_path: Path, memory: Memory) -> None:
    query = "rename the parser module"
    before = memory.search(query, sync=False)
    assert before.hits
    assert [note for note in before.notes if "no vectors have been made" in note] == [before.notes[0]]
    memory.embedding.run()
    assert not memory.search(query, sync=False).notes
    late = ClaudeTranscript(tmp_path / "claude", "late", cwd="/w/parser")
    late.user("rename the other parser module as well")
    memory.sync(agents=("claude",))
    after = memory.search(query, sync=False)
    assert any("as well" in hit.snippet for hit in after.hits)
    assert [note for note in after.notes if "have no vectors yet" in note] == list(after.notes)


def test_damaged_vectors_are_a_note(memory: Memory) -> None:
    memory.embedding.run()
    for path in (memory.home / "index" / "vectors").rglob("*"):
        if path.is_file() and path.name != "commits":
            path.write_bytes(b"\x00")
    memory.close()
    found = memory.search("rename the parser module", sync=False)
    assert found.hits
    assert any("searched by words only" in note for note in found.notes)


def test_switched_off_says_nothing(tmp_path: Path) -> None:
    write(tmp_path / "claude")
    with opened(tmp_path, Config(embedding=EmbeddingConfig(model="off"))) as memory:
        memory.sync(agents=("claude",))
        found = memory.search("rename the parser module", sync=False)
        assert found.hits
        assert not found.notes
