"""Tells folders whose changes the system may not tell of: file systems that others change too, over a network."""

from __future__ import annotations

import os
import re
import sys

MOUNTS = "/proc/self/mountinfo"
_REMOTE = frozenset(
    """
    nfs nfs4 cifs smb3 smbfs afs ceph 9p virtiofs vboxsf prl_fs vmhgfs drvfs fakeowner ncpfs lustre gfs2 ocfs2 beegfs
    gpfs davfs acfs
    """.split()
)
_REMOTE_FUSE = re.compile(
    r"fuse\.(sshfs|rclone|s3fs|glusterfs|vmhgfs-fuse|grpcfuse|osxfs|gcsfuse|davfs|cephfs|juicefs).*"
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


class FileSystems:
    """The mounted file systems, as they are when this is made. Where the system doesn't say, all count as local."""

    def __init__(self, mounts: str = MOUNTS) -> None:
        """mounts: a file in the form of Linux's `/proc/self/mountinfo`."""
        self._kinds: dict[str, str] = {}
        try:
            with open(mounts, encoding="utf-8", errors="surrogateescape") as lines:
                for line in lines:
                    mounted, _, source = line.partition(" - ")
                    fields = mounted.split(" ")
                    if len(fields) > 4 and source:
                        place = _ESCAPED.sub(lambda octal: chr(int(octal[1], 8)), fields[4])
                        self._kinds[place] = source.split(" ")[0]  # the last one mounted there is what is seen
        except OSError:
            pass  # another system, or one that hides it: notifications are tried

    def is_remote(self, path: str) -> bool:
        """Tell whether a path lies where others may change files without this system telling."""
        if sys.platform == "win32":
            return path.startswith(("\\\\", "//"))
        folder = os.path.realpath(path)
        while folder not in self._kinds:
            above = os.path.dirname(folder)
            if above == folder:
                return False
            folder = above
        kind = self._kinds[folder]
        return kind in _REMOTE or _REMOTE_FUSE.fullmatch(kind) is not None
