"""Normalises what words are about: option phrases, content words, identifiers and paths.

One rule for both sides of every comparison: letters in lower case, camelCase and snake_case taken apart, a plural `s`
left out, words without content left out. Linear; at most 64 KiB of a text are read.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from functools import cached_property, lru_cache

from recollect.late import late_pattern

READ_CHARS = 64 * 1024
_KEPT = 8_192
"""Tokens whose words are remembered: the same few thousand come again and again."""

_TOKEN = late_pattern(r"[A-Za-z0-9_]++|[^\W\x00-\x7f]++")
_PIECE = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]++|[0-9]++")
_CODE = late_pattern(r"`([^`\n]{1,80})`")
_SHORT_CODE = 2
"""Up to so many characters, code is anywhere ("i", "os")."""
_REST = "[A-Za-z0-9_]"
"""What a name of code continues with: as in a token, so that "aA00²" is a name and a sign behind it."""
_IDENTIFIER = late_pattern(
    rf"\b(?:[a-z]++[A-Z]{_REST}*+|[A-Z][a-z0-9]++[A-Z]{_REST}*+|[A-Za-z0-9]++_{_REST}++|[A-Za-z_]{_REST}*+(?=\(\)))"
)
_NAME = late_pattern(r"[\w@+.\[\]-]++")
_LINE_NUMBER = late_pattern(r":[0-9].*+", re.S)
_SENTENCE_END = ".,;:!?)]}\"'"

_EMPTY = frozenset(
    """a about above after again all also always an and another any are as at back be because been before being better
    both but by can cannot change changed code could did do does doing done don each either else etc even ever every
    everything few file first fix for from function get give go going good had has have having he her here his how i if
    implement implementation in instead into is it item its just keep last later let like line ll look make makes making
    maybe me method more most much must my need needs never new next no non not now of off ok okay old on once one only
    option or other our out over own part please prefer project put rather re really repo right run same see set she
    should simple simply since so some something still such sure take test than that the their them then there these
    they thing things this those though three through time to too two under until up update us use used uses using ve
    version very want was way we well were what when where whether which while who why will with within without won
    work works would write yes yet you your second third approach solution plan""".split()
)
"""Words that say nothing of what is chosen. Not for display, only for comparing."""

_PRODUCTS = frozenset(
    """github gitlab javascript typescript postgresql openai chatgpt macos youtube linkedin stackoverflow readme webpack
    dockerhub wordpress graphql mongodb""".split()
)
"""Names that are written like names of code and stand in much that has nothing to do with them."""


def words_in(text: str) -> list[str]:
    """Return the content words of a text in order, in the form that is compared: "the RingBuffers" → ring, buffer."""
    return [word for token in _TOKEN.findall(text[:READ_CHARS]) for word in _words_of(token)]


@lru_cache(maxsize=_KEPT)
def _words_of(token: str) -> tuple[str, ...]:
    pieces = _PIECE.findall(token) if token.isascii() and not _is_short_name(token) else [token]
    words = (_plain(piece) for piece in pieces if len(piece) > 1 and piece.lower() not in _EMPTY)
    return tuple(word for word in words if word not in _EMPTY)


def _name_of(token: str) -> str:
    """Return a token as one name, "" for a word without content."""
    name = token.replace("_", "")
    return "" if name.lower() in _EMPTY else _plain(name)


@lru_cache(maxsize=_KEPT)
def _found_by(token: str) -> tuple[str, ...]:
    return (_name_of(token), *_words_of(token))


def _is_short_name(token: str) -> bool:
    """A name with digits that is meaningless without one of its pieces: "s3", "utf8", "http2"."""
    return len(token) <= 8 and "_" not in token and not (token.isalpha() or token.isdecimal())


def phrase(text: str) -> str:
    """Return an option's words as one key, "" if it names nothing ("the first one").

    A name of code with a meaningless piece is kept whole: "GetAgent()" is not just any agent.
    """
    words = words_in(text)
    tokens = _TOKEN.findall(text[:READ_CHARS])
    if len(tokens) == 1 and len(words) < len(_PIECE.findall(tokens[0])) and any(c.islower() for c in tokens[0]):
        return _name_of(tokens[0])
    return " ".join(words) if any(not word.isdecimal() for word in words) else ""


def vocabulary(text: str) -> frozenset[str]:
    """Return everything that a text of code or prose can be found by: its content words, and whole names ("ringbuffer",
    "s3")."""
    found: set[str] = set().union(*map(_found_by, set(_TOKEN.findall(text[:READ_CHARS]))))
    found.discard("")
    return frozenset(found)


class Vocabulary:
    """The `vocabulary` of a text, for occasional lookups without splitting most texts.

    A word of a vocabulary occurs in its text in lower case and without "_", with or without a plural ending.
    """

    def __init__(self, text: str) -> None:
        self._text = text[:READ_CHARS]

    def __contains__(self, word: object) -> bool:
        if not isinstance(word, str):
            return False
        # Beyond ASCII, a letter in lower case may depend on its neighbours.
        if word.isascii() and (word[:-1] if word.endswith("y") else word) not in self._lowered:
            return False
        return word in self._words

    def __bool__(self) -> bool:
        return any(any(_found_by(token[0])) for token in _TOKEN.finditer(self._text))

    def holds(self, text: str) -> bool:
        """Return whether a text occurs in this one unchanged."""
        return text in self._text

    def has_line(self, key: str) -> bool:
        """Say whether an option that is said in the text (`is_said`) is so in one line of it, at least in parts of
        words."""
        if key.replace(" ", "") in self:
            return True
        words = [word.removesuffix("y") for word in key.split()]
        return any(all(word in line for word in words) for line in self._lines)

    @cached_property
    def _lines(self) -> list[str]:
        return self._lowered.split("\n")

    @cached_property
    def _lowered(self) -> str:
        return self._text.lower().replace("_", "")

    @cached_property
    def _words(self) -> frozenset[str]:
        return vocabulary(self._text)


def is_said(key: str, words: Container[str]) -> bool:
    """Return whether an option's key occurs in a vocabulary: as one name, or all its words."""
    return bool(key) and (key.replace(" ", "") in words or all(word in words for word in key.split()))


