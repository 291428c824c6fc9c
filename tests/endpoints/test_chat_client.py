"""A model is asked in its own interface, and whatever its server answers is said in one way."""

from __future__ import annotations

import json
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from recollect.config import LearningConfig, parse_config
from recollect.endpoints.chat import (
    ANTHROPIC_MODEL,
    ANTHROPIC_URL,
    MAX_ANSWER_BYTES,
    OLLAMA_URL,
    OPENAI_MODEL,
    OPENAI_URL,
    ChatClient,
    fingerprint,
    target_of,
)
from recollect.endpoints.chat_interface import AnthropicMessages, ChatAnswer
from recollect.endpoints.http import Poster, PostOptions
from recollect.errors import ConfigError, EndpointError, EndpointRefused, EndpointUnavailable, EndpointUnusable
from recollect.units import size
from tests.docs.pages import blocks
from tests.endpoints import model_server as server
from tests.endpoints.model_server import Said, Shown, speaking
from tests.endpoints.served import Answer, Asked, Behaviour, Server, serving

KEY = "synthetic-key-000000"
AT_US = 1_793_000_000_000_000
"""2026-10-26, a fixed time: prices depend on the day."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["a"],
    "properties": {"a": {"type": "integer"}},
}
MODELS = {"anthropic": "claude-haiku-5-5", "openai": "gpt-6-luna", "ollama": "qwen3:8b"}
PROVIDERS = sorted(MODELS)


def one(_shown: Shown) -> Said:
    return Said('{"a": 1}')


def config(url: str, provider: Any = "anthropic", **more: Any) -> LearningConfig:
    return LearningConfig(**{"provider": provider, "model": MODELS[provider], "url": url, **more})


def client_of(url: str, provider: str = "anthropic", env: dict[str, str] | None = None, **more: Any) -> ChatClient:
    return ChatClient.of(config(url, provider, **more), env or {}, now_us=lambda: AT_US)


def ask(behaviour: Behaviour, provider: str = "anthropic", **more: Any) -> tuple[ChatAnswer, Server]:
    with serving(behaviour) as found:
        client = client_of(found.url, provider, **more)
        try:
            answer = client.complete("system", "user", schema=SCHEMA, max_output_tokens=100, input_tokens=9_000)
            return answer, found
        finally:
            client.close()


def failed(behaviour: Behaviour, provider: str = "anthropic", **more: Any) -> tuple[EndpointError, int]:
    """Return the error, and how often the server was asked."""
    with serving(behaviour) as found:
        client = client_of(found.url, provider, **more)
        with pytest.raises(EndpointError) as caught:
            client.complete("system", "user", schema=SCHEMA, max_output_tokens=100)
        client.close()
        return caught.value, len(found.asked)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_interface_gives_the_same_answer(provider: str) -> None:
    answer, found = ask(speaking(one), provider)
    assert (answer.text, answer.data, answer.stop) == ('{"a": 1}', {"a": 1}, "done")
    assert (answer.input_tokens, answer.output_tokens) == (server.tokens("systemuser"), server.tokens('{"a": 1}'))
    assert answer.model == MODELS[provider]
    assert len(found.asked) == 1


def test_messages_are_asked_for_the_form_and_not_to_think() -> None:
    _, found = ask(speaking(one), env={"ANTHROPIC_API_KEY": KEY})
    asked = found.asked[0]
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert asked.body == {
        "model": "claude-haiku-5-5",
        "max_tokens": 100,
        "system": "system",
        "messages": [{"role": "user", "content": "user"}],
        "thinking": {"type": "disabled"},
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


def test_completions_are_asked_for_the_form() -> None:
    _, found = ask(speaking(one), "openai", key_variable="MY_KEY", env={"MY_KEY": f" {KEY}\n"})
    asked = found.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {
        "model": "gpt-6-luna",
        "messages": [{"role": "system", "content": "system"}, {"role": "user", "content": "user"}],
        "max_tokens": 100,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
        },
    }


def test_ollama_is_asked_for_room_for_the_whole_question() -> None:
    answer, found = ask(speaking(one), "ollama")
    asked = found.asked[0]
    assert asked.path == "/v1/api/chat"
    assert asked.body["options"] == {"temperature": 0, "num_predict": 100, "num_ctx": 9_100}
    assert (asked.body["format"], asked.body["stream"], asked.body["think"]) == (SCHEMA, False, False)
    assert answer.cost_micro_dollars == 0
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    ("provider", "unknown"),
    [
        ("anthropic", ["thinking"]),
        ("anthropic", ["output_config"]),
        ("anthropic", ["thinking", "output_config"]),
        ("anthropic", ["thinking", "output_config", "tools"]),
        ("openai", ["json_schema"]),
        ("openai", ["json_schema", "response_format"]),
        ("openai", ["max_tokens"]),
        ("ollama", ["think"]),
    ],
)
def test_a_server_that_does_not_know_a_wish_is_asked_without_it(provider: str, unknown: list[str]) -> None:
    behaviour = speaking(one)
    for field in unknown:
        behaviour = server.knowing_no(f'"{field}"', behaviour)
    with serving(behaviour) as found:
        client = client_of(found.url, provider)
        for _ in range(3):
            assert client.complete("system", "user", schema=SCHEMA, max_output_tokens=9).data == {"a": 1}
        client.close()
    assert len(found.asked) == 3 + len(unknown), "what was turned down once is not asked for again"


def test_an_older_model_gives_the_form_as_a_tools_input() -> None:
    answer, found = ask(server.knowing_no('"output_config"', speaking(one)))
    assert answer.data == {"a": 1}
    asked = found.asked[-1].body
    assert asked["tools"][0]["input_schema"] == SCHEMA
    assert asked["tool_choice"] == {"type": "tool", "name": "answer"}


def test_a_question_that_is_wrong_as_a_whole_is_asked_once() -> None:
    error, times = failed(server.failing(400, code="invalid_request_error", message="messages: at least one"))
    assert isinstance(error, EndpointRefused)
    assert (error.kind, times) == ("request", 1)


@pytest.mark.parametrize(
    ("behaviour", "kind", "is_refused"),
    [
        (server.UNAUTHORIZED, "authentication", True),
        (server.failing(403, code="permission_error"), "authentication", True),
        (server.NO_CREDIT, "quota", True),
        (server.failing(400, message="Your credit balance is too low to access this"), "quota", True),
        (server.failing(429, code="insufficient_quota", field="code"), "quota", True),
        (server.failing(429, code="project_spend_limit_exceeded", field="code"), "quota", True),
        (server.failing(413, code="request_too_large"), "too_large", True),
        (server.failing(400, message="prompt is too long: 300000 tokens > 200000"), "too_large", True),
        (server.failing(400, code="context_length_exceeded", field="code"), "too_large", True),
        (server.failing(404, code="not_found_error", message="model: nope"), "request", True),
        (server.failing(429, code="rate_limit_error"), "rate", False),
        (server.OVERLOADED, "overloaded", False),
        (server.failing(503), "overloaded", False),
        (server.failing(500, code="api_error"), "broken", False),
        (server.CLOSED, "cut", False),
        (server.broken_off(speaking(one)), "cut", False),
    ],
)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_failure_is_told_by_what_helps_and_never_tried_again(
    behaviour: Behaviour, kind: str, is_refused: bool, provider: str
) -> None:
    error, times = failed(behaviour, provider)
    assert (error.kind, times) == (kind, 1)
    assert isinstance(error, EndpointRefused if is_refused else EndpointUnavailable)
    assert "[embedding]" not in f"{error} {error.hint}"


def test_a_spend_limit_among_rate_limits_is_known_by_its_details() -> None:
    body = {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}
    error, _ = failed(server.always(Answer(status=429, body=json.dumps(body).encode())))
    assert error.kind == "quota"


def test_how_long_to_wait_is_handed_up() -> None:
    error, _ = failed(server.RATE_LIMITED)
    assert isinstance(error, EndpointUnavailable)
    assert error.retry_after_s == 7
    error, _ = failed(server.RATE_LIMITED_UNTIL_A_DATE)
    assert isinstance(error, EndpointUnavailable)
    assert error.retry_after_s is not None
    assert error.retry_after_s > 1_000_000
    error, _ = failed(server.OVERLOADED)
    assert isinstance(error, EndpointUnavailable)
    assert error.retry_after_s is None


def test_a_server_that_never_answers_is_too_slow() -> None:
    gate = threading.Event()
    with serving(server.slow(speaking(one), gate)) as found:
        client = client_of(found.url)
        poster = Poster(found.url, timeout_s=0.05, manner=PostOptions(section="learning", attempts=1))
        hanging = ChatClient(
            poster, AnthropicMessages("m"), target=client.target, pricing=client.pricing, now_us=lambda: AT_US
        )
        with pytest.raises(EndpointUnavailable, match="longer than") as caught:
            hanging.complete("system", "user", schema=SCHEMA, max_output_tokens=9)
        assert (caught.value.kind, "[learning]" in caught.value.hint) == ("slow", True)
        hanging.close()
        gate.set()


def test_an_answer_without_end_is_given_up() -> None:
    error, _ = failed(server.HUGE)
    assert isinstance(error, EndpointUnusable)
    assert size(MAX_ANSWER_BYTES, binary=True) in str(error)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}", b'{"content": 3}', b'{"choices": []}', b"\xff"])
def test_an_answer_that_is_none_is_unusable(provider: str, body: bytes) -> None:
    error, _ = failed(server.always(Answer(body=body)), provider)
    assert isinstance(error, EndpointUnusable)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here it is: {"a": {"b": 2}} as asked.', {"a": {"b": 2}}),
        ('{"a": 1', None),
        ("nothing", None),
        ("", None),
        ("{" * 100_000, None),
    ],
)
def test_json_is_found_among_other_words_and_what_is_none_stays_text(text: str, data: Any) -> None:
    answer, _ = ask(speaking(lambda _shown: Said(text)))
    assert (answer.text, answer.data) == (text, data)


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_refusal_is_an_answer_that_costs(provider: str) -> None:
    answer, _ = ask(speaking(lambda _shown: Said("I would rather not", stop="refusal")), provider)
    assert (answer.stop, answer.data) == ("refusal", None)
    assert answer.cost_micro_dollars


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_that_is_cut_says_so(provider: str) -> None:
    answer, _ = ask(speaking(lambda _shown: Said('{"a": ', stop="length")), provider)
    assert (answer.stop, answer.data) == ("length", None)


def test_a_server_that_does_not_bill_gives_no_cost() -> None:
    answer, _ = ask(speaking(lambda _shown: Said('{"a": 1}', is_billed=False)), "openai")
    assert answer.cost_micro_dollars is None


def test_a_call_is_priced_by_the_list_of_its_day() -> None:
    behaviour = speaking(lambda _shown: Said('{"a": 1}'))
    with serving(behaviour) as found:
        client = client_of(found.url)
        assert client.pricing.micro_dollars(1_000_000 // 20, 0, at_us=AT_US) == 5_000  # $0.10 a million
        assert client.pricing.micro_dollars(0, 20_000, at_us=AT_US) == 10_000  # $0.50 a million
        assert client.pricing.micro_dollars(200_000, 0, at_us=AT_US) == 100_000  # above 100,000 tokens five times that
        assert client.pricing.micro_dollars(1, 0, at_us=AT_US) == 1, "rounded up"
        client.close()


def test_a_price_that_is_set_counts() -> None:
    client = client_of(
        "http://127.0.0.1:9", "openai", model="mine", input_usd_per_million=2, output_usd_per_million=0.5
    )
    assert client.pricing.micro_dollars(1000, 1000, at_us=AT_US) == 2_500
    client = client_of("http://127.0.0.1:9", "openai", model="mine", input_usd_per_million=0, output_usd_per_million=0)
    assert client.pricing.micro_dollars(1000, 1000, at_us=AT_US) == 0


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"provider": ""}, "learning.provider"),
        ({"provider": "ollama"}, "learning.model"),
        ({"provider": "openai", "url": "http://127.0.0.1:1/v1"}, "learning.model"),
        ({"provider": "openai", "url": "http://127.0.0.1:1/v1", "model": "nobody-knows-it"}, "learning.model"),
        ({"provider": "openai", "model": "x", "input_usd_per_million": 1}, "learning.output_usd_per_million"),
        ({"provider": "anthropic", "url": "http://host.example"}, "learning.url"),
        ({"provider": "openai", "url": "http://host.example/v1", "key_variable": "K", "model": "x"}, "learning.url"),
        ({"provider": "anthropic", "url": "https://name:word@host.example"}, "learning.url"),
        ({"provider": "anthropic", "url": "host.example"}, "learning.url"),
    ],
)
def test_a_configuration_that_cannot_be_is_refused_before_anything_is_sent(settings: Any, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ChatClient.of(LearningConfig(**settings), {}, now_us=lambda: AT_US)
    assert caught.value.key == key


def test_an_unknown_model_says_what_to_set() -> None:
    with pytest.raises(ConfigError, match="does not know 'nobody-knows-it'") as caught:
        client_of("https://host.example/v1", "openai", model="nobody-knows-it")
    assert "input_usd_per_million" in caught.value.hint


def test_the_defaults_are_the_providers_own() -> None:
    anthropic = target_of(LearningConfig(provider="anthropic"), {})
    assert anthropic[:4] == ("anthropic", ANTHROPIC_URL, ANTHROPIC_MODEL, "ANTHROPIC_API_KEY")
    openai = target_of(LearningConfig(provider="openai"), {})
    assert openai[:4] == ("openai", OPENAI_URL, OPENAI_MODEL, "OPENAI_API_KEY")
    assert target_of(LearningConfig(provider="ollama", model="m"), {}).url == OLLAMA_URL
    for settings in ({"provider": "anthropic"}, {"provider": "openai"}):
        ChatClient.of(LearningConfig(**settings), {}, now_us=lambda: AT_US).close()  # type: ignore[arg-type]


def test_every_example_of_the_page_can_be_used_as_it_is() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "learn-with-a-model.md"
    examples = [block.text for block in blocks(page.read_text("utf-8")) if block.language == "toml"]
    assert len(examples) == 4
    for text in examples:
        client = ChatClient.of(parse_config(tomllib.loads(text)).learning, {}, now_us=lambda: AT_US)
        assert client.model
        client.close()


def test_anthropics_own_variables_are_honoured() -> None:
    env = {"ANTHROPIC_BASE_URL": "https://gateway.example/anthropic/", "ANTHROPIC_AUTH_TOKEN": KEY}
    target = target_of(LearningConfig(provider="anthropic"), env)
    assert target.url == "https://gateway.example/anthropic"
    assert target.headers(env) == {"authorization": f"Bearer {KEY}"}
    assert target_of(LearningConfig(provider="anthropic", url="https://other.example/v1"), env).url == (
        "https://other.example"
    )
    both = {**env, "ANTHROPIC_API_KEY": KEY}
    assert target_of(LearningConfig(provider="anthropic"), both).headers(both) == {"x-api-key": KEY}
    with pytest.raises(ConfigError):
        target_of(LearningConfig(provider="anthropic"), {"ANTHROPIC_BASE_URL": "http://gateway.example"})


@pytest.mark.parametrize("key", ["", "  ", "two\nlines", "schlüssel"])
def test_a_key_that_is_none_is_said_before_anything_is_sent(key: str) -> None:
    with serving(speaking(one)) as found:
        client = client_of(found.url, "openai", key_variable="MY_KEY", env={"MY_KEY": key})
        with pytest.raises(ConfigError) as caught:
            client.complete("system", "user", schema=SCHEMA, max_output_tokens=9)
        client.close()
    assert caught.value.key == "learning.key_variable"
    assert found.asked == []
    assert "schl" not in str(caught.value)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [400, 401, 402, 429, 500])
def test_no_error_shows_the_key(provider: str, status: int) -> None:
    def repeat(asked: Asked, _before: int) -> Answer:
        return Answer(status=status, body=f"{KEY} of {asked.headers}".encode())

    error, _ = failed(repeat, provider, key_variable="MY_KEY", env={"MY_KEY": KEY})
    shown = f"{error!r} {error} {error.hint} {error.__cause__!r}"
    assert KEY not in shown
    assert "[key]" in shown


def test_the_fingerprint_tells_a_changed_key_and_gives_none_away() -> None:
    base = LearningConfig(provider="anthropic")
    env = {"ANTHROPIC_API_KEY": KEY}
    first = fingerprint(base, env)
    assert first == fingerprint(base, dict(env))
    others = [
        fingerprint(base, {}),
        fingerprint(base, {"ANTHROPIC_API_KEY": KEY + "1"}),
        fingerprint(base, {**env, "ANTHROPIC_BASE_URL": "https://gateway.example"}),
        fingerprint(LearningConfig(provider="anthropic", model="claude-haiku-4-5"), env),
        fingerprint(LearningConfig(provider="anthropic", day_budget_usd=1), env),
        fingerprint(LearningConfig(), env),
    ]
    assert len({first, *others}) == 1 + len(others)
    assert len(first) == 16
