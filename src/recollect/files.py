"""Replaces, creates and moves whole files safely. Every write to a file goes through here. Standard library only.

Whoever reads a file, and whatever crashes when, finds its old content or its new content, never a part of either. With
`durable=True` that also holds when the power fails: the content is synced before the file gets its name, and the folder
after that. Pass `durable=False` only for what can be made again or may be lost; tests/architecture/test_file_writes.py
keeps the list, with a reason for each.

The new content goes to a draft beside the file, `.NAME.recollect-new`. A write that fails or is interrupted removes its
draft. If the process is killed, the draft stays until the same file is written again, `remove_drafts` is called for its
folder, or `recollect doctor --fix` finds it in the home. A draft that another process is
still writing is never touched: the second writer uses another name. On Windows, where an open file cannot be renamed,
that is only as certain as the system's refusal to delete an open file.

Every function but `write_cache` raises OSError.
"""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False  # the hook imports this, and `typing` takes longer to import than the hook may run
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    AnyPath = str | os.PathLike[str]

DRAFT_SUFFIX = ".recollect-new"
PRIVATE = 0o600
_IS_WINDOWS = os.name == "nt"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NAME_CHARS = 48
"""Of a file's name, so many stand in the name of its draft: with the suffix it must not become too long."""
_WAITS_S = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4) if _IS_WINDOWS else ()
"""On Windows nobody can replace a file while another process has it open: these are the waits between the tries."""
_NO_ROOM = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
"""A limit on the size of files leaves no more room than a full disk does."""
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EACCES)
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP)


def write_file(
    path: AnyPath, data: bytes | Iterable[bytes], *, durable: bool, mode: int | None = PRIVATE,
    before_replace: Callable[[], None] | None = None,
) -> int:  # fmt: skip
    """Write `data` to `path`, replacing any file, and return its size in bytes.

    mode: of the file, less what the umask removes. None: the file belongs to somebody else. It keeps its mode and
    owner, and if it is a link, its target is replaced. A new file is private. before_replace: called when the draft is
    complete, just before it replaces the file. An exception in it stops the write.
    """
    target = os.fspath(path) if mode is not None else os.path.realpath(path)
    try:
        return _write(target, data, _replace, durable=durable, mode=mode, before_replace=before_replace)
    except OSError as error:
        error.filename = target  # nobody who reads the message knows of a draft
        raise


def write_cache(path: AnyPath, data: bytes) -> None:
    """Put what can be made again at `path`, in a folder that is made for its owner alone. Where that cannot be done,
    it is made again each time: nothing is raised."""
    try:
        os.makedirs(os.path.dirname(os.fspath(path)), mode=0o700, exist_ok=True)
        write_file(path, data, durable=False)
    except OSError:
        return


def remove_folder(path: AnyPath, *, ignore_errors: bool = False) -> None:
    """Remove a folder with all that is in it. Raises OSError, unless errors are ignored; then what cannot be removed
    stays."""
    import shutil  # brings three ways to compress, which few processes need

    shutil.rmtree(path, ignore_errors=ignore_errors)


def create_file(path: AnyPath, data: bytes, *, durable: bool) -> bool:
    """Write `data` to `path` for its owner alone and return True; return False if the file exists.

    Of several processes that create the same file, one succeeds.
    """
    target = os.fspath(path)
    if os.path.lexists(target):
        return False
    try:
        _write(target, data, _take_name, durable=durable, mode=PRIVATE)
    except FileExistsError:
        return False
    return True


def move(source: AnyPath, target: AnyPath, *, durable: bool) -> None:
    """Give a file or folder another name on the same disk. It replaces a file, or an empty folder, of that name."""
    _replace(os.fspath(source), os.fspath(target))
    if durable:
        sync_folder(os.path.dirname(target))


def remove_drafts(folder: AnyPath) -> None:
    """Remove the drafts that killed processes left in a folder."""
    for name in os.listdir(folder):
        if name.endswith(DRAFT_SUFFIX):
            _remove_abandoned(os.path.join(folder, name))


