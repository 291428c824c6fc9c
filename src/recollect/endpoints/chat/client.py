"""Asks a model one question at a time, whichever interface it speaks. When to ask again is the caller's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from recollect.config import LearningConfig
from recollect.endpoints.chat.asked import ChatAnswer, Interface, Prompt, json_in
from recollect.endpoints.chat.completions import Completions
from recollect.endpoints.chat.messages import VERSION, Messages
from recollect.endpoints.chat.ollama import OllamaChat
from recollect.endpoints.chat.pricing import Pricing, pricing_of
from recollect.endpoints.chat.target import Target, target_of
from recollect.endpoints.posting import Manner, Poster

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Of a whole answer; one that is cut at its most tokens has a fraction of it."""


class ChatClient:
    """Asks one model at one server. Safe from many threads. One attempt a call: nothing is tried again here."""

    def __init__(
        self, poster: Poster, interface: Interface, *, target: Target, pricing: Pricing, now_us: Callable[[], int]
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

        manner = Manner(section="learning", attempts=1, max_answer_bytes=MAX_ANSWER_BYTES)
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
        prompt = Prompt(system, user, schema, max_output_tokens, input_tokens)
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


def _interface(target: Target) -> Interface:
    if target.provider == "anthropic":
        return Messages(target.model)
    if target.provider == "openai":
        return Completions(target.model, is_openai=target.is_openai)
    return OllamaChat(target.model)
