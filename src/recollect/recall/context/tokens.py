"""How many tokens a text takes at most, by a rule that needs no model's vocabulary.

Byte-level vocabularies have a token for every byte and longer ones for what is frequent. The rule counts what they do
worst: letters in threes (real words take about one token for four), every digit and every other ASCII sign alone,
characters up to U+07FF one by one, all others as many as they have bytes, which is the most that they can take. English
prose is overestimated by about a half; code, identifiers, hashes, Chinese, Japanese and Korean are not underestimated.
"""

from __future__ import annotations

import re

LETTERS_A_TOKEN = 3
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]| +|[\x00-\x7f]|[^\x00-\x7f]+")


def tokens_of(text: str) -> int:
    """Return a number of tokens that no usual tokenizer exceeds for prose, code and CJK."""
    count = 0
    for run in _RUN.findall(text):
        first = run[0]
        if first == " ":
            count += len(run) // LETTERS_A_TOKEN  # one space belongs to the word after it
        elif first.isascii():
            count += -(-len(run) // LETTERS_A_TOKEN)
        else:
            count += sum(1 if char <= "\u07ff" else 3 if char <= "\uffff" else 4 for char in run)
    return count
