"""Asks a model what it would learn of some turns: what it is shown, what it may answer, what of that can be kept.

What is sent where, and what it costs: docs/learning-models.md.
"""

from recollect.learn.asking.batching import TurnBatch, TurnGroup, batch_of, batches_of, groups_of
from recollect.learn.asking.prompting import PROMPT_VERSION, SYSTEM
from recollect.learn.asking.running import EXTRACTOR, Asked, Preview, ask, job_key, preview

__all__ = [
    "EXTRACTOR",
    "PROMPT_VERSION",
    "SYSTEM",
    "Asked",
    "Preview",
    "TurnBatch",
    "TurnGroup",
    "ask",
    "batch_of",
    "batches_of",
    "groups_of",
    "job_key",
    "preview",
]
