"""`memory.shared_folder`: two or more machines of one person see each other's sessions through a folder."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import SourceUnavailable
from recollect.memory.facets import HomeFacet
from recollect.sharing.batch_folder import FolderKeys
from recollect.sharing.sync_folder import FolderReport, FolderSync

if TYPE_CHECKING:
    pass


class SharedFolderFacet(HomeFacet):
    """Syncs one home with folders. Raises what `FolderSync` does."""

    def sync(
        self, folder: Path, passphrase: Callable[[bool], str], *, name: str = "", is_remembered: bool | None = None,
        is_dry_run: bool = False, progress: Callable[[str, int, int], None] | None = None,
    ) -> FolderReport:  # fmt: skip
        """Take what other machines put into a folder, and add what this one has.

        passphrase: asked at most once, and only where no key is remembered; it is told whether the folder is new. name:
        what this machine is called, by default its host name. is_remembered: keep the keys, and have the daemon sync
        with the folder; or neither; None: as it is. is_dry_run: only say what would be done; nothing is written.
        """
        if not folder.is_dir():
            raise SourceUnavailable(f"{folder} is no folder", hint="name the folder that your machines share")
        called = " ".join((name or platform.node() or "machine").split())[:100]
        one = FolderSync(self._home, folder, called, lambda remembered: FolderKeys(passphrase, remembered))
        if is_dry_run:
            return one.look()
        return one.run(is_remembered=is_remembered, progress=progress or _untold)


def _untold(_doing: str, _done: int, _total: int) -> None:
    """Nobody asked how far it is."""
