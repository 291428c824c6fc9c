"""Vectors from a server are taken only if they can be what was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.config import Config, EmbeddingConfig
from recollect.endpoints.embedding import BATCH_TEXTS, OLLAMA_URL, EmbeddingClient, checked_url
from recollect.errors import ConfigError, EmbeddingUnavailable, EndpointRefused, EndpointUnusable
from recollect.index.vectors.embedders import ServedEmbedder
from recollect.memory import Memory
from recollect.testing.builders import ClaudeTranscript
from tests.endpoints.served import DIMENSIONS, Answer, Asked, Behaviour, ollama, openai, serving, vector

KEY = "synthetic-key-0000"


def settings(url: str, **more: Any) -> EmbeddingConfig:
    return EmbeddingConfig(**{"model": "m", "api": "openai", "url": url, **more})


def ask(behaviour: Behaviour, texts: list[str], **more: Any) -> list[list[float]]:
    with serving(behaviour) as server:
        client = EmbeddingClient.of(settings(server.url, **more), {})
        try:
            return client.embed(texts)
        finally:
            client.close()


def lying(vectors: Any) -> Behaviour:
    """Return vectors that have nothing to do with the question, as JSON text."""
    body = '{"data": [' + ", ".join(f'{{"index": {n}, "embedding": {v}}}' for n, v in enumerate(vectors)) + "]}"
    return lambda _asked, _before: Answer(body=body.encode())


def test_vectors_come_in_the_order_of_the_texts_whatever_the_servers() -> None:
    assert ask(openai, ["one", "two", "three"]) == [vector("one"), vector("two"), vector("three")]


def test_ollama_is_asked_its_own_way() -> None:
    with serving(ollama) as server:
        client = EmbeddingClient.of(settings(server.url, api="ollama"), {})
        assert client.embed(["one"]) == [vector("one")]
        client.close()
    assert server.asked[0].path == "/v1/api/embed"
    assert server.asked[0].body == {"model": "m", "input": ["one"]}


def test_the_key_comes_from_the_variable_and_the_length_is_asked_for() -> None:
    with serving(openai) as server:
        client = EmbeddingClient.of(
            settings(server.url, key_variable="MY_KEY", dimensions=DIMENSIONS), {"MY_KEY": f" {KEY}\n"}
        )
        client.embed(["one"])
        client.close()
    asked = server.asked[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {"model": "m", "input": ["one"], "dimensions": DIMENSIONS, "encoding_format": "float"}
    assert asked.path == "/v1/embeddings"


def test_many_texts_go_in_several_calls() -> None:
    texts = [f"text {n}" for n in range(2 * BATCH_TEXTS + 3)]
    with serving(openai) as server:
        client = EmbeddingClient.of(settings(server.url), {})
        assert client.embed(texts) == [vector(text) for text in texts]
        client.close()
    assert [len(asked.body["input"]) for asked in server.asked] == [BATCH_TEXTS, BATCH_TEXTS, 3]


def test_long_texts_go_in_calls_of_their_own() -> None:
    with serving(openai) as server:
        client = EmbeddingClient.of(settings(server.url), {})
        client.embed(["a" * 70_000, "b" * 70_000, "c" * 150_000, "d"])
        client.close()
    assert [len(asked.body["input"]) for asked in server.asked] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "vectors",
    [
        [],
        [[1.0, 2.0]] * 3,
        ["[]", "[]"],
        [[1.0, 2.0], [1.0, 2.0, 3.0]],
        [[0.0, 0.0], [1.0, 0.0]],
        ["[1e999, 1]", "[1, 1]"],
        ["[NaN, 1]", "[1, 1]"],
        ["[null, 1]", "[1, 1]"],
        ['"AAAA"', '"AAAA"'],
    ],
)  # fmt: skip
def test_vectors_that_cannot_be_are_refused(vectors: list[Any]) -> None:
    with pytest.raises(EndpointUnusable):
        ask(lying(vectors), ["one", "two"])


def test_another_length_than_asked_for_is_refused() -> None:
    with pytest.raises(EndpointUnusable, match="2 numbers, not 8"):
        ask(lying([[1.0, 2.0]]), ["one"], dimensions=8)


def test_wrong_numbers_are_refused() -> None:
    def behave(_asked: Asked, _before: int) -> Answer:
        return Answer(body=b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}')

    with pytest.raises(EndpointUnusable, match="numbered"):
        ask(behave, ["one", "two"])


def test_a_server_that_numbers_nothing_is_taken_at_its_order() -> None:
    def behave(_asked: Asked, _before: int) -> Answer:
        return Answer(body=b'{"data": [{"embedding": [1]}, {"embedding": [2]}]}')

    assert ask(behave, ["one", "two"]) == [[1.0], [2.0]]


@pytest.mark.parametrize(
    "url",
    [
        "", "ftp://127.0.0.1", "127.0.0.1:80", "https://", "https://name:word@host.example", "https://host.example?k=v",
        "https://host.example/#x", "https://host.example:99999", "https://[::1",
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_a_wrong_configuration(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_url(settings(url))
    assert caught.value.key == "embedding.url"


def test_a_key_is_never_sent_in_the_open() -> None:
    with pytest.raises(ConfigError, match="https"):
        checked_url(settings("http://host.example/v1", key_variable="MY_KEY"))
    assert checked_url(settings("http://host.example/v1/")) == "http://host.example/v1"
    assert checked_url(settings("http://localhost:8080", key_variable="MY_KEY")) == "http://localhost:8080"


def test_ollama_has_an_address_of_its_own() -> None:
    assert checked_url(EmbeddingConfig(model="m", api="ollama")) == OLLAMA_URL


def test_a_key_that_is_not_set_is_said_before_anything_is_sent() -> None:
    with serving(openai) as server:
        client = EmbeddingClient.of(settings(server.url, key_variable="MY_KEY"), {})
        with pytest.raises(ConfigError, match="MY_KEY is not set"):
            client.embed(["one"])
        client.close()
    assert server.asked == []


def test_a_refusal_does_not_show_the_key() -> None:
    def behave(_asked: Asked, _before: int) -> Answer:
        return Answer(status=401, body=b"wrong key")

    with serving(behave) as server:
        client = EmbeddingClient.of(settings(server.url, key_variable="MY_KEY"), {"MY_KEY": KEY})
        with pytest.raises(EndpointRefused) as caught:
            client.embed(["one"])
        client.close()
    assert KEY not in f"{caught.value} {caught.value.hint}"


def test_served_vectors_are_brought_to_unit_length() -> None:
    with serving(openai) as server:
        embedder = ServedEmbedder(EmbeddingClient.of(settings(server.url), {}))
        vectors = embedder.embed(["one", "  ", "two"])
        embedder.close()
    assert embedder.dimensions == DIMENSIONS
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1, 0, 1])


def test_huge_numbers_are_no_trouble() -> None:
    with serving(lying([[1e308, 1e308]])) as server:
        embedder = ServedEmbedder(EmbeddingClient.of(settings(server.url), {}))
        found = embedder.embed(["one"])[0]
        embedder.close()
    assert found.tolist() == pytest.approx([0.5**0.5] * 2)


def test_a_model_that_changes_its_length_is_said() -> None:
    def behave(_asked: Asked, before: int) -> Answer:
        return Answer(body=json.dumps({"data": [{"embedding": [1.0] * (4 + before)}]}).encode())

    with serving(behave) as server:
        embedder = ServedEmbedder(EmbeddingClient.of(settings(server.url), {}))
        embedder.embed(["one"])
        with pytest.raises(EmbeddingUnavailable, match="now gives 5"):
            embedder.embed(["one"])
        embedder.close()


def memory_of(root: Path, config: EmbeddingConfig) -> Memory:
    env = {"HOME": str(root), "CLAUDE_CONFIG_DIR": str(root / "claude")}
    return Memory.open(root / "memory", config=Config(embedding=config), env=env)


def test_a_memory_is_embedded_by_a_server_and_only_redacted_text_leaves(tmp_path: Path) -> None:
    token = "ghp_" + "Zz9" * 12  # made up
    one = ClaudeTranscript(tmp_path / "claude", "one")
    one.user(f"the token is {token}, keep it")
    one.assistant("noted")
    with serving(openai) as server, memory_of(tmp_path, settings(server.url)) as memory:
        memory.sync()
        assert server.asked == []
        assert memory.embedding.run().covered == 2
        index = memory.embedding.index()
        assert index is not None
        assert len(index.nearest("noted", limit=5)) == 2
        sent = json.dumps([asked.body for asked in server.asked])
    assert "keep it" in sent
    assert token not in sent


def test_a_server_that_fails_half_way_costs_only_the_rest(tmp_path: Path) -> None:
    for number in range(3):
        one = ClaudeTranscript(tmp_path / "claude", f"s{number}")
        for turn in range(40):
            one.user(f"subject {number} {turn} " + "words and words " * 300)

    is_broken = [True]

    def behave(asked: Asked, before: int) -> Answer:
        return Answer(status=400, body=b"enough") if is_broken[0] and before >= 8 else openai(asked)

    with serving(behave) as server, memory_of(tmp_path, settings(server.url)) as memory:
        memory.sync()
        with pytest.raises(EmbeddingUnavailable, match="enough"):
            memory.embedding.run()
        coverage = memory.embedding.coverage()
        assert coverage is not None
        assert 0 < coverage.covered < coverage.total == 120
        is_broken[0] = False
        rest = memory.embedding.run()
        assert (rest.covered, rest.events) == (120, 120 - coverage.covered)
