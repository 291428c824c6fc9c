"""Questions are answered with the contextual model, end to end, and without it where something is missing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import Config, EmbeddingConfig
from recollect.erasure.reports import ForgetSelection
from recollect.index.vectors.passage_process import FILE_NAME
from recollect.testing.builders import ClaudeTranscript

QUESTION = "how was the delay before startup cured?"
ANSWER = "Booting takes two seconds now: the cache is filled in advance."


def write(folder: Path) -> None:
    one = ClaudeTranscript(folder, "slow", cwd="/w/shop")
    one.user("The program needs half a minute until its window is there, please look into it")
    one.assistant(ANSWER)
    for number in range(30):
        other = ClaudeTranscript(folder, f"other-{number}", cwd="/w/shop")
        other.user(f"The start of chapter {number} was cured of its typos, how nice")
        other.assistant(f"Chapter {number} reads well, how was the printing?")


def opened(tmp_path: Path, **embedding: object) -> Memory:
    config = Config(embedding=EmbeddingConfig(**embedding))  # type: ignore[arg-type]
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    return Memory.open(tmp_path / "home", config=config, env=env)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with vectors of everything, made once."""
    folder = tmp_path_factory.mktemp("prepared")
    write(folder / "claude")
    with opened(folder) as memory:
        memory.sync(agents=("claude",))
        memory.embedding.run()
    return folder / "home"


@pytest.fixture
def home(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of it. The process that the questions start is ended after the test."""
    monkeypatch.delenv("RECOLLECT_BACKGROUND")
    shutil.copytree(prepared, tmp_path / "home")
    yield tmp_path
    address = tmp_path / "home" / "index" / "vectors" / FILE_NAME
    if address.exists():
        os.kill(json.loads(address.read_bytes())["pid"], signal.SIGTERM)


@pytest.mark.model
def test_an_answer_in_other_words_is_found_among_words_by_accident(home: Path) -> None:
    with opened(home, contextual=False) as memory:
        without = [hit.passage for hit in memory.search(QUESTION, sync=False).hits]
    with opened(home) as memory:
        found = memory.search(QUESTION, sync=False)
        assert found.notes == () or found.notes[0].startswith("no exact match")
        place = [hit.passage for hit in found.hits].index(ANSWER)
        assert place < (without.index(ANSWER) if ANSWER in without else len(without))
        assert memory.search(QUESTION, sync=False).hits == found.hits


@pytest.mark.model
def test_a_description_in_other_words_is_found_as_a_question_is_and_absent_keywords_are_not(home: Path) -> None:
    with opened(home) as memory:
        described = memory.search("remedy against sluggish application launch", sync=False)
        assert described.is_unsure
        assert ANSWER in [hit.passage for hit in described.hits[:6]]
        assert memory.search("remedy sluggish", sync=False).abstained


@pytest.mark.model
def test_a_question_about_something_else_gets_nothing_rather_than_what_is_least_far(home: Path) -> None:
    with opened(home) as memory:
        assert memory.search("who bakes bread with olives?", sync=False).abstained


@pytest.mark.model
def test_passages_without_vectors_are_read_while_the_question_waits_and_kept(home: Path) -> None:
    with opened(home, at_once=6) as memory:
        memory.embedding.remove()
        memory.search("how was the printing of chapter 7?", sync=False)
        store = memory.embedding._open_passages()
        assert store.counts()[1] == 6
        store.close()


@pytest.mark.model
def test_forgetting_a_session_forgets_its_vectors_at_once(home: Path) -> None:
    with opened(home) as memory:
        uid = next(hit.session_uid for hit in memory.search("Booting takes two seconds", sync=False).hits)
        store = memory.embedding._open_passages()
        before = store.counts()
        store.close()
        memory.maintenance.forgetting.run(ForgetSelection(session=uid))
        after = store.counts()
        store.close()
        assert after[0] < before[0]
        assert after[1] < before[1]
        assert all(hit.session_uid != uid for hit in memory.search(QUESTION, sync=False).hits)


@pytest.mark.model
@pytest.mark.parametrize(
    "question", ["?", "how? " * 25_000, "なぜキャッシュは?", "\ud800 how was it?", "how was \x00 the start?"]
)
def test_any_question_is_answered(home: Path, question: str) -> None:
    with opened(home) as memory:
        answer = memory.search(question, sync=False)
        assert answer.hits or answer.notes


def test_without_the_model_words_answer_and_the_answer_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("contextual", "passage_process"):
        monkeypatch.setattr(f"recollect.index.vectors.{module}.weights_path", lambda: None)
    with opened(home) as memory:
        answer = memory.search(QUESTION, sync=False)
        assert answer.hits
        assert any("the contextual model is not installed" in note for note in answer.notes)


@pytest.mark.model
def test_damaged_vectors_of_passages_are_a_note_or_nothing_and_words_answer(home: Path) -> None:
    vectors = home / "home" / "index" / "vectors"
    for path in (*vectors.glob("passages.db"), *vectors.glob("talk-*")):
        path.write_bytes(b"\x00" * 4096)
    with opened(home) as memory:
        assert memory.search(QUESTION, sync=False).hits
        memory.embedding.run()
        assert memory.embedding._open_passages().counts()[1] > 0


def test_switched_off_it_costs_nothing_and_says_nothing(home: Path) -> None:
    for options in ({"contextual": False}, {"model": "off"}):
        with opened(home, **options) as memory:
            assert memory.embedding.contextual() is None
            assert not any("contextual" in note for note in memory.search(QUESTION, sync=False).notes)


@pytest.mark.model
def test_a_deep_check_finds_the_vector_of_another_text(home: Path) -> None:
    with opened(home) as memory:
        (part,) = [part for part in memory.maintenance.verify_deep().deep if part.name == "vectors"]
        assert part.ok
        store = memory.embedding._open_passages()
        key, _code = next(store.talk_codes())
        store.add({store.hashes([key])[key][0]: b"\xf8" * 192}, {})
        store.close()
        (part,) = [part for part in memory.maintenance.verify_deep().deep if part.name == "vectors"]
        assert [found.what for found in part.differences] == [f"event key {key}"]


@pytest.mark.model
def test_doctor_and_stats_say_how_much_the_model_has_read(home: Path) -> None:
    def told() -> str:
        with opened(home) as memory:
            checks = memory.maintenance.doctor().checks
            return next(check.detail for check in checks if check.name == "contextual model")

    assert told() == "has read 31 of 31 sessions"
    with opened(home) as memory:
        vectors = memory.stats().vectors
        assert vectors is not None
        assert (vectors.sessions_read, vectors.sessions_total) == (31, 31)
        memory.embedding.remove()
    assert told().startswith("has read 0 of 31 sessions; the next sync goes on")


@pytest.mark.model
def test_a_process_that_cannot_start_says_why(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "raise SystemExit('the runtime wants a newer system')"]
    monkeypatch.setattr("recollect.index.vectors.passage_process.own_command", lambda *_given, **_module: command)
    with opened(home) as memory:
        notes = memory.search(QUESTION, sync=False).notes
    assert any(note.endswith("did not start: the runtime wants a newer system") for note in notes)


@pytest.mark.model
def test_where_no_process_may_be_started_none_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_BACKGROUND", "0")
    with opened(home) as memory:
        assert memory.search(QUESTION, sync=False).hits
    assert not (home / "home" / "index" / "vectors" / FILE_NAME).exists()
