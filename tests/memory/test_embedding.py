"""Vectors are made of what was said, follow what changes, and are never in the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from recollect.config import Config, EmbeddingConfig
from recollect.errors import ConfigError, EmbeddingUnavailable, IndexUnavailable
from recollect.index.vectors.embed import LOCK_NAME, STOP_NAME
from recollect.memory import Memory
from recollect.store.lock import IngestLock
from recollect.testing.builders import ClaudeTranscript
from tests.ingest.conftest import World, world

__all__ = ["world"]

SECRETS = "Credentials are hashed with a salt before they are stored in the vault."
CHART = "The chart's legend overlaps the axis labels on small screens."
QUESTION = "how do we keep passwords safe"


@pytest.fixture
def talk(world: World) -> World:
    """A session with two subjects, taken in."""
    one = world.claude()
    one.user("please look at both problems")
    one.assistant(SECRETS)
    one.assistant(CHART)
    world.memory.sync()
    return world


def nearest(memory: Memory, question: str = QUESTION, limit: int = 5) -> list[str]:
    """Return the texts nearest to a question, best first."""
    index = memory.embedding.index()
    assert index is not None
    keys = [near.key for near in index.nearest(question, limit=limit)]
    found = memory.reader().hit_texts().texts(keys)
    return [found[key].text for key in keys]


def with_embedding(world: World, **settings: object) -> Memory:
    config = Config(embedding=EmbeddingConfig(**settings))  # type: ignore[arg-type]
    return Memory.open(world.memory.home, config=config, env=world.env)


def test_what_was_said_is_found_by_meaning(talk: World) -> None:
    report = talk.memory.embedding.run()
    assert (report.state, report.covered, report.total) == ("done", 3, 3)
    assert nearest(talk.memory)[0] == SECRETS


def test_what_asks_to_stop_and_cannot_be_removed_is_a_clear_error(talk: World) -> None:
    (talk.memory.home / "index" / "vectors" / STOP_NAME).mkdir(parents=True)
    with pytest.raises(IndexUnavailable, match="vectors cannot be written"):
        talk.memory.embedding.run()


def test_without_vectors_coverage_says_what_is_missing(talk: World) -> None:
    assert talk.memory.embedding.coverage() == (0, 3, True)
    assert nearest(talk.memory) == []
    talk.memory.embedding.run()
    assert talk.memory.embedding.coverage() == (3, 3, False)


def test_a_second_run_has_nothing_to_do(talk: World) -> None:
    talk.memory.embedding.run()
    again = talk.memory.embedding.run()
    assert (again.state, again.events, again.chunks, again.was_begun_anew) == ("done", 0, 0, False)


def test_new_talk_is_followed(talk: World) -> None:
    talk.memory.embedding.run()
    talk.claude("two").user("Rotate the signing keys every month")
    talk.memory.sync()
    assert talk.memory.embedding.coverage() == (3, 4, True)
    assert talk.memory.embedding.run(with_passages=False).events == 1
    assert nearest(talk.memory, "key rotation schedule")[0].startswith("Rotate")


def test_tool_output_has_no_vectors(talk: World) -> None:
    one = talk.claude("tools")
    one.user("run it")
    one.tool("Bash", {"command": "cat vault"}, "passwords are kept safe in the vault")
    talk.memory.sync()
    talk.memory.embedding.run()
    assert not any("kept safe" in text for text in nearest(talk.memory, limit=20))


def test_a_long_message_is_found_by_what_stands_deep_inside(talk: World) -> None:
    filler = "Nothing much happened in the meeting about lunch. " * 60
    talk.claude("long").user(f"{filler}\n{SECRETS}\n{filler}")
    talk.memory.sync()
    assert talk.memory.embedding.run().chunks > 6
    assert sum(SECRETS in text for text in nearest(talk.memory, limit=2)) == 2


def test_time_that_is_up_leaves_a_run_to_go_on_with(talk: World) -> None:
    for number in range(40):
        talk.claude(f"s{number}").user(f"subject number {number} of many")
    talk.memory.sync()
    first = talk.memory.embedding.run(max_seconds=0)
    assert first.state == "interrupted"
    last = talk.memory.embedding.run()
    assert (last.state, last.covered, last.total) == ("done", 43, 43)
    assert len(set(nearest(talk.memory, "subject number 7", limit=43))) == 43


def test_a_replaced_event_leaves_the_vectors(world: World) -> None:
    path = world.claude_home / "projects"
    one = world.claude()
    one.user("first words")
    one.assistant(CHART)
    world.memory.sync()
    world.memory.embedding.run()
    transcript = next(path.rglob("*.jsonl"))
    lines = transcript.read_text("utf-8")
    transcript.write_text(lines.replace("legend overlaps", "legend completely covers"), "utf-8")
    world.memory.sync()
    world.memory.embedding.run()
    said = nearest(world.memory, "chart legend", limit=10)
    assert sum("covers" in text for text in said) == 1
    assert CHART not in said
    index = world.memory.embedding.index()
    assert index is not None
    assert index.coverage() == (2, 2, False)


def test_a_rebuilt_database_gets_vectors_of_its_own_keys(talk: World) -> None:
    talk.memory.embedding.run()
    talk.memory.maintenance.rebuild("all")
    assert talk.memory.embedding.coverage() == (0, 3, True)
    assert nearest(talk.memory) == []
    report = talk.memory.embedding.run()
    assert (report.was_begun_anew, report.covered) == (True, 3)
    assert nearest(talk.memory)[0] == SECRETS


def test_a_derivation_anew_keeps_the_vectors_in_step(talk: World) -> None:
    talk.memory.embedding.run()
    talk.memory.sync(force=True)
    report = talk.memory.embedding.run()
    assert (report.covered, report.total) == (3, 3)
    assert sorted(nearest(talk.memory)) == sorted([SECRETS, CHART, "please look at both problems"])


def test_removed_vectors_can_be_made_again(talk: World) -> None:
    talk.memory.embedding.run()
    assert talk.memory.embedding.remove().state == "removed"
    assert nearest(talk.memory) == []
    assert not [p for p in (talk.memory.home / "index" / "vectors").iterdir() if p.is_dir()]
    assert talk.memory.embedding.run().covered == 3


def test_vectors_of_an_earlier_model_go_when_the_new_ones_are_whole(talk: World) -> None:
    talk.memory.embedding.run()
    folder = talk.memory.home / "index" / "vectors"
    now = next(p for p in folder.iterdir() if p.is_dir())
    earlier = now.rename(folder / "earlier-00000000")
    doctor = {check.name: check for check in talk.memory.maintenance.doctor().checks}
    assert (doctor["vectors"].state, "earlier" in doctor["vectors"].detail) == ("warn", True)
    talk.memory.embedding.run()
    assert not earlier.exists()
    assert talk.memory.embedding.coverage() == (3, 3, False)


def test_doctor_and_stats_tell_what_is_covered(talk: World) -> None:
    def said() -> tuple[str, str]:
        check = next(check for check in talk.memory.maintenance.doctor().checks if check.name == "vectors")
        return check.state, check.detail

    assert said() == ("warn", "0 of 3 events covered")
    talk.memory.embedding.run()
    assert said() == ("ok", "3 of 3 events covered")
    stats = talk.memory.stats().vectors
    assert stats is not None
    assert (stats.covered, stats.total, stats.problem) == (3, 3, "")
    column = next((talk.memory.home / "index" / "vectors").rglob("codes"))
    column.write_bytes(column.read_bytes()[:-1])
    with talk.again() as other:
        damaged = other.stats().vectors
        assert damaged is not None
        assert "damaged" in damaged.problem
        check = next(check for check in other.maintenance.doctor().checks if check.name == "vectors")
    assert (check.state, check.hint) == ("warn", "run `recollect embed --anew`")


def test_the_change_log_waits_for_the_vectors_and_no_longer(talk: World) -> None:
    talk.memory.embedding.run()
    talk.claude("two").user("more words")
    talk.memory.sync()
    assert talk.memory.reader().changes_after("vectors")
    talk.memory.embedding.run()
    assert talk.memory.reader().changes_after("vectors") == []


def test_one_run_at_a_time(talk: World) -> None:
    folder = talk.memory.home / "index" / "vectors"
    folder.mkdir(parents=True)
    lock = IngestLock(folder, name=LOCK_NAME)
    try:
        report = talk.memory.embedding.run()
    finally:
        lock.release()
    assert report.state == "busy"
    assert str(os.getpid()) in report.notes[0]
    assert talk.memory.embedding.run().state == "done"


def test_threads_may_ask_while_another_one_embeds(talk: World) -> None:
    for number in range(60):
        talk.claude(f"s{number}").user(f"subject number {number} of many")
    talk.memory.sync()
    failures: list[BaseException] = []
    found: list[int] = []

    def ask() -> None:
        try:
            found.extend(len(nearest(talk.memory)) for _ in range(30))
        except BaseException as error:  # noqa: BLE001  handed to the test
            failures.append(error)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    states = {talk.memory.embedding.run().state}
    for thread in threads:
        thread.join()
    assert (failures, states) == ([], {"done"})
    assert len(nearest(talk.memory)) == 5


def test_what_is_taken_in_during_a_run_is_not_lost(talk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recollect.index.vectors.embed.BATCH_EVENTS", 5)
    sessions = [talk.claude(f"s{number}") for number in range(30)]
    for number, session in enumerate(sessions):
        session.user(f"subject number {number} of many")
    talk.memory.sync()
    rounds: list[int] = []

    def take_more_in(done: int, _total: int) -> None:
        if len(rounds) < 3:
            rounds.append(done)
            talk.claude(f"late{len(rounds)}").user(f"a late remark {len(rounds)}")
            sessions[0].user(f"one more thing {len(rounds)}")
            with talk.again() as other:
                assert other.sync().state == "done"

    report = talk.memory.embedding.run(progress=take_more_in)
    assert (report.state, report.covered, report.total) == ("done", 39, 39)
    index = talk.memory.embedding.index()
    assert index is not None
    rows = index.rows()
    assert rows is not None
    assert len(rows.keys) - int(rows.dead().sum()) == 39


def test_switched_off_nothing_is_made(talk: World) -> None:
    with with_embedding(talk, model="off") as memory:
        assert memory.embedding.run().state == "off"
        assert memory.embedding.index() is None
        assert memory.embedding.coverage() is None
        assert memory.embedding.start_in_background() is False
    assert not (talk.memory.home / "index" / "vectors").exists()


def test_an_empty_memory_has_nothing_to_embed(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "memory", config=Config(), env={"HOME": str(tmp_path)}) as memory:
        assert memory.embedding.run().state == "done"
        assert memory.embedding.coverage() is None
    assert not (tmp_path / "memory").exists()


def test_a_folder_that_is_not_there_is_a_wrong_configuration(talk: World) -> None:
    with with_embedding(talk, model="/no/such/model") as memory, pytest.raises(ConfigError, match="no folder"):
        memory.embedding.run()


def test_a_folder_without_a_model_is_said(talk: World, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with with_embedding(talk, model=str(tmp_path / "empty")) as memory, pytest.raises(EmbeddingUnavailable) as caught:
        memory.embedding.run()
    assert "safetensors" in caught.value.hint


def test_a_model_whose_packages_are_missing_names_the_extra(talk: World, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).write_bytes(b"{}")
    with with_embedding(talk, model=str(folder)) as memory, pytest.raises(EmbeddingUnavailable) as caught:
        memory.embedding.run()
    try:
        import model2vec  # noqa: F401
    except ImportError:
        assert "recollect[model2vec]" in caught.value.hint
    else:
        assert "cannot be read" in str(caught.value)


def test_own_questions_and_answers_have_no_vectors(talk: World) -> None:
    one = talk.claude("own")
    one.user("what did we say about passwords")
    one.tool("mcp__recollect__search", {"query": "passwords"}, f"<recollect-memory>{SECRETS}</recollect-memory>")
    talk.memory.sync()
    talk.memory.embedding.run()
    assert nearest(talk.memory, limit=20).count(SECRETS) == 1


PROGRAM = """
import sys
from recollect.config import Config
from recollect.memory import Memory
import recollect.index.vectors.embed as embed
embed.BATCH_EVENTS, embed.COMMIT_EVERY_S = 4, 0
with Memory.open(sys.argv[1], config=Config(), env={"HOME": sys.argv[1]}) as memory:
    memory.embedding.run(progress=lambda done, total: print(done, flush=True))
