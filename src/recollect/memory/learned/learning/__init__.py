"""`memory.learn`: has sessions learned from, tells what was learned, and takes a person's word on it."""

from recollect.memory.learned.learning.facet import LearnFacet
from recollect.memory.learned.learning.views import LearnStatus, NewLearning, SeenEvidence, Why

__all__ = ["LearnFacet", "LearnStatus", "NewLearning", "SeenEvidence", "Why"]
