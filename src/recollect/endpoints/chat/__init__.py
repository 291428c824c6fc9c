"""Asks chat models for JSON: Anthropic's Messages, OpenAI's Chat Completions, Ollama's chat."""

from recollect.endpoints.chat.asked import ChatAnswer, Prompt, Stop
from recollect.endpoints.chat.client import ChatClient
from recollect.endpoints.chat.pricing import Pricing, pricing_of
from recollect.endpoints.chat.target import Target, fingerprint, target_of

__all__ = ["ChatAnswer", "ChatClient", "Pricing", "Prompt", "Stop", "Target", "fingerprint", "pricing_of", "target_of"]
