"""The estimate of tokens, held against `o200k_base`, a published vocabulary, on texts that its weights never saw."""

from __future__ import annotations

import argparse
import tomllib
import warnings
from pathlib import Path
from typing import NamedTuple

from benchmarks.support.places import Places
from benchmarks.support.results import Section
from recollect.recall.context.tokens import tokens_of

VOCABULARY = "o200k_base"
TEXTS = Path(__file__).with_suffix(".toml")


class Counted(NamedTuple):
    """A text's tokens: by the vocabulary, and as estimated."""

    name: str
    real: int
    estimated: int

    @property
    def ratio(self) -> float:
        """The estimate as a multiple of what is real."""
        return self.estimated / self.real


def texts() -> dict[str, str]:
    """Return the texts by name, in the order of the file."""
    return tomllib.loads(TEXTS.read_text("utf-8"))


def counted() -> list[Counted]:
    """Return the tokens of every text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the package opens its data as Python 3.11 advises against
        from bpe_openai import get_encoding

        vocabulary = get_encoding(VOCABULARY)
    return [Counted(name, len(vocabulary.encode(text)), tokens_of(text)) for name, text in texts().items()]


def measure(_at: Places, _options: argparse.Namespace) -> list[Section]:
    """Count the texts; returns one section."""
    found = counted()
    rows = [f"| {name} | {real} | {estimated} | {estimated / real:.2f} |" for name, real, estimated in found]
    text = "\n".join(["| text | tokens | estimated | ratio |", "|---|---|---|---|", *rows])
    figures = {one.name: {"tokens": one.real, "estimated": one.estimated} for one in found}
    return [Section("tokens/texts", f"Tokens: the estimate and {VOCABULARY}", figures, text)]
