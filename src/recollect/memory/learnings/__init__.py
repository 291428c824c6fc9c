"""`memory.learn`: learns from sessions, tells what was learned, and takes your corrections."""

from recollect.ingest.learnings.views import LearnStatus, NewLearning, SeenEvidence, Why
from recollect.memory.learnings.facet import LearnFacet

__all__ = ["LearnFacet", "LearnStatus", "NewLearning", "SeenEvidence", "Why"]
