"""The contextual model, in this process and in the one that serves questions. Real model, real processes."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recollect.errors import EmbeddingUnavailable
from recollect.index.vectors import onnx
from recollect.index.vectors import passage_process as client
from recollect.index.vectors.contextual import DIMENSIONS, ContextualModel, weights_path
from recollect.index.vectors.passage_process import FILE_NAME, PassageReader, is_at_work


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[PassageReader]:
    made = PassageReader(tmp_path / "vectors")
    yield made
    made.close()
    end(tmp_path / "vectors")


def pid_of(folder: Path) -> int:
    pid: int = json.loads((folder / FILE_NAME).read_bytes())["pid"]
    return pid


def end(folder: Path) -> None:
    if is_at_work(folder):
        os.kill(pid_of(folder), signal.SIGTERM)
        (folder / FILE_NAME).unlink(missing_ok=True)


@pytest.mark.model
def test_what_means_the_same_is_nearer_than_what_shares_its_words() -> None:
    said = [
        "The build broke because the disk was full.",
        "Compilation failed: no space left on device.",
        "The disk of the sun was full of colours when the day broke.",
    ]
    vectors = ContextualModel().embed(said)
    assert vectors.shape == (3, DIMENSIONS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


@pytest.mark.model
def test_any_text_has_a_vector_and_a_batch_changes_none() -> None:
    model = ContextualModel()
    texts = [
        "",
        "?!",
        "設定ファイル",
        "x" * 100_000,
        "\ud800 half a pair",
        "short",
        "words " * 300,
    ]
    together = model.embed(texts)
    assert np.isfinite(together).all()
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(model.embed([text])[0], row)
    assert model.embed([]).shape == (0, DIMENSIONS)


@pytest.mark.model
def test_bytes_multiplied_give_nearly_the_vectors_that_the_packages_own_graph_gives() -> None:
    model = ContextualModel()
    path = weights_path()
    assert path is not None
    own = onnx.open_session(path, threads=1)
    for text in (
        "The build broke because the disk was full.",
        "def cut(text: str) -> list[str]:\n    ...",
        "No space left on device.",
    ):
        ids = np.array([model.tokens_of(text)], np.int64)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = own.run(None, given)[0][0].mean(0)
        assert model.embed([text])[0] @ mean / np.linalg.norm(mean) > 0.98


@pytest.mark.model
def test_a_processor_that_cuts_off_large_sums_gives_the_same_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "The build broke because the disk was full."
    chosen = ContextualModel().embed([text])[0]
    monkeypatch.setattr(onnx, "_are_sums_cut_off", lambda _options: True)
    assert chosen @ ContextualModel().embed([text])[0] > 0.999


@pytest.mark.parametrize("content", [None, b"", b"not the weights"])
def test_weights_that_are_not_the_known_ones_are_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(EmbeddingUnavailable, match="contextual model"):
        ContextualModel(path)


@pytest.mark.model
def test_a_process_of_its_own_answers_and_a_second_caller_shares_it(reader: PassageReader, tmp_path: Path) -> None:
    vectors = reader.embed(["a question", "a passage"])
    assert vectors == pytest.approx(ContextualModel().embed(["a question", "a passage"]), abs=1e-5)
    pid = pid_of(tmp_path / "vectors")
    assert pid != os.getpid()
    other = PassageReader(tmp_path / "vectors", may_start=False)
    assert other.embed(["a question"]) == pytest.approx(vectors[:1], abs=1e-5)
    other.close()
    assert pid_of(tmp_path / "vectors") == pid
    if sys.platform != "win32":
        assert (tmp_path / "vectors" / FILE_NAME).stat().st_mode & 0o077 == 0


@pytest.mark.model
@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_process_is_started_again_where_that_is_allowed(reader: PassageReader, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    reader.embed(["a question"])
    pid = pid_of(folder)
    os.kill(pid, signal.SIGKILL)
    while is_alive(pid):
        time.sleep(0.01)
    kept = PassageReader(folder, may_start=False)
    with pytest.raises(EmbeddingUnavailable, match="none may be started"):
        kept.embed(["a question"])
    assert reader.embed(["a question"]).shape == (1, DIMENSIONS)
    assert pid_of(folder) != pid


def is_alive(pid: int) -> bool:
    """Return whether a process runs: one that has ended and was not waited for doesn't."""
    try:
        os.kill(pid, 0)
        return "Z" not in Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2][:3]
    except (ProcessLookupError, FileNotFoundError):
        return False


@pytest.mark.model
@pytest.mark.skipif(sys.platform == "win32", reason="SIGSTOP")
def test_a_process_that_was_stopped_holds_no_question(
    reader: PassageReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.embed(["a question"])
    pid = pid_of(tmp_path / "vectors")
    monkeypatch.setattr(client, "ANSWER_S", 0.2)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(EmbeddingUnavailable, match="answer"):
            PassageReader(tmp_path / "vectors").embed(["a question"])
        with pytest.raises(EmbeddingUnavailable, match="answer"):
            reader.embed(["a question"])
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.model
def test_a_caller_who_says_nothing_keeps_nobody_waiting(reader: PassageReader, tmp_path: Path) -> None:
    reader.embed(["a question"])
    port = json.loads((tmp_path / "vectors" / FILE_NAME).read_bytes())["port"]
    with socket.create_connection(("127.0.0.1", port)):
        other = PassageReader(tmp_path / "vectors", may_start=False)
        assert other.embed(["a question"]).shape == (1, DIMENSIONS)
        other.close()


@pytest.mark.model
def test_a_stranger_without_the_key_gets_nothing(reader: PassageReader, tmp_path: Path) -> None:
    folder = tmp_path / "vectors"
    reader.embed(["a question"])
    address = json.loads((folder / FILE_NAME).read_bytes())
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / FILE_NAME).write_text(json.dumps({**address, "key": "00" * 32}), "utf-8")
    with pytest.raises(EmbeddingUnavailable):
        PassageReader(stranger, may_start=False).embed(["a question"])
    assert reader.embed(["a question"]).shape == (1, DIMENSIONS)
