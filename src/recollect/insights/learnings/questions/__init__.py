"""Prepares questions about turns for a model, and checks its answers.

What is sent where, and what it costs: docs/how-to/learn-with-a-model.md.
"""

from recollect.insights.learnings.questions.batches import TurnBatch, TurnGroup, batch_of, batches_of, groups_of
from recollect.insights.learnings.questions.forms import PROMPT_VERSION, SYSTEM
from recollect.insights.learnings.questions.model import EXTRACTOR, Asked, Preview, ask, job_key, preview

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
