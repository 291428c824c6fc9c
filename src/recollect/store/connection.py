"""Opens the database: settings, migrations, reader connections, and translated errors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import wraps
from pathlib import Path
from types import FunctionType
from typing import Any, Concatenate, Literal, ParamSpec, Self, TypeVar

import apsw

from recollect.errors import DiskFull, SchemaTooNew, StoreCorrupt, StoreError, StoreLocked, StoreLost
from recollect.paths import DATABASE_NAME
from recollect.ready_blocks import withdraw

_Value = TypeVar("_Value")
_Params = ParamSpec("_Params")
_GENERATOR = 0x20
"""The flag of a generator's code. Loading `inspect`, which has a name for it, takes longer than opening a database."""

APPLICATION_ID = 0x5245_434C
"""`RECL`: tells `file` and other tools whose database this is."""
SCHEMA_VERSION = 9
"""How many migrations there are. They themselves are loaded where one is to be run: a hook never does."""
PAGE_BYTES = 4096
BUSY_TIMEOUT_MS = 5_000
CACHE_KIB = 8 * 1024
"""Page cache of a connection. Rows lie together session by session: twice as much saves the writer nothing."""
READABLE_FROM = "readable_from"
"""The key in `meta` of the oldest schema whose programs can read this database; without it, the tables tell."""
Mode = Literal["write", "read"]
Bindings = Sequence[Any] | Mapping[str, Any]
REBUILD_HINT = "run `recollect repair`: everything derived comes from the archive"
LOST_HINT = "`recollect sync` rebuilds the sessions from the archive; notes, facts, diaries and pins were only "
"in the database; `recollect repair --from BACKUP` restores them"
_EMPTY_JOURNAL = 24
_EMPTY_PACK = 8
_VERSION_AT, _VERSION_END = 60, 64
"""Where a database file has its version, `user_version`; the write-ahead log may have a newer one."""


@contextmanager
def store_errors() -> Iterator[None]:
    """Turn SQLite's exceptions into ours: StoreLocked, StoreCorrupt, DiskFull, else StoreError."""
    try:
        yield
    except apsw.Error as error:
        raise _ours(error) from error
    except UnicodeDecodeError as error:  # what was written as text is none any more
        raise StoreCorrupt(f"the memory's database is damaged ({error.reason})", hint=REBUILD_HINT) from error


class RaisesStoreErrors:
    """SQLite's exceptions become ours in every public method of what derives from it, see `store_errors`.

    Not in generators and properties: they do it themselves.
    """

    def __init_subclass__(cls) -> None:
        for name, made in list(vars(cls).items()):
            if isinstance(made, FunctionType) and not name.startswith("_") and not made.__code__.co_flags & _GENERATOR:
                setattr(cls, name, store_errors()(made))


class RowWriter(RaisesStoreErrors):
    """Writes inside somebody's transactions. touched: takes the numbers of sessions that change, see
    `Writer.touched`."""

    def __init__(self, db: apsw.Connection, touched: set[int]) -> None:
        self._db = db
        self._touched = touched


def query(db: apsw.Connection, statement: str, values: Bindings = ()) -> Any:
    """Return a cursor over the rows of a statement, of types that only the statement knows."""
    return db.execute(statement, values)


def column(db: apsw.Connection, statement: str, values: Bindings = ()) -> list[Any]:
    """Return the values of a statement that gives one column."""
    return [value for (value,) in db.execute(statement, values)]


def of_db(
    function: Callable[Concatenate[apsw.Connection, _Params], _Value],
) -> Callable[Concatenate[Any, _Params], _Value]:
    """Return a function over a database as a method of a class that has one as `_db`."""

    @wraps(function)
    def method(self: Any, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Value:
        return function(self._db, *args, **kwargs)

    return method


@contextmanager
def transaction(db: apsw.Connection) -> Iterator[None]:
    """One short transaction; everything inside is kept or nothing. Does not nest."""
    with store_errors():
        db.execute("BEGIN IMMEDIATE")
    try:
        yield
        with store_errors():
            db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            with store_errors():
                db.execute("ROLLBACK")
        raise


def withdraw_ready(home: Path) -> None:
    """Take the stamp of ready blocks away, because a context may tell what is written. Raises StoreError."""
    try:
        withdraw(os.fspath(home))
    except OSError as error:
        raise StoreError(f"the memory's folder cannot be written: {error}") from error


def _ours(error: apsw.Error) -> StoreError:
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreLocked("the memory is busy: another process is writing to it", hint="try again in a moment")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreCorrupt(f"the memory's database is damaged ({error})", hint=REBUILD_HINT)
    if isinstance(error, apsw.FullError):
        return DiskFull("no space left for the memory", hint="free some space and run the same command again")
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.CantOpenError):
        return StoreError(
            f"the memory cannot be opened ({error})", hint="check who owns the folder and its permissions"
        )
    return StoreError(f"the memory's database cannot be used ({error})")


