"""Lists, language by language, how people say what should be learned."""

from recollect.insights.learnings.extraction.languages.english import ENGLISH
from recollect.insights.learnings.extraction.languages.german import GERMAN
from recollect.insights.learnings.extraction.languages.others import OTHERS
from recollect.insights.learnings.extraction.languages.rule import Language, Meaning, SpokenRule

LANGUAGES: tuple[Language, ...] = (ENGLISH, GERMAN, *OTHERS)
"""In the order in which they are tried; the first that finds something in a sentence has it."""

__all__ = ["LANGUAGES", "Language", "Meaning", "SpokenRule"]
