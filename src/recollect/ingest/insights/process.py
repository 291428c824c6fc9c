"""A helper process of a run: takes uids on its standard input and answers with analyses on its standard output.

As `ingest.worker.process`: a program of its own that ends when its input does. It reads the home and writes nothing.
What it cannot analyse for a reason that ends a run, it gives back, and the run meets that reason itself.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import msgspec

from recollect.archive.archive import Archive
from recollect.archive.keys import HomeKeys
from recollect.config import Config
from recollect.errors import RecollectError
from recollect.ingest.insights.analysis import Analysed, Analyst
from recollect.ingest.worker.process import receive, send
from recollect.privacy.redact import redactor_of
from recollect.store.insight_feed import SessionFeed


class AnalysisGreeting(msgspec.Struct, frozen=True):
    """The first message to a helper."""

    keys: HomeKeys
    home: str
    archive_folder: str
    config: Config


class Answer(msgspec.Struct, frozen=True):
    """What a helper says of one uid; analysed None: it gives it back."""

    analysed: Analysed | None


def main() -> None:
    """Serve until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    first = receive(source)
    if first is None:
        return
    greeting = msgspec.msgpack.decode(first, type=AnalysisGreeting)
    archive = Archive.open(Path(greeting.archive_folder), greeting.keys, read_only=True)
    redactor = redactor_of(greeting.keys.marker_key, greeting.config.privacy)
    feed = SessionFeed(Path(greeting.home), archive, redactor)
    try:
        analyst = Analyst(feed, greeting.config)
        encode = msgspec.msgpack.Encoder().encode
        while (message := receive(source)) is not None:
            send(sink, encode(Answer(_analysed(analyst, message.decode()))))
    finally:
        feed.close()
        archive.close()


def _analysed(analyst: Analyst, uid: str) -> Analysed | None:
    """Return what comes of a session; None where the run must see for itself: an error, or there is no such session."""
    try:
        found = analyst.analyse(uid)
    except RecollectError:
        return None
    return found if found.draft is not None or found.note else None


if __name__ == "__main__":
    main()