def open_database(home: Path, mode: Mode) -> apsw.Connection:
    """Return a connection to a home's database, made and migrated where needed.

    A connection belongs to the thread that uses it; close it yourself. What a newer version wrote is read, never
    written, as long as it has all the tables and columns that are known here and does not say that it must not be.

    Raises:
        SchemaTooNew: a newer version wrote it, and it is to be written or cannot be read.
        StoreLost: there is none, or an empty one, though the archive holds something.
        StoreCorrupt, StoreLocked, DiskFull, StoreError: as named.
    """
    path = home / DATABASE_NAME
    if (not path.exists() or not path.stat().st_size) and has_archive(home):
        raise lost(home)
    with store_errors():
        if mode == "write" or not path.exists():
            home.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = _connect(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
            try:
                _prepare(connection, path)
            except BaseException:
                connection.close()
                raise
            if mode == "write":
                return connection
            connection.close()
        connection = _connect_to_read(path)
        try:
            version = _version(connection)
        except BaseException:
            connection.close()
            raise
    if version == SCHEMA_VERSION or (version > SCHEMA_VERSION and _is_readable(connection)):
        return connection
    connection.close()
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(version, SCHEMA_VERSION)
    open_database(home, "write").close()  # an older schema: migrate, then read
    return open_database(home, "read")


class _Shared(threading.local):
    """The connection that a thread's questions share, see `reading_by_one_connection`."""

    home: Path | None = None
    db: apsw.Connection | None = None
    small: apsw.Connection | None = None
    """For small writes."""


_shared = _Shared()


@contextmanager
def reading_by_one_connection(home: Path) -> Iterator[None]:
    """Have every `open_to_read` of a home inside, in this thread, use one connection, opened at the first, and every
    `open_for_small` another one.

    For who holds the ingest lock and asks many small questions: opening a database takes longer than most of them.
    """
    if _shared.home is not None:
        yield
        return
    _shared.home = home
    try:
        yield
    finally:
        held = [db for db in (_shared.db, _shared.small) if db is not None]
        _shared.home = _shared.db = _shared.small = None
        for db in held:
            db.close()


@contextmanager
def open_to_read(home: Path) -> Iterator[apsw.Connection]:
    """Open a home's database for a few questions, see `open_database`; SQLite's exceptions become ours."""
    if _shared.home == home:
        with store_errors():
            if _shared.db is None:
                _shared.db = open_database(home, "read")
            yield _shared.db
        return
    with closing(open_database(home, "read")) as db, store_errors():
        yield db


def connect_for_small(
    home: Path, *, busy_ms: int = BUSY_TIMEOUT_MS, synchronous: Literal["FULL", "NORMAL"] = "FULL"
) -> apsw.Connection:
    """Return a connection to a home's database for a small write. It must be there; nothing is checked."""
    db = apsw.Connection(os.fspath(home / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READWRITE)
    db.set_busy_timeout(busy_ms)
    db.execute(f"PRAGMA synchronous = {synchronous}")
    return db


@contextmanager
def open_for_small(home: Path) -> Iterator[apsw.Connection]:
    """Open a home's database for a small write. It must be there and of this version; nothing is checked."""
    db = _shared.small if _shared.home == home else None
    if db is None:
        with store_errors():
            db = connect_for_small(home)
        if _shared.home == home:
            _shared.small = db
    try:
        yield db
    finally:
        if db is not _shared.small:
            db.close()


@contextmanager
def open_attached(home: Path, other: Path, name: str, mode: Mode) -> Iterator[apsw.Connection]:
    """Open a home's database with that of another home attached under a name; no transaction is begun."""
    with closing(open_database(home, mode)) as db, store_errors():
        db.execute(f"ATTACH ? AS {name}", (os.fspath(other / DATABASE_NAME),))
        yield db


@contextmanager
def open_to_write(home: Path) -> Iterator[apsw.Connection]:
    """Open a home's database for one transaction: everything inside is kept or nothing, see `open_database`."""
    with closing(open_database(home, "write")) as db, store_errors(), db:
        yield db


def has_archive(home: Path) -> bool:
    """Whether the archive of a home holds anything. Cheap, and opens nothing."""
    journal = home / "archive" / "journal.log"
    with suppress(OSError):
        if journal.stat().st_size > _EMPTY_JOURNAL:
            return True
    packs = (home / "archive" / "packs").glob("*.pack")
    return any(pack.stat().st_size > _EMPTY_PACK for pack in packs)


def has_database(home: Path) -> bool:
    """Whether a home has a database. Raises StoreLost where it has none though its archive holds something."""
    if (home / DATABASE_NAME).exists():
        return True
    if has_archive(home):
        raise lost(home)
    return False


def lost(home: Path) -> StoreLost:
    """Return the error for a missing database beside an existing archive."""
    is_there = (home / DATABASE_NAME).exists()
    what = "is empty" if is_there else "is missing"
    return StoreLost(f"the memory's database {what}, but its archive is not: {home / DATABASE_NAME}", hint=LOST_HINT)


def is_lost(home: Path) -> bool:
    """Whether the database is gone, or empty, though the archive holds something."""
    with suppress(OSError), (home / DATABASE_NAME).open("rb") as file:
        if any(file.read(_VERSION_END)[_VERSION_AT:]):  # a schema of ours, or of somebody else: not empty
            return False
    if not has_archive(home):
        return False
    try:
        open_database(home, "read").close()
    except StoreLost:
        return True
    except StoreError:
        return False
    return False


def quick_check(home: Path, *, limit: int = 20) -> list[str]:
    """Return what SQLite's own check finds wrong, at most `limit` lines; empty when the database is sound.

    Raises StoreCorrupt when it is too damaged to be checked.
    """
    with open_to_read(home) as connection:
        found = [str(row[0]) for row in connection.execute(f"PRAGMA quick_check({int(limit)})")]
    return [] if found == ["ok"] else found


def _connect_to_read(path: Path) -> apsw.Connection:
    try:
        connection = _connect(path, apsw.SQLITE_OPEN_READONLY)
        _version(connection)
        return connection
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        if not is_settled(path):
            raise
    return _connect(path, apsw.SQLITE_OPEN_READONLY, immutable=True)


def is_settled(path: Path) -> bool:
    """Return whether a database can be read as an unchanging file: its folder is read-only, and no log holds newer
    data.
    """
    try:
        log = path.with_name(f"{path.name}-wal").stat().st_size
    except OSError:
        log = 0
    return not log and not os.access(path.parent, os.W_OK)


def unchanging(path: Path) -> str:
    """Return the name to open a database by that nobody changes, with SQLITE_OPEN_URI. No file appears beside it."""
    return f"{path.absolute().as_uri()}?immutable=1"


def _connect(path: Path, flags: int, *, immutable: bool = False) -> apsw.Connection:
    address = unchanging(path) if immutable else str(path)
    uri = apsw.SQLITE_OPEN_URI if immutable else 0
    connection = apsw.Connection(address, flags=flags | uri, statementcachesize=200)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    connection.execute("PRAGMA temp_store = MEMORY")
    if flags & apsw.SQLITE_OPEN_READWRITE:
        # One fsync per transaction. NORMAL may lose the last transactions (never consistency) when the power fails.
        connection.execute("PRAGMA synchronous = FULL")
    return connection


def _version(connection: apsw.Connection) -> int:
    return int(connection.pragma("user_version"))


def _prepare(connection: apsw.Connection, path: Path) -> None:
    """Set what must be set before the first table, then bring the schema up to date."""
    version = _version(connection)
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(version, SCHEMA_VERSION)
    if version == SCHEMA_VERSION:
        return
    if version == 0:
        if _is_of_others(connection):
            raise StoreCorrupt(f"{path} is not a Recollect database", hint="move it away and run the command again")
        if has_archive(path.parent):
            raise lost(path.parent)
        _set(connection, "page_size", PAGE_BYTES)
        _set(connection, "auto_vacuum", 2)  # INCREMENTAL
        _set(connection, "journal_mode", "wal")
        if os.name == "posix":
            path.chmod(0o600)
    numbers = range(version + 1, SCHEMA_VERSION + 1)
    # A new database holds nothing that would be migrated again after a crash: one transaction makes all of it.
    for some in (numbers,) if version == 0 else ((number,) for number in numbers):
        _migrate(connection, some)


def refuse_newer(connection: apsw.Connection) -> None:
    """Raise SchemaTooNew where a newer version wrote the database: for writers that open it on their own."""
    version = _version(connection)
    if version > SCHEMA_VERSION:
        raise SchemaTooNew(version, SCHEMA_VERSION)


def _is_readable(connection: apsw.Connection) -> bool:
    """Return whether this version can read a newer database: it has the needed columns and does not forbid it.

    A newer version that changes the meaning of known columns sets `readable_from` in `meta` to its schema.
    """
    try:
        with store_errors():
            found = connection.execute("SELECT value FROM meta WHERE key = ?", (READABLE_FROM,)).get
            if found is not None and int(found) > SCHEMA_VERSION:
                return False
            return _columns(connection) >= _known_columns()
    except (StoreError, ValueError):
        return False


def _known_columns() -> set[tuple[str, str]]:
    """Return every table and column of this version's schema."""
    from recollect.store.migrations import MIGRATIONS

    with closing(apsw.Connection(":memory:")) as scratch:
        for migration in MIGRATIONS:
            for statement in migration:
                scratch.execute(statement)
        return _columns(scratch)


def _columns(connection: apsw.Connection) -> set[tuple[str, str]]:
    rows: Any = connection.execute(
        "SELECT named.name, columns.name FROM sqlite_schema AS named JOIN pragma_table_info(named.name) AS columns "
        "WHERE named.type IN ('table', 'view') AND named.name NOT LIKE 'sqlite_%'"
    ).fetchall()
    return {(str(table), str(column)) for table, column in rows}


def _is_of_others(connection: apsw.Connection) -> bool:
    """True when an unversioned database is another program's, or holds tables that are not ours.

    Its version is asked again with the rest, in one statement: two that open a new home meet here, and the first
    migration of the other may be committed at any moment.
    """
    found = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), "
        "EXISTS (SELECT 1 FROM sqlite_schema)"
    ).fetchall()
    version, application, has_tables = found[0]
    return version == 0 and (application not in (0, APPLICATION_ID) or bool(has_tables))


