"""Prepares questions about turns for a model, and checks its answers.

What is sent where, and what it costs: docs/how-to/learn-with-a-model.md.
"""

from recollect.insights.learnings.questions.batches import TurnBatch, TurnGroup, batch_of, batches_of, groups_of
from recollect.insights.learnings.questions.model import EXTRACTOR, Asked, Preview, ask, job_key, preview
from recollect.insights.learnings.questions.prompts import PROMPT_VERSION, SYSTEM

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
