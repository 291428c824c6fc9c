"""What is no decision, by class."""

from __future__ import annotations

import pytest

from recollect.model.insights.nodes import Speaker
from tests.insights.decisions.stories import decided

NOTHING: dict[str, list[tuple[Speaker, str]]] = {
    "task": [
        ("human", "fix the login bug"),
        ("human", "add a test for the parser"),
        ("human", "move the imports to the top"),
        ("human", "commit and push"),
    ],
    "saying": [
        ("human", "The coffee is out."),
        ("human", "My manager is out."),
        ("human", "Keep up the good work."),
        ("human", "Keep me posted."),
        ("human", "Remember to update the changelog for the exporter later."),
    ],
    "question": [
        ("human", "should we use redis instead of memcached?"),
        ("human", "can we get the date from git instead"),
        ("human", "why did you choose axios rather than fetch"),
        ("human", "wait, why did you go back to the thread pool? I thought we had agreed on asyncio"),
    ],
    "hypothetical": [
        ("human", "we could use Redis instead of a table"),
        ("human", "what if we used X instead of Y"),
        ("assistant", "If you ever decide to ban `any`, the rule would report 212 places."),
    ],
    "options": [
        ("assistant", "You can use a queue instead of polling. Which do you prefer?"),
        ("assistant", "I'd put it in a table rather than a file. Want me to do that?"),
    ],
    "report": [
        ("human", "the app uses redis instead of memcached"),
        ("human", "the build never finishes on CI"),
        ("human", "the intern always used `sed -i` on the lockfile instead of running the resolver"),
        ("assistant", "The hook now shows a message instead of a banner."),
    ],
    "narration": [
        ("assistant", "Let me use grep to find the callers."),
        ("assistant", "I'll run the tests to make sure everything works."),
        ("assistant", "I'll use `curl` instead of `wget` to fetch the page."),
        ("assistant", "Let me look at the file directly instead of grepping."),
    ],
    "progress": [("assistant", "Implementing the cache now."), ("assistant", "Now I'll update the import.")],
    "left to do": [
        ("assistant", "Left for tomorrow: the dead-letter queue and its alert."),
        ("human", "Left for tomorrow: use a dead-letter queue for what failed six times."),
        ("human", "Still open: we need to move the retry limit into the settings."),
        ("human", "To do next: switch the worker to the new queue."),
    ],
    "undecided": [
        ("human", "I haven't decided whether to use Rust or Go"),
        ("human", "I'm not saying we should drop Windows support"),
    ],
    "others": [
        ("human", "they picked Kafka at my last job"),
        ("human", "he said we should use Rust instead of Go"),
        ("human", 'reviewer comment: "use a context manager instead of try/finally." what does he mean'),
    ],
    "quoted": [
        ("human", "> use tabs, not spaces\nwhat does this line mean"),
        ("human", "def pick(name):\n    # always use postgres, never sqlite\n    return PostgresBackend()"),
        (
            "human",
            "-    # always lock the stock first, never the order\n-    with lock(stock):\n+    with lock(order):",
        ),
        ("human", "CMake Warning at CMakeLists.txt:14:\n  Use the system zlib instead of the bundled one."),
        ("human", "npm WARN deprecated request@2.88.2: use got instead of request"),
        ("human", "```\nuse Postgres instead of MySQL\n```"),
        ("human", "<system-reminder>\nnever use emojis\n</system-reminder>\nhello"),
        ("human", "| use A | not B |\n|---|---|\n| use C instead of D | x |"),
    ],
}


@pytest.mark.parametrize(("kind", "speaker", "text"), [(k, *m) for k, ms in NOTHING.items() for m in ms])
def test_it_decides_nothing(kind: str, speaker: Speaker, text: str) -> None:
    assert decided(text, speaker) == [], kind


def test_a_pasted_document_decides_only_by_what_is_typed_around_it() -> None:
    items = "\n".join(
        f"- Always use module {n} instead of module {n + 1} in the generated part of it." for n in range(40)
    )
    text = f"Please summarise this plan.\n\n# Plan\n\n{items}\n\nuse Markdown, not HTML"
    assert [d.chosen for d in decided(text)] == [("Markdown",)]
