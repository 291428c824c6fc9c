"""Which repository a folder belongs to, as the store is asked for it."""

from __future__ import annotations

import os
from collections.abc import Mapping

from recollect.ready import work_folder
from recollect.store.recent import Folder


def folder_of(cwd: str, env: Mapping[str, str]) -> Folder | None:
    """Return the repository that a folder is in, else the folder itself; None where it names nothing.

    The rule is `recollect.ready.work_folder`.
    """
    found = work_folder(cwd, env)
    if found is None:
        return None
    path, is_repository = found
    name = os.path.basename(path)
    return Folder(path, (name,) if name else (), is_repository)
