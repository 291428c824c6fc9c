"""An index whose files are destroyed costs nothing but the time to make the lost part anew."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.config import Config, EmbeddingConfig
from recollect.errors import IndexUnavailable
from recollect.index.text.writer import IndexWriterSet
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """Return a memory with one session that says `zebra`, its index written."""
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"), "CODEX_HOME": str(tmp_path / "codex")}
    transcript = ClaudeTranscript(tmp_path / "claude", "one")
    transcript.user("where do the zebra stripes come from")
    for number in range(50):
        transcript.user(f"ordinary talk number{number}")
    words_alone = Config(embedding=EmbeddingConfig(model="off"))
    with Memory.open(tmp_path / "memory", config=words_alone, env=env) as opened:
        opened.sync()
        assert opened.search("zebra stripes", sync=False).hits
        yield opened


def again(memory: Memory) -> Memory:
    """Open the same memory as another process would, with nothing of the index in memory."""
    return Memory.open(memory.home, config=memory.config, env=memory.env)


def index_files(memory: Memory, ending: str) -> list[Path]:
    return sorted((memory.home / "index").rglob(f"*{ending}"))


def destroy(path: Path, *, keep_bytes: int = 0) -> None:
    """Overwrite a file with zeros; its last bytes may stay, so that it still opens."""
    data = path.read_bytes()
    keep = data[len(data) - keep_bytes :] if keep_bytes else b""
    # Another file of that name: truncating one that is mapped into memory kills the process.
    broken = path.with_suffix(".broken")
    broken.write_bytes(b"\0" * (len(data) - len(keep)) + keep)
    broken.replace(path)


@pytest.mark.parametrize("ending", [".term", ".idx", ".pos", ".fast", ".fieldnorm"])
def test_a_search_mends_a_part_of_the_index_whose_file_is_destroyed(memory: Memory, ending: str) -> None:
    memory.close()
    for path in index_files(memory, ending):
        destroy(path)
    with again(memory) as other:
        assert [hit.kind for hit in other.search("zebra stripes").hits] == ["user_message"]


@pytest.mark.parametrize("ending", [".term", ".idx", ".fast"])
def test_a_search_mends_a_part_that_opens_and_cannot_be_read(memory: Memory, ending: str) -> None:
    memory.close()
    for path in index_files(memory, ending):
        destroy(path, keep_bytes=200)
    with again(memory) as other:
        assert other.refresh() == ()  # the usual check finds nothing wrong with it
        answer = other.search('zebra "stripes come"')
        assert [hit.kind for hit in answer.hits] == ["user_message"]
        assert "was rebuilt" in " ".join(answer.notes)
        assert other.search("zebra stripes").notes == ()


def test_a_search_names_a_missing_part_of_the_index_and_claims_no_absence(memory: Memory) -> None:
    memory.close()
    (shard,) = (memory.home / "index" / "text").glob("*/")
    shutil.rmtree(shard)
    with again(memory) as other:
        answer = other.search("zebra", sync=False)
        assert (answer.hits, answer.abstained) == ((), False)
        said = " ".join(answer.notes)
        assert "the index of August 2026 is missing: 52 events were not searched" in said
        assert "nowhere" not in said
        mended = other.search("zebra")
        assert (len(mended.hits), mended.notes) == (1, ("the search index was brought in step: 52 events added",))


def test_a_search_says_how_much_the_index_lags_behind(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_index: IndexWriterSet) -> None:
        raise IndexUnavailable("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(IndexWriterSet, "commit", full)
        talk = ClaudeTranscript(Path(memory.env["CLAUDE_CONFIG_DIR"]), "two")
        talk.user("the okapi is a shy animal")
        memory.sync()
    answer = memory.search("okapi", sync=False)
    assert (answer.hits, answer.abstained) == ((), False)
    assert "the index lags behind: 2 events were not searched; run `recollect sync`" in answer.notes
    assert memory.search("okapi").hits


def test_a_word_is_said_to_be_nowhere_only_where_everything_was_searched(memory: Memory) -> None:
    answer = memory.search("okapi", sync=False)
    assert answer.abstained
    assert answer.notes == ("nothing found: no event contains  okapi",)
    (memory.home / "ingest.lock").unlink()
    (memory.home / "ingest.lock").mkdir()  # nothing can be ingested
    ClaudeTranscript(Path(memory.env["CLAUDE_CONFIG_DIR"]), "two").user("the okapi is a shy animal")
    with again(memory) as other:
        answer = other.search("okapi")
        assert not answer.abstained
        assert answer.notes[0] == "nothing found in what was searched"
        assert "could not ingest first" in answer.notes[1]


def test_parts_of_words_are_found_where_their_list_cannot_be_written(memory: Memory) -> None:
    memory.close()
    (shard,) = (memory.home / "index" / "text").glob("*/")
    for name in ("terms.txt", "terms.json", "terms.new"):
        (shard / name).unlink(missing_ok=True)
    (shard / "terms.txt").mkdir()
    with again(memory) as other:
        assert other.search("*ebr*", sync=False).hits


def test_without_syncing_a_damaged_part_is_said_and_left_alone(memory: Memory) -> None:
    memory.close()
    for path in index_files(memory, ".term"):
        destroy(path)
    with again(memory) as other:
        answer = other.search("zebra stripes", sync=False)
        assert answer.hits == ()
        assert "damaged" in " ".join(answer.notes)
