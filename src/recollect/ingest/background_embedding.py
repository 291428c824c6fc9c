"""`memory.embedding`: makes vectors on demand or in the background, never during ingest."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.config import Config, EmbeddingConfig
from recollect.errors import ConfigError, EmbeddingUnavailable, IndexUnavailable, RecollectError, StoreLocked
from recollect.index.vectors.files import ENTRIES_FOLDER, Files, remove_vectors
from recollect.index.vectors.vector_index import EntryVectorIndex, VectorCoverage, VectorIndex, entry_files, identity_of
from recollect.paths import BACKGROUND_VARIABLE, HOME_VARIABLE, expand
from recollect.processes import own_command
from recollect.recall.answers import VectorStats
from recollect.store.change_feed import TextFeed
from recollect.store.connection import has_database
from recollect.store.home import Home
from recollect.store.lock import IngestLock
from recollect.wire import INTERNAL_VARIABLE

if TYPE_CHECKING:
    from recollect.index.vectors.embed import EmbedProgress, EmbedReport
    from recollect.index.vectors.passage_process import PassageReader
    from recollect.index.vectors.vector_index import Embedder, EntryVectorIndex
    from recollect.recall.rerank import Contextual
    from recollect.store.passages import PassageStore


class EmbeddingFacet:
    """The vectors of one open memory. Safe from many threads; one object a memory."""

    def __init__(
        self, home: Home, config: Config, env: Mapping[str, str], *, open_feed: Callable[[], TextFeed]
    ) -> None:
        self._home = home
        self._config = config.embedding
        self._env = env
        self._open_feed = open_feed
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None
        self._feed: TextFeed | None = None
        self._index: VectorIndex | None = None
        self._entries: EntryVectorIndex | None = None
        self._stop = threading.Event()
        self._local = threading.local()
        self._contextual: Contextual | None = None
        self._passage_reader: PassageReader | None = None

    @property
    def is_on(self) -> bool:
        """Whether the configuration wants vectors."""
        return self._config.model != "off"

    def builtin(self) -> Embedder | None:
        """Return the model that every memory has; None where this one uses another or none."""
        is_other = self._config.model != BUILTIN or self._config.api
        return None if is_other else self._model()

    def index(self) -> VectorIndex | None:
        """Return the vectors to search in, None where they are switched off or nothing is stored.

        Costs nothing before the first question. Raises EmbeddingUnavailable for a model that cannot be used.
        """
        if not self.is_on or not self._home.database.exists():
            return None
        with self._lock:
            if self._index is None:
                try:
                    model = self._model()
                except ConfigError as error:  # a search continues by words; `recollect embed` names the key
                    raise EmbeddingUnavailable(str(error), hint=error.hint) from error
                self._index = VectorIndex.open(self._home.vectors, model, store=self._texts())
            return self._index

    def coverage(self) -> VectorCoverage | None:
        """Return how much of the talk has vectors; None where they are switched off or nothing is stored.

        Raises IndexUnavailable for vectors that cannot be read, EmbeddingUnavailable as `index`.
        """
        index = self.index()
        return None if index is None else index.coverage()

    def entries(self) -> EntryVectorIndex | None:
        """Return the vectors of learnings, notes and documents; None and errors as of `index`."""
        index = self.index()
        with self._lock:
            if index is not None and self._entries is None:
                from recollect.index.vectors.vector_index import EntryVectorIndex

                self._entries = EntryVectorIndex(self._home.vectors, self._model(), self._texts(), asked=index.asked)
            return self._entries

    def entry_coverage(self) -> VectorCoverage | None:
        """Return how many entries have vectors; None and errors as of `coverage`."""
        entries = self.entries()
        return None if entries is None else entries.coverage()

    @property
    def has_contextual(self) -> bool:
        """Whether the contextual model is wanted and installed."""
        from recollect.index.vectors.contextual import weights_path

        is_wanted = self._config.contextual and self._config.model == "builtin" and not self._config.api
        return is_wanted and weights_path() is not None

    def contextual(self) -> Contextual | None:
        """Return what compares the best hits with a question; None where it is switched off, and where no process may
        be started for it and none is at work. Costs nothing before the first question."""
        from recollect.index.vectors.passage_process import is_at_work

        if not self._config.contextual or self._config.model != "builtin" or self._config.api:
            return None
        may_start = "0" not in (self._env.get(BACKGROUND_VARIABLE), os.environ.get(BACKGROUND_VARIABLE))
        if not may_start and not is_at_work(self._home.vectors):
            return None
        with self._lock:
            if self._contextual is None:
                from recollect.index.vectors.passage_process import PassageReader
                from recollect.recall.rerank import Contextual

                self._passage_reader = PassageReader(self._home.vectors, may_start=may_start)
                self._contextual = Contextual(self._passages, self._passage_reader, at_once=self._config.at_once)
            return self._contextual

    def _passages(self) -> PassageStore:
        """Return the vectors of passages, by a connection of this thread's own."""
        found: PassageStore | None = getattr(self._local, "passages", None)
        if found is None:
            found = self._local.passages = self._open_passages()
        return found

    def _open_passages(self) -> PassageStore:
        from recollect.index.vectors.contextual import IDENTITY
        from recollect.store.passages import PassageStore

        return PassageStore(self._home.vectors, model=IDENTITY, derivation_id=self._texts().derivation_id())

    def passage_coverage(self) -> VectorCoverage | None:
        """Return how many sessions the contextual model has read, of how many; None where it is switched off, not
        installed, or nothing is stored. Raises StoreError, IndexUnavailable."""
        if not self.has_contextual or not has_database(self._home.folder):
            return None
        from recollect.index.vectors.passages import coverage_of

        with self._lock:
            feed = self._texts()
        with closing(self._open_passages()) as store:
            return coverage_of(feed, store)

    def passages_are_stale(self) -> bool:
        """Return whether passages are to be read for the contextual model. Raises as `passage_coverage`."""
        coverage = self.passage_coverage()
        return coverage is not None and coverage.is_stale

    def is_stale(self) -> bool:
        """Return whether vectors are missing, old or damaged, of events or entries. Cheap if none are. Raises as
        `index`.
        """
        index, entries = self.index(), self.entries()
        return index is not None and entries is not None and (_is_stale(index) or _is_stale(entries))

    def stats(self) -> VectorStats | None:
        """Return how much is covered and what it takes on disk; None where vectors are switched off. Never raises."""
        if not self.is_on:
            return None
        size = self._home.vectors_bytes()
        nothing = VectorCoverage(0, 0, False)
        try:
            covered, entries = self.coverage() or nothing, self.entry_coverage() or nothing
            read = self.passage_coverage() or nothing
        except RecollectError as error:
            return VectorStats(self._config.model, 0, 0, size, str(error))
        return VectorStats(
            self._config.model, covered.covered, covered.total, size,
            entries_covered=entries.covered, entries_total=entries.total,
            sessions_read=read.covered, sessions_total=read.total,
        )  # fmt: skip

    def run(
        self, *, max_seconds: float | None = None, anew: bool = False, gently: bool = False,
        with_passages: bool = True, progress: EmbedProgress | None = None,
    ) -> EmbedReport:  # fmt: skip
        """Make missing vectors. anew: make all of this model's again. gently: yield to other programs.

        with_passages: also those of the contextual model, which take half an hour or more of one core for 300 MB.
        May be called from any thread; `stop` ends it soon. If another process does the same, returns at once with state
        "busy". Raises EmbeddingUnavailable, IndexUnavailable, StoreError; what was made by then stays.
        """
        from recollect.index.vectors.embed import LOCK_NAME, STOP_NAME, EmbedReport

        if not self.is_on:
            return EmbedReport("off", notes=["vectors are switched off ([embedding] model = 'off')"])
        if not has_database(self._home.folder):
            return EmbedReport("done", notes=["nothing is stored yet"])
        if gently:
            be_gentle()
        self._stop.clear()
        self._home.vectors.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            lock = IngestLock(self._home.vectors, name=LOCK_NAME, work="making vectors for")
        except StoreLocked as error:
            return EmbedReport("busy", notes=[str(error)])
        with lock:
            try:
                (self._home.vectors / STOP_NAME).unlink(missing_ok=True)  # of who was killed while it asked
            except OSError as error:
                raise IndexUnavailable(f"{self._home.vectors} cannot be written: {error.strerror}") from error
            with self._lock:
                embedder, feed = self._model(), self._texts()
            ends_at = None if max_seconds is None else time.monotonic() + max_seconds
            report = EmbedReport("interrupted", embedder.name, notes=[])

            def should_stop() -> bool:
                return (
                    self._stop.is_set()
                    or (ends_at is not None and time.monotonic() > ends_at)
                    or os.path.lexists(self._home.vectors / STOP_NAME)
                )

            self._embed(feed, embedder, report, anew=anew, progress=progress, should_stop=should_stop)
            if with_passages and report.state == "done" and self.has_contextual:
                self._embed_passages(feed, report, anew=anew, progress=progress, should_stop=should_stop)
        covered, entries = self.coverage(), self.entry_coverage()
        if covered is not None and entries is not None:
            report.covered, report.total = covered.covered, covered.total
            report.entries_covered, report.entries_total = entries.covered, entries.total
        return report

    def _embed(
        self, feed: TextFeed, embedder: Embedder, report: EmbedReport, *, anew: bool,
        should_stop: Callable[[], bool], progress: EmbedProgress | None,
    ) -> None:  # fmt: skip
        """Bring the vectors of entries in step, which are few, then those of events. The lock is held."""
        from recollect.index.vectors.embed import EntryEmbedding, EventEmbedding
        from recollect.index.vectors.writer import VectorWriter

        started = time.perf_counter()
        derivation_id = bytes.fromhex(feed.derivation_id())
        files, of_entries = Files(self._home.vectors, identity_of(embedder)), entry_files(self._home.vectors, embedder)
        is_whole = True
        try:
            if anew or _is_stale(EntryVectorIndex(self._home.vectors, embedder, feed)):
                with VectorWriter(
                    of_entries, derivation_id, dimensions=lambda: embedder.dimensions, anew=anew
                ) as writer:
                    is_whole = EntryEmbedding(
                        feed.entries, writer, embedder, report, should_stop=should_stop, progress=progress
                    ).run()
            if is_whole:
                with VectorWriter(files, derivation_id, dimensions=lambda: embedder.dimensions, anew=anew) as writer:
                    report.was_begun_anew = writer.was_begun_anew
                    is_whole = EventEmbedding(
                        feed, writer, embedder, report, should_stop=should_stop, progress=progress
                    ).run()
        finally:
            report.seconds = time.perf_counter() - started
        if is_whole:
            report.state = "done"
            files.remove_others()
            of_entries.remove_others()

    def _embed_passages(
        self, feed: TextFeed, report: EmbedReport, *, anew: bool, should_stop: Callable[[], bool],
        progress: EmbedProgress | None,
    ) -> None:  # fmt: skip
        from recollect.index.vectors.contextual import ContextualModel
        from recollect.index.vectors.embed import EmbedReport
        from recollect.index.vectors.passages import PassageBuild
        from recollect.store.passages import remove_passages

        if anew:
            remove_passages(self._home.vectors)
        store = self._open_passages()
        if not self.passages_are_stale():
            report.passages_total = store.counts()[1]
            store.close()
            return
        started = time.perf_counter()
        of_passages = EmbedReport("interrupted")
        try:
            report.state = "interrupted"
            model = ContextualModel()
            if PassageBuild(feed, store, model, of_passages, should_stop=should_stop, progress=progress).run():
                report.state = "done"
        finally:
            report.passages, report.passages_total = of_passages.chunks, store.counts()[1]
            report.seconds += time.perf_counter() - started
            store.close()

    def stop(self) -> None:
        """Ask a run under way in this process to end after the batch it is at."""
        self._stop.set()

    def remove(self) -> EmbedReport:
        """Delete the vectors of every model and let the change log forget them. Raises StoreLocked during a run."""
        from recollect.index.vectors.embed import CONSUMER, LOCK_NAME, EmbedReport
        from recollect.index.vectors.passages import CONSUMER as PASSAGES
        from recollect.store.passages import remove_passages

        if not self._home.vectors.exists():
            return EmbedReport("removed")
        with IngestLock(self._home.vectors, name=LOCK_NAME, work="making vectors for"):
            with self._lock:
                self._index = self._entries = None
                if self._home.database.exists():
                    self._texts().leave(CONSUMER)
                    self._texts().leave(PASSAGES)
            remove_passages(self._home.vectors)
            for folder in (*self._home.vectors.glob(f"{ENTRIES_FOLDER}/*"), *self._home.vectors.iterdir()):
                if folder.is_dir():
                    remove_vectors(folder)
        return EmbedReport("removed")

    def close(self) -> None:
        """Close connections; asking again opens them again. A run under way is asked to stop."""
        self._stop.set()
        with self._lock:
            if self._feed is not None:
                self._feed.close()
            if self._embedder is not None:
                self._embedder.close()
            if self._passage_reader is not None:
                self._passage_reader.close()
            self._feed = self._index = self._entries = self._embedder = None
            self._contextual = self._passage_reader = None
            self._local = threading.local()

    def begin(self, *, max_seconds: float) -> None:
        """Make the first vectors now, for so long, where the model is the package's own; a small history then has all.

        Never raises, as `start_in_background`, which is for the rest.
        """
        if self._config.model == "builtin" and not self._config.api:
            with contextlib.suppress(RecollectError, OSError):
                self.run(max_seconds=max_seconds, with_passages=False)

    def start_in_background(self) -> bool:
        """Start `recollect embed --background` apart from this process; False where there is nothing to start.

        It outlives the caller, writes to `logs/embed.log` of the home, and ends by itself. Never raises: vectors are
        an addition, and the next sync tries again.
        """
        if not self.is_on or not self._config.in_background or self._env.get(BACKGROUND_VARIABLE) == "0":
            return False
        with contextlib.suppress(RecollectError, OSError):
            if self.is_stale() or self.passages_are_stale():
                start_detached(self._home.folder, self._home.logs, _environment(self._env))
                return True
        return False

    def _model(self) -> Embedder:
        if self._embedder is None:
            self._embedder = embedder_of(self._config, self._env)
        return self._embedder

    def _texts(self) -> TextFeed:
        if self._feed is None:
            self._feed = self._open_feed()
        return self._feed