def sync_folder(folder: AnyPath) -> None:
    """Make the names in a folder durable. Windows and some network file systems cannot do that and need not."""
    if _IS_WINDOWS:
        return
    descriptor = os.open(folder or os.curdir, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write every byte; the system may take fewer at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def is_no_room(error: OSError) -> bool:
    """Return whether a write failed because of a full disk, a quota or a size limit."""
    return error.errno in _NO_ROOM


def _write(
    target: str, data: bytes | Iterable[bytes], put: Callable[[str, str], bool | None], *, durable: bool,
    mode: int | None, before_replace: Callable[[], None] | None = None,
) -> int:  # fmt: skip
    """Write a draft and let `put` make it the target. put: returns True if the draft is still there after it."""
    draft, descriptor = _open_draft(target, PRIVATE if mode is None else mode)
    is_left: bool | None = True
    size = 0
    try:
        for piece in (data,) if isinstance(data, bytes) else data:
            write_all(descriptor, piece)
            size += len(piece)
        if mode is None:
            _keep_owner_and_mode(draft, target)
        if durable:
            os.fsync(descriptor)
        if before_replace is not None:
            before_replace()
        if _IS_WINDOWS:
            descriptor = _close(descriptor)
        is_left = put(draft, target)
        if durable:
            sync_folder(os.path.dirname(target))
        return size
    finally:
        # Elsewhere the draft is open, and so held, until it has its name or is gone: nobody takes it for abandoned.
        if _IS_WINDOWS:
            descriptor = _close(descriptor)
        if is_left:
            _remove(draft)
        _close(descriptor)


def _keep_owner_and_mode(draft: str, target: str) -> None:
    try:
        before = os.stat(target)
    except FileNotFoundError:
        return
    if not _IS_WINDOWS:
        _give_to_owner(draft, before)
    os.chmod(draft, stat.S_IMODE(before.st_mode))


def _give_to_owner(draft: str, before: os.stat_result) -> None:
    now = os.stat(draft)
    if (before.st_uid, before.st_gid) == (now.st_uid, now.st_gid):
        return
    try:
        os.chown(draft, before.st_uid, before.st_gid)
    except PermissionError:
        return  # only the superuser can give a file away; whoever may replace this one may own it


def _replace(source: str, target: str) -> None:
    for wait_s in _WAITS_S:
        try:
            os.replace(source, target)
        except PermissionError:
            time.sleep(wait_s)
        else:
            return
    os.replace(source, target)


def _take_name(draft: str, target: str) -> bool:
    """Give `draft` its final name as well. Raises FileExistsError if something has that name."""
    if _IS_WINDOWS:
        os.rename(draft, target)  # refuses an existing target there, unlike elsewhere
        return False
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _copy_to_new(draft, target)
    return True


def _copy_to_new(draft: str, target: str) -> None:
    """Write a draft's content to a new file: for file systems without hard links (FAT, some network mounts).

    There is still one winner, but whoever reads in the meantime finds a part of the file.
    """
    with open(draft, "rb") as file:
        data = file.read()
    descriptor = os.open(target, _NEW, PRIVATE)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    except BaseException:
        _remove(target)
        raise
    finally:
        os.close(descriptor)


def _open_draft(target: str, mode: int) -> tuple[str, int]:
    """Return the path of a new draft, and a descriptor that holds it."""
    folder, name = os.path.split(target)
    begins = os.path.join(folder, f".{name[:_NAME_CHARS]}")
    path = f"{begins}{DRAFT_SUFFIX}"
    _remove_abandoned(path)
    while True:
        try:
            descriptor = os.open(path, _NEW, mode)
        except FileExistsError:
            path = f"{begins}.{os.urandom(4).hex()}{DRAFT_SUFFIX}"
            continue
        if _hold(descriptor):
            return path, descriptor
        os.close(descriptor)


def _hold(descriptor: int) -> bool:
    """Lock a new draft until it is closed; return False if another writer took it for abandoned before that."""
    if _IS_WINDOWS:
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks on this file system: then nobody can find out that a draft is abandoned
    return os.fstat(descriptor).st_nlink > 0


def _remove_abandoned(path: str) -> None:
    """Remove a draft whose writer is gone."""
    try:
        if _IS_WINDOWS:
            os.unlink(path)  # fails while its writer has it open
            return
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), os.lstat(path)):
            os.unlink(path)
    except OSError:
        return  # somebody is writing it, or has just given it its name
    finally:
        os.close(descriptor)


def _close(descriptor: int) -> int:
    if descriptor >= 0:
        os.close(descriptor)
    return -1


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return
