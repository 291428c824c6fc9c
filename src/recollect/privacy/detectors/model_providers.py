"""Keys of model providers and of agents' tools: search, sandboxes, vectors, tracing.

Formats: the vendors' documentation and, as facts, the lists named in `clouds`. Providers whose keys have no form of
their own (Mistral, Cohere, Deepgram, Together before 2025) are recognised by the name before them, see `assignments`.
"""

from __future__ import annotations

from recollect.privacy.detector import Detector, prefixed
from recollect.privacy.plausibility import is_varied, looks_random

REVISION = 0
"""Raised whenever a change in this module can alter what is found, see `DETECTOR_VERSION`."""


def _is_sk_key(value: str) -> bool:
    """Keys beginning with sk- share their prefix with kebab-case names."""
    return looks_random(value) and sum(c.isdigit() for c in value) >= 2


MODELS: tuple[Detector, ...] = (
    prefixed("anthropic_key", ("sk-ant-",), r"[A-Za-z0-9_-]{20,300}+"),
    prefixed("openai_key", ("sk-proj-", "sk-svcacct-", "sk-admin-"), r"[A-Za-z0-9_-]{20,300}+"),
    prefixed("openrouter_key", ("sk-or-",), r"[A-Za-z0-9_-]{32,100}+"),
    prefixed("sk_key", ("sk-", "csk-", "ctx7sk-"), r"[A-Za-z0-9_-]{20,300}+", validate=_is_sk_key),
    prefixed("huggingface_token", ("hf_", "api_org_"), r"[A-Za-z0-9]{30,48}"),
    prefixed("xai_key", ("xai-",), r"[A-Za-z0-9]{60,100}+"),
    prefixed("groq_key", ("gsk_",), r"[A-Za-z0-9]{48,60}+"),
    prefixed("perplexity_key", ("pplx-",), r"[A-Za-z0-9]{40,64}+"),
    prefixed("replicate_token", ("r8_",), r"[A-Za-z0-9]{37,40}"),
    prefixed("nvidia_key", ("nvapi-",), r"[A-Za-z0-9_-]{60,80}+"),
    prefixed("together_key", ("tgp_v1_",), r"[A-Za-z0-9_-]{32,64}+"),
    prefixed("fireworks_key", ("fw_",), r"[A-Za-z0-9]{22,26}", validate=is_varied),
    prefixed("voyage_key", ("pa-",), r"[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])", closed=False, validate=_is_sk_key),
    prefixed("jina_key", ("jina_",), r"[0-9a-f]{32}[A-Za-z0-9_-]{24,32}+"),
    prefixed("elevenlabs_key", ("sk_",), r"[0-9a-f]{48}"),
    prefixed("tavily_key", ("tvly-",), r"[A-Za-z0-9-]{24,64}+"),
    prefixed("firecrawl_key", ("fc-",), r"[0-9a-f]{32}"),
    prefixed("exa_key", ("exa_",), r"[A-Za-z0-9-]{32,64}+", validate=looks_random),
    prefixed("e2b_key", ("e2b_",), r"[0-9a-f]{40}"),
    prefixed("browserbase_key", ("bb_live_", "bb_test_"), r"[A-Za-z0-9_-]{24,40}+"),
    prefixed("pinecone_key", ("pcsk_",), r"[A-Za-z0-9]{4,8}_[A-Za-z0-9]{50,80}+"),
    prefixed("langsmith_key", ("lsv2_pt_", "lsv2_sk_"), r"[0-9a-f]{32}_[0-9a-f]{10}"),
    prefixed("wandb_key", ("wandb_v1_",), r"[A-Za-z0-9_-]{40,120}+"),
    prefixed("cursor_key", ("key_", "crsr_"), r"[0-9a-f]{64}"),
    prefixed("amp_key", ("sgamp_user_",), r"[A-Za-z0-9_]{32,160}+"),
    prefixed("sourcegraph_token", ("sgp_", "slk_"), r"(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40,64}"),
    prefixed("copilot_token", ("tid=",), r"[0-9a-f]{20,40};[A-Za-z0-9_.=:;-]{20,2000}+", validate=is_varied),
)
