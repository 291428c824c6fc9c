"""Documents are cut at their headings, nothing of them is lost, and no part is too long."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.capture.document_folders import DocumentFormat
from recollect.capture.document_text import LEAST_CHARS, PART_CHARS, cut, front_matter, headings
from recollect.model.learnings.entries import ENTRY_PART_CHARS
from tests.examples import tried

FORMS: tuple[DocumentFormat, ...] = ("markdown", "rst", "asciidoc", "org", "text")
LINES = (
    "# One", "## Two ##", "Under", "=====", "-----", "~~~~~", "---", "+++", "title: x", "```", "~~~", "<!--", "-->",
    "<div>", "</div>", "<pre>", "</pre>", "> quote", "- item", "1. item", "    code", "== A", "----", "* Org",
    "#+begin_src", "#+end_src", "", "", "words and words", "| a | b |", "\t# tab", "\x0b", "\u2028", "é" * 90,
    "x" * 500,
)  # fmt: skip
texts = st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(("\n", "\r\n", "\r", "\n\n"))), max_size=120).map(
    lambda lines: "".join(f"{line}{end}" for line, end in lines)
)


@settings(max_examples=tried(60))
@given(text=texts | st.text(max_size=300), form=st.sampled_from(FORMS))
def test_the_parts_joined_are_the_document(text: str, form: DocumentFormat) -> None:
    made = cut(text, form)
    assert "".join(part.text for part in made.parts) == text
    assert all(0 < len(part.text) <= PART_CHARS <= ENTRY_PART_CHARS for part in made.parts)
    assert all("\n" not in part.heading and len(part.heading) <= 300 for part in made.parts)


@pytest.mark.parametrize("text", ["x" * 50_000, "word " * 10_000, "\n" * 20_000, "# \n" * 9_000, "é\r" * 9_000])
def test_a_document_without_any_place_to_cut_is_cut_all_the_same(text: str) -> None:
    parts = cut(text, "markdown").parts
    assert "".join(part.text for part in parts) == text
    assert max(len(part.text) for part in parts) <= PART_CHARS


def test_parts_carry_the_path_of_their_headings() -> None:
    body = "words " * 80
    text = f"# Guide\n\n## Install\n\n{body}\n\n### Linux\n\n{body}\n\n## Use\n\n{body}\n"
    made = cut(text, "markdown")
    assert made.title == "Guide"
    assert [part.heading for part in made.parts] == ["Guide > Install", "Guide > Install > Linux", "Guide > Use"]
    assert made.parts[0].text.startswith("# Guide\n\n## Install")


def test_long_sections_are_cut_between_paragraphs_and_short_ones_go_together() -> None:
    paragraphs = "".join(f"Paragraph {number} " + "words " * 60 + "\n\n" for number in range(40))
    parts = cut(f"# Long\n\n{paragraphs}", "markdown").parts
    assert len(parts) > 3
    assert all(part.text.startswith(("# Long", "Paragraph")) and part.heading == "Long" for part in parts)
    glossary = "".join(f"## Word {number}\n\nIts meaning.\n\n" for number in range(60))
    assert all(LEAST_CHARS <= len(part.text) <= PART_CHARS for part in cut(glossary, "markdown").parts)


def test_markdown_headings_are_those_of_commonmark() -> None:
    text = """---
title: "The *real* title"
# not: a heading
---
Setext *one*
with two lines
===

## ATX [link](https://example.com) `code` {#anchor}

```python
# a comment
```

~~~~
## no
~~~
## still no
~~~~

<!--
# hidden
-->

<div>
# in HTML

# After HTML

- item
---

> quote
===

    # code

#no heading

| a | b |
|---|---|

Second
------
"""
    found = [(heading.level, heading.title) for heading in headings(text, "markdown")]
    assert found == [(1, "Setext one with two lines"), (2, "ATX link code"), (1, "After HTML"), (2, "Second")]
    assert cut(text, "markdown").title == "The *real* title"


@settings(max_examples=tried(60))
@given(text=texts)
def test_markdown_is_read_as_a_parser_of_commonmark_reads_it(text: str) -> None:
    """Where a text has no blocks in lists and quotes: what is inside of these this reader does not look at."""
    from markdown_it import MarkdownIt

    plain = "".join(
        line for line in text.splitlines(keepends=True) if not line.lstrip().startswith((">", "-", "1.", "+"))
    )
    plain = plain.replace("\x0b", "").replace("\u2028", "").replace("\r\n", "\n").replace("\r", "\n").replace("\t", "")
    plain = plain.replace("|", "").replace("* Org", "")
    parser = MarkdownIt("commonmark")
    parser.core.ruler.enableOnly(["normalize", "block"])
    expected = [
        (token.map[0], int(token.tag[1]))
        for token in parser.parse(plain)
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]
    assert [(plain[: one.at].count("\n"), one.level) for one in headings(plain, "markdown")] == expected


def test_restructured_text_asciidoc_and_org_have_headings_of_their_own() -> None:
    rst = "=====\nTitle\n=====\n\nIntro\n\nPart\n----\n\n::\n\n   no\n   --\n\nSub\n~~~\n\n== ==\na  b\n== ==\n\n"
    rst += "Next\n----\n"
    assert [(h.level, h.title) for h in headings(rst, "rst")] == [(1, "Title"), (2, "Part"), (3, "Sub"), (2, "Next")]
    adoc = "= Doc\n:toc:\n\n== One\n----\n== no\n----\n=== Two\n"
    assert [(h.level, h.title) for h in headings(adoc, "asciidoc")] == [(1, "Doc"), (2, "One"), (3, "Two")]
    org = "#+title: Named\n* First :tag:\n#+begin_src sh\n* no\n#+end_src\n** Second\n"
    assert [(h.level, h.title) for h in headings(org, "org")] == [(1, "First"), (2, "Second")]
    assert cut(org, "org").title == "Named"


def test_front_matter_is_told_from_a_rule() -> None:
    assert front_matter("---\ntitle: A\nlist: [1]\n---\n# B\n") == (27, {"title": "A"})
    assert front_matter("---\n# B\n\nnever closed\n") == (0, {})
    assert front_matter("+++\ntitle = 'C'\n+++\n") == (20, {"title": "C"})


def test_this_projects_own_pages_keep_all_their_headings(repository: Path) -> None:
    for page in sorted((repository / "docs").rglob("*.md")):
        text = page.read_text("utf-8")
        made = cut(text, "markdown")
        assert made.title, page
        assert "".join(part.text for part in made.parts) == text