def code_in(text: str) -> tuple[str, ...]:
    """Return the code in backticks in prose that is one word, verbatim, without the brackets of a call."""
    found = (name.strip().removesuffix("()") for name in _CODE.findall(text[:READ_CHARS]))
    return tuple(name for name in found if len(name) > _SHORT_CODE and not any(c.isspace() for c in name))


def identifiers_in(text: str) -> tuple[str, ...]:
    """Return the names of code in prose, each once: in backticks, camelCase, snake_case, or called()."""
    text = text[:READ_CHARS]
    found = [name for name in _CODE.findall(text) if not any(c.isspace() for c in name.strip())]
    found += _IDENTIFIER.findall(text)
    plain = (_plain("".join(_TOKEN.findall(name)).replace("_", "")) for name in found if "/" not in name)
    return tuple(dict.fromkeys(name for name in plain if len(name) > 4 and name not in _PRODUCTS))


def paths_in(text: str) -> tuple[str, ...]:
    """Return what looks like a path or a file's name in prose, each once, as written: "src/db/pool.py", "pool.py"."""
    found = []
    for word in text[:READ_CHARS].split():
        if "." not in word and "/" not in word:
            continue
        name = word.strip("`\"'([{<*").rstrip(_SENTENCE_END + "`*>")
        name = _LINE_NUMBER.sub("", name, count=1)
        if 3 <= len(name) <= 400 and "://" not in word and _is_path(name):
            found.append(name.removeprefix("@").removeprefix("./"))
    return tuple(dict.fromkeys(found))


def _is_path(name: str) -> bool:
    stem, dot, suffix = name.replace("\\", "/").rpartition("/")[2].rpartition(".")
    if dot and 1 <= len(suffix) <= 8 and suffix.isalnum() and suffix[0].isalpha() and len(stem) > 1:
        return any(c.isalpha() for c in stem) and _NAME.fullmatch(stem) is not None
    return name.count("/") >= 2 and name.replace("/", "").replace("-", "").replace("_", "").replace(".", "").isalnum()


def ends_with_path(path: str, tail: str) -> bool:
    """Say whether a path is, or ends in, another at the border of a component: "/r/src/db.py" ends in "src/db.py".

    Both as written; only the separators are made one. An empty tail is the end of nothing.
    """
    path, tail = path.replace("\\", "/").rstrip("/"), tail.replace("\\", "/").strip("/").removeprefix("./")
    return bool(tail) and (path == tail or path.endswith("/" + tail) or path.strip("/") == tail)


def is_distinctive(option: str) -> bool:
    """Say whether an option is a name rather than a common word: capitals, digits or signs within it, or several
    words."""
    words = words_in(option)
    return len(words) > 1 or any(c.isdigit() or c in "._/-" or c.isupper() for c in option.strip())


def shared(one: Iterable[str], other: Iterable[str]) -> set[str]:
    """Return the keys of both that name something."""
    return {key for key in set(one) & set(other) if key}


def _plain(word: str) -> str:
    """Return a word in lower case and without a plural: "retries" → retry, "hooks" → hook."""
    word = word.lower()
    if word[-1:] != "s":
        return word
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