def _set(connection: apsw.Connection, name: str, value: int | str) -> None:
    """Set a pragma and read it back. apsw stops a multi-statement execute at the first row, so: one by one."""
    connection.execute(f"PRAGMA {name} = {value}").fetchall()
    found: Any = connection.pragma(name)
    if found != value and _version(connection) == 0:
        raise StoreError(f"the database refused {name} = {value} (it says {found})")


def _migrate(connection: apsw.Connection, numbers: Iterable[int]) -> None:
    """Run migrations and record them, in one transaction. Another process may have been first."""
    from recollect.store.migrations import MIGRATIONS

    connection.execute("BEGIN IMMEDIATE")
    try:
        done = _version(connection)
        for number in (number for number in numbers if number > done):
            for statement in MIGRATIONS[number - 1]:
                connection.execute(statement)
            if number == 1:
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute("INSERT INTO meta VALUES ('home_id', ?)", (os.urandom(16).hex(),))
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class DatabaseHolder(RaisesStoreErrors):
    """Holds one connection to a home's database. One thread's; close it, or use it as a context manager."""

    def __init__(self, home: Path, mode: Mode = "read") -> None:
        """Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        self._db = open_database(home, mode)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._db.close()


class ReadPool:
    """Gives every thread its own connection to a home's database."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._local = threading.local()
        self._lock = threading.Lock()
        self._all: list[apsw.Connection] = []
        self._is_closed = False
        self.get()

    def get(self) -> apsw.Connection:
        """Return this thread's connection. Raises StoreError once the pool is closed."""
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._is_closed:
            if self._is_closed:
                raise StoreError("the memory is closed")
            connection = open_database(self.home, "read")
            with self._lock:
                self._all.append(connection)
            self._local.connection = connection
        return connection

    def remembered(self) -> dict[object, Any]:
        """Return what this thread has read of the database and keeps; empty once another connection has written.

        Whoever puts something there sees to it that it stays small.
        """
        version = self.get().execute("PRAGMA data_version").get  # as a statement it is prepared once
        known: tuple[Any, dict[object, Any]] | None = getattr(self._local, "remembered", None)
        if known is None or known[0] != version:
            known = self._local.remembered = (version, {})
        return known[1]

    def close(self) -> None:
        """Close every connection. Repeating it is harmless. One that another thread is reading with at this moment is
        closed when that thread ends: nobody asks it again."""
        with self._lock, store_errors():
            self._is_closed = True
            while self._all:
                with suppress(apsw.ThreadingViolationError):
                    self._all.pop().close()


class PooledReader(RaisesStoreErrors):
    """Reads a home's database, by a pool of its own or one that other readers use too. Safe from many threads."""

    def __init__(self, home: Path | ReadPool) -> None:
        """Raises SchemaTooNew, StoreCorrupt, StoreLocked, StoreError."""
        self._pool = home if isinstance(home, ReadPool) else ReadPool(home)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    @property
    def _db(self) -> apsw.Connection:
        """This thread's connection."""
        return self._pool.get()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        """For generators, which keep one connection."""
        with store_errors():
            yield self._pool.get()

    def _remembered(self, what: str, read: Callable[[apsw.Connection], _Value]) -> _Value:
        """Return a value that is read again only after the database changed. what: the name of the value."""
        with self._reading() as db:
            known = self._pool.remembered()
            if what not in known:
                known[what] = read(db)
            value: _Value = known[what]
            return value
