"""Whom the configuration lets us ask: address, model, key; and by what a changed one is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from recollect.config import LearningConfig
from recollect.endpoints.address import checked_address, is_on_this_machine
from recollect.errors import ConfigError

ANTHROPIC_URL = "https://api.anthropic.com"
ANTHROPIC_MODEL = "claude-haiku-5-5"
"""The current small one. Evidence: platform.claude.com, "Models overview"; genai-prices 0.2.3 (2026-10)."""
OPENAI_URL = "https://api.openai.com/v1"
OPENAI_MODEL = "gpt-6-luna"
"""The current small one. Evidence: developers.openai.com, "GPT-6 Luna"; genai-prices 0.2.3 (2026-10)."""
OLLAMA_URL = "http://127.0.0.1:11434"


class Target(NamedTuple):
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


def target_of(config: LearningConfig, env: Mapping[str, str]) -> Target:
    """Return whom the configuration names; nothing is reached. Raises ConfigError."""
    if config.provider == "anthropic":
        return _anthropic(config, env)
    if config.provider == "openai":
        return _openai(config)
    if config.provider == "ollama":
        return Target(
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


def _anthropic(config: LearningConfig, env: Mapping[str, str]) -> Target:
    url = config.url or env.get("ANTHROPIC_BASE_URL", "").strip() or ANTHROPIC_URL
    variable, is_bearer = config.key_variable, False
    if not variable:
        variable = "ANTHROPIC_API_KEY"
        if not env.get(variable, "").strip() and env.get("ANTHROPIC_AUTH_TOKEN", "").strip():
            variable, is_bearer = "ANTHROPIC_AUTH_TOKEN", True
    url = _checked(url, variable).removesuffix("/v1")
    if not config.key_variable and not env.get(variable, "").strip() and is_on_this_machine(url):
        variable = ""  # a gateway on this machine that holds the key itself
    return Target("anthropic", url, config.model or ANTHROPIC_MODEL, variable, is_bearer=is_bearer, is_openai=False)


def _openai(config: LearningConfig) -> Target:
    url = config.url or OPENAI_URL
    is_own = url.rstrip("/") == OPENAI_URL
    variable = config.key_variable or ("OPENAI_API_KEY" if is_own else "")
    model = _named(config, OPENAI_MODEL if is_own else "")
    return Target("openai", _checked(url, variable), model, variable, is_bearer=True, is_openai=is_own)


def _named(config: LearningConfig, default: str) -> str:
    if config.model or default:
        return config.model or default
    raise ConfigError(f"[learning] model: {config.provider} needs the name of a model here", key="learning.model")


def _checked(url: str, variable: str) -> str:
    return checked_address(url, key="learning.url", has_secret=bool(variable), example=OPENAI_URL)
