"""`memory.learn`: has sessions learned from, tells what was learned, and takes a person's word on it."""

from recollect.ingest.learnings.views import LearnStatus, NewLearning, SeenEvidence, Why
from recollect.memory.learnings.facet import LearnFacet

__all__ = ["LearnFacet", "LearnStatus", "NewLearning", "SeenEvidence", "Why"]
