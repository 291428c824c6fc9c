"""How test files are named, where a session made several by one pattern."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from recollect.insights.learnings.extraction.candidates import Draft, Place, evidence_of
from recollect.insights.learnings.extraction.observed import Observed
from recollect.insights.learnings.extraction.places import below, root_of
from recollect.model.events import Event
from recollect.model.payloads import FileEdit

_FORMS: Final = (
    (re.compile(r"test_\w+\.py"), "test_*.py"),
    (re.compile(r"\w+_test\.(?P<ext>py|go|rb|dart|ts|exs)"), "*_test.{ext}"),
    (re.compile(r"[\w.-]+\.(?P<kind>test|spec|e2e)\.(?P<ext>[cm]?[jt]sx?)"), "*.{kind}.{ext}"),
    (re.compile(r"\w+_spec\.rb"), "*_spec.rb"),
    (re.compile(r"\w+Tests?\.(?P<ext>java|kt|cs|swift|php)"), "*Test.{ext}"),
)
_FEWEST: Final = 3
"""Files of one form from which it counts as the way of this repository."""


def names_of_tests(observed: Observed) -> Iterator[Draft]:
    """Yield the form of the names of test files, where at least three different ones were edited and no other form."""
    seen: dict[str, dict[str, Event]] = defaultdict(dict)
    root = root_of(observed)
    for event in observed.events:
        payload = event.payload
        if (
            isinstance(payload, FileEdit)
            and payload.operation in ("create", "modify")
            and "est" in payload.path + "spec"
        ):
            path = below(payload.path, root)
            form = _form(path.rpartition("/")[2]) if path else ""
            if path and form:
                seen[form].setdefault(path, event)
    by_extension: dict[str, list[str]] = defaultdict(list)
    for form in seen:
        by_extension[form.rpartition(".")[2]].append(form)
    for forms in by_extension.values():
        if len(forms) == 1 and len(seen[forms[0]]) >= _FEWEST:
            files = seen[forms[0]]
            evidence = [evidence_of(event, "assistant", path) for path, event in list(files.items())[:5]]
            features = {"files named so": min(0.65, 0.35 + 0.05 * len(files))}
            yield Draft(
                "pattern", f"Test files are called `{forms[0]}`.", Place("repo"), "assistant", evidence, features
            )


def _form(name: str) -> str:
    for pattern, form in _FORMS:
        match = pattern.fullmatch(name)
        if match is not None:
            return form.format(**match.groupdict())
    return ""
