"""Addresses of files as editors write them."""

from __future__ import annotations

import re
from urllib.parse import unquote

_SCHEME = "file://"
_DRIVE = re.compile(r"/[A-Za-z]:")


def path_of_address(address: str) -> str:
    """Return the path of a `file://` address (`file:///c%3A/x` is `c:/x`); anything else as it is written."""
    if not address.startswith(_SCHEME):
        return address
    path = unquote(address.removeprefix(_SCHEME))
    return path[1:] if _DRIVE.match(path) else path
