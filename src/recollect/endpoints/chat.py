"""Asks chat models for JSON over any of the interfaces. The caller decides about retries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, NamedTuple

import msgspec

from recollect.config import LearningConfig
from recollect.endpoints.chat_interface import (
    VERSION,
    AnthropicMessages,
    ChatAnswer,
    ChatInterface,
    ChatPrompt,
    Completions,
    OllamaChat,
    json_in,
)
from recollect.endpoints.http import Poster, PostOptions, checked_address, is_on_this_machine
from recollect.errors import ConfigError
from recollect.model.time import to_datetime

ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_MODEL = "claude-haiku-5-5"
"""The current small one. Evidence: platform.claude.com, "Models overview"; genai-prices 0.2.3 (2026-10)."""
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-6-luna"
"""The current small one. Evidence: developers.openai.com, "GPT-6 Luna"; genai-prices 0.2.3 (2026-10)."""
OLLAMA_URL = "http://127.0.0.1:11434"


class ChatTarget(NamedTuple):
    """A model at a server. key_variable: the environment variable of its key, "" where none is sent. is_bearer: the key
    goes as a bearer token, not as `x-api-key`. is_openai: the server is OpenAI's own."""

    provider: str
    url: str
    model: str
    key_variable: str
    is_bearer: bool
    is_openai: bool

    def headers(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return the headers that carry the key. Raises ConfigError where its variable is not set."""
        if not self.key_variable:
            return {}
        key = env.get(self.key_variable, "").strip()
        if not key:
            raise ConfigError(
                f"[learning] key_variable: ${self.key_variable} is not set",
                key="learning.key_variable",
                hint="`recollect up` and `recollect service` see the environment that they were started in",
            )
        if not key.isascii() or not key.isprintable():
            raise ConfigError(
                f"[learning] key_variable: ${self.key_variable} holds what cannot be a key", key="learning.key_variable"
            )
        return {"authorization": f"Bearer {key}"} if self.is_bearer else {"x-api-key": key}


def target_of(config: LearningConfig, env: Mapping[str, str]) -> ChatTarget:
    """Return whom the configuration names; nothing is reached. Raises ConfigError."""
    if config.provider == "anthropic":
        return _anthropic(config, env)
    if config.provider == "openai":
        return _openai(config)
    if config.provider == "ollama":
        return ChatTarget(
            "ollama", _checked(config.url or OLLAMA_URL, config.key_variable), _named(config, ""), config.key_variable,
            is_bearer=True, is_openai=False,
        )  # fmt: skip
    raise ConfigError("[learning] provider: no model is configured", key="learning.provider")


def fingerprint(config: LearningConfig, env: Mapping[str, str]) -> str:
    """Return a text that changes when the configuration or a key in the environment does; it gives no key away.

    Of a key it holds 16 bits of a hash: enough to notice another one, too little to find or confirm it.
    """
    try:
        target = target_of(config, env)
        where = f"{target.url} {target.model} {target.key_variable}"
        key = env.get(target.key_variable, "").strip() if target.key_variable else ""
    except ConfigError as error:
        where, key = str(error), ""
    mark = hashlib.sha256(b"recollect key\0" + key.encode("utf-8", "surrogatepass")).hexdigest()[:4] if key else "none"
    content = msgspec.json.encode([msgspec.to_builtins(config), where, mark])
    return hashlib.sha256(content).hexdigest()[:16]


def _anthropic(config: LearningConfig, env: Mapping[str, str]) -> ChatTarget:
    url = config.url or env.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL
    variable, is_bearer = config.key_variable, False
    if not variable:
        variable = "ANTHROPIC_API_KEY"
        if not env.get(variable, "").strip() and env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
            variable, is_bearer = "ANTHROPIC_AUTH_TOKEN", True
    url = _checked(url, variable).removesuffix("/v1")
    if not config.key_variable and not env.get(variable, "").strip() and is_on_this_machine(url):
        variable = ""  # a gateway on this machine that holds the key itself
    return ChatTarget("anthropic", url, config.model or ANTHROPIC_MODEL, variable, is_bearer=is_bearer, is_openai=False)


def _openai(config: LearningConfig) -> ChatTarget:
    url = config.url or OPENAI_URL
    is_own = url.rstrip("/") == OPENAI_URL
    variable = config.key_variable or ("OPENAI_API_KEY" if is_own else "")
    model = _named(config, OPENAI_MODEL if is_own else "")
    return ChatTarget("openai", _checked(url, variable), model, variable, is_bearer=True, is_openai=is_own)


def _named(config: LearningConfig, default: str) -> str:
    if config.model or default:
        return config.model or default
    raise ConfigError(f"[learning] model: {config.provider} needs the name of a model here", key="learning.model")


def _checked(url: str, variable: str) -> str:
    return checked_address(url, key="learning.url", has_secret=bool(variable), example=OPENAI_URL)


_MICRO = 1_000_000


class Pricing(NamedTuple):
    """Prices of one model. model: as asked for. input_usd, output_usd: US dollars per million tokens, None: as the
    price list says. url: of the server, by which the list may know whose price counts."""

    model: str
    provider: str
    url: str
    input_usd: float | None = None
    output_usd: float | None = None

    def micro_dollars(self, input_tokens: int, output_tokens: int, *, at_us: int) -> int:
        """Return the price of a call at a time (UTC microseconds) in millionths of a US dollar, rounded up.

        Cached tokens count like others, which never makes it less than it is. Raises ConfigError where the price list
        does not know the model.
        """
        if self.input_usd is not None and self.output_usd is not None:
            exact = Decimal(str(self.input_usd)) * input_tokens + Decimal(str(self.output_usd)) * output_tokens
        else:
            exact = _listed(self, input_tokens, output_tokens, at_us) * _MICRO
        return int(exact.to_integral_value(ROUND_CEILING))


def pricing_of(config: LearningConfig, *, model: str, url: str, at_us: int) -> Pricing:
    """Return the prices of the configured model. Raises ConfigError where nobody says what it costs."""
    if config.provider == "ollama":
        return Pricing(model, config.provider, url, 0.0, 0.0)
    given, answered = config.input_usd_per_million, config.output_usd_per_million
    if given == "listed" and answered == "listed":
        found = Pricing(model, config.provider, url)
        found.micro_dollars(1, 1, at_us=at_us)
        return found
    if given == "listed" or answered == "listed":
        raise ConfigError(
            "[learning] input_usd_per_million and output_usd_per_million: both are numbers, or none is",
            key="learning.input_usd_per_million" if given == "listed" else "learning.output_usd_per_million",
        )
    return Pricing(model, config.provider, url, given, answered)


def _listed(pricing: Pricing, input_tokens: int, output_tokens: int, at_us: int) -> Decimal:
    """Return the price in US dollars by the list: of the server's own provider, else of the interface's, else of
    whoever offers a model of that name."""
    from genai_prices import Usage, calc_price

    usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    at = to_datetime(at_us)
    for url, provider in ((pricing.url, None), (None, pricing.provider), (None, None)):
        try:
            if url:
                found = calc_price(usage, pricing.model, provider_api_url=url, genai_request_timestamp=at)
            else:
                found = calc_price(usage, pricing.model, provider_id=provider, genai_request_timestamp=at)
        except (LookupError, ValueError):
            continue
        return Decimal(found.total_price)
    raise ConfigError(
        f"[learning] model: the price list does not know {pricing.model!r}, so no budget could be kept",
        key="learning.model",
        hint="set `input_usd_per_million` and `output_usd_per_million` in [learning], 0 where the model is free",
    )


MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Of a whole answer; one that is cut at its most tokens has a fraction of it."""


class ChatClient:
    """Asks one model at one server. Safe from many threads. One attempt a call: nothing is tried again here."""

    def __init__(
        self,
        poster: Poster,
        interface: ChatInterface,
        *,
        target: ChatTarget,
        pricing: Pricing,
        now_us: Callable[[], int],
    ) -> None:
        """now_us: the clock, UTC microseconds; a price may depend on the day."""
        self._poster = poster
        self._interface = interface
        self._now_us = now_us
        self.target = target
        self.pricing = pricing

    @property
    def model(self) -> str:
        """The model's name as it is asked for."""
        return self.target.model

    @classmethod
    def of(cls, config: LearningConfig, env: Mapping[str, str], *, now_us: Callable[[], int]) -> ChatClient:
        """Return the client that a configuration describes; nothing is reached yet.

        Raises ConfigError: no provider or model, an address that must not be used, no price.
        """
        target = target_of(config, env)
        pricing = pricing_of(config, model=target.model, url=target.url, at_us=now_us())

        def headers() -> dict[str, str]:
            own = target.headers(env)
            return {"anthropic-version": VERSION, **own} if target.provider == "anthropic" else own

        manner = PostOptions(section="learning", attempts=1, max_answer_bytes=MAX_ANSWER_BYTES)
        poster = Poster(target.url, timeout_s=config.timeout_s, headers=headers, manner=manner)
        return cls(poster, _interface(target), target=target, pricing=pricing, now_us=now_us)

    def complete(
        self, system: str, user: str, *, schema: Mapping[str, Any], max_output_tokens: int, input_tokens: int = 0
    ) -> ChatAnswer:
        """Ask, and return what the model says. Its text need be no JSON, and its JSON need not fit the schema.

        Args:
            schema: JSON Schema of an object, in the subset that all interfaces know: every property required, no
                further ones, no lengths or ranges.
            input_tokens: how large the question may be at most; 0 where nobody knows.
        Raises:
            EndpointUnavailable: not now; see `kind` and `retry_after_s`.
            EndpointRefused: not so; `kind` says whether key, credit, size or the question is at fault.
            EndpointUnusable: it answered, but not as its interface says; that may have cost all the same.
            ConfigError: the key's variable is not set.
        """
        prompt = ChatPrompt(system, user, schema, max_output_tokens, input_tokens)
        reply = self._interface.ask(self._poster, prompt)
        is_said = bool(reply.input_tokens and (reply.output_tokens or not reply.text))
        cost = self._price(reply.input_tokens, reply.output_tokens) if is_said else None
        return ChatAnswer(
            text=reply.text,
            data=json_in(reply.text) if reply.stop != "refusal" else None,
            input_tokens=reply.input_tokens,
            output_tokens=reply.output_tokens,
            model=reply.model,
            cost_micro_dollars=cost,
            stop=reply.stop,
        )

    def close(self) -> None:
        """Close connections."""
        self._poster.close()

    def _price(self, input_tokens: int, output_tokens: int) -> int:
        return self.pricing.micro_dollars(input_tokens, output_tokens, at_us=self._now_us())


def _interface(target: ChatTarget) -> ChatInterface:
    if target.provider == "anthropic":
        return AnthropicMessages(target.model)
    if target.provider == "openai":
        return Completions(target.model, is_openai=target.is_openai)
    return OllamaChat(target.model)