def _is_stale(index: VectorIndex) -> bool:
    """Return whether something is to be made; damaged files are."""
    try:
        return index.is_stale()
    except IndexUnavailable:
        return True


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for a process of ours: a memory names its home in it, which would also move the place
    of the configuration."""
    values = {**env}
    if HOME_VARIABLE not in os.environ:
        values.pop(HOME_VARIABLE, None)
    return values


LOG_NAME = "embed.log"
MAX_LOG_BYTES = 256_000
"""A longer log is begun again."""


def start_detached(home: Path, logs: Path, env: Mapping[str, str]) -> threading.Thread:
    """Start `recollect embed --background` for a home; return a thread that ends with it. Raises OSError.

    env: of the person's process; `RECOLLECT_HOME` in it also says where the configuration is, so it stays as it was.
    Its own session (on Windows its own process group, without a window), so that neither Ctrl-C nor the end of the
    terminal reaches it; its output goes to the log.
    """
    import subprocess  # a search by meaning needs the rest of this, and starts nothing

    apart = 0
    if sys.platform == "win32":
        apart = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP
    logs.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = logs / LOG_NAME
    is_long = path.exists() and path.stat().st_size > MAX_LOG_BYTES
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if is_long else os.O_APPEND), 0o600)
    try:
        started = subprocess.Popen(  # noqa: S603  our own program
            own_command("embed", "--background", "--home", str(home)),
            stdin=subprocess.DEVNULL,
            stdout=fd,
            stderr=fd,
            cwd=home,
            env={**env, INTERNAL_VARIABLE: "1", "PYTHONUNBUFFERED": "1"},
            creationflags=apart,
            start_new_session=True,
        )
    finally:
        os.close(fd)
    # In a server that stays, an ended child must be waited for; a command that ends leaves that to the system.
    waiter = threading.Thread(target=started.wait, daemon=True, name="embedding in the background")
    waiter.start()
    return waiter


def be_gentle() -> None:
    """Leave the processor to others, where the system lets a process say so."""
    if sys.platform != "win32":
        os.nice(10)


BUILTIN = "builtin"


def embedder_of(config: EmbeddingConfig, env: Mapping[str, str]) -> Embedder:
    """Return the embedder that a configuration names; one that is switched off has none.

    Raises:
        ConfigError: what is configured does not fit together.
        EmbeddingUnavailable: the model cannot be read, or needs packages that are not installed.
    """
    if config.api:
        return _served(config, env)
    if config.model == BUILTIN:
        from recollect.index.vectors.builtin import BuiltinEmbedder

        return BuiltinEmbedder()
    folder = Path(expand(config.model, env))
    if not folder.is_dir():
        raise ConfigError(
            f"[embedding] model: there is no folder {folder}",
            key="embedding.model",
            allowed=(BUILTIN, "off", "a folder"),
            hint="with `api` set, it is the name of a served model",
        )
    from recollect.index.vectors.embedders import open_local

    return open_local(folder)


def _served(config: EmbeddingConfig, env: Mapping[str, str]) -> Embedder:
    from recollect.endpoints.embedding import EmbeddingClient
    from recollect.index.vectors.embedders import ServedEmbedder

    if config.model == BUILTIN:
        raise ConfigError(
            "[embedding] model: a served model needs its name", key="embedding.model", allowed=("a model's name",)
        )
    return ServedEmbedder(EmbeddingClient.of(config, env))