print("whole", flush=True)
"""


def test_killed_and_run_again_every_event_has_its_vectors_once(talk: World) -> None:
    for number in range(120):
        talk.claude(f"s{number}").user(f"subject number {number} of many")
    talk.memory.sync()
    for kills_after in (1, 3, 6):
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(talk.memory.home)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for _ in range(kills_after):
            child.stdout.readline()
        child.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
        child.wait()
        child.stdout.close()
    report = talk.memory.embedding.run()
    assert (report.state, report.covered, report.total) == ("done", 123, 123)
    index = talk.memory.embedding.index()
    assert index is not None
    rows = index.rows()
    assert rows is not None
    assert len(rows.keys) - int(rows.dead().sum()) == 123


def test_a_search_loads_neither_numpy_nor_a_client_to_know_that_vectors_are_in_step(talk: World) -> None:
    talk.memory.embedding.run()
    program = (
        "import sys; from recollect.config import Config; from recollect.memory import Memory\n"
        "m = Memory.open(sys.argv[1], config=Config(), env={'HOME': sys.argv[1]})\n"
        "print(m.embedding.index().is_stale(), [n for n in ('numpy', 'httpx2', 'tokenizers') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(talk.memory.home)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("False []", "")


def test_a_detached_process_makes_them_and_ends(talk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started as `sync` starts it, and waited for here, as nobody else would."""
    started: list[threading.Thread] = []
    import recollect.ingest.background_embedding as module

    start = module.start_detached
    monkeypatch.setattr(module, "start_detached", lambda *args: started.append(start(*args)))
    monkeypatch.setenv("RECOLLECT_HOME", str(talk.memory.home))
    assert talk.memory.embedding.start_in_background() is True
    started[0].join()
    assert talk.memory.embedding.coverage() == (3, 3, False)
    assert " vectors of " in (talk.memory.home / "logs" / "embed.log").read_text("utf-8")
    assert talk.memory.embedding.start_in_background() is False


def test_a_variable_keeps_processes_from_being_left_behind(talk: World) -> None:
    env = {**talk.env, "RECOLLECT_BACKGROUND": "0"}
    with Memory.open(talk.memory.home, config=Config(), env=env) as memory:
        assert memory.embedding.start_in_background() is False


def test_a_transcript_of_an_ingested_home_can_be_embedded_by_another_process(talk: World) -> None:
    with talk.again() as other:
        assert other.embedding.run().covered == 3
    assert nearest(talk.memory)[0] == SECRETS
    assert isinstance(talk.claude("later"), ClaudeTranscript)
