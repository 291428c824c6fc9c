"""The kinds of secrets, most specific first: where two claim the same text, the earlier one names it."""

from __future__ import annotations

from typing import Final

from recollect.privacy.assignments import ASSIGNED
from recollect.privacy.detectors.addresses import ADDRESSES
from recollect.privacy.detectors.clouds import CLOUDS
from recollect.privacy.detectors.commands import COMMANDS
from recollect.privacy.detectors.keys import HASHES, JWT, KEYS
from recollect.privacy.detectors.models import MODELS
from recollect.privacy.detectors.services import SERVICES
from recollect.privacy.detectors.vendors import VENDORS
from recollect.privacy.sentences import SENTENCES
from recollect.privacy.shapes import Detector

DETECTOR_VERSION: Final = 4
"""Raised whenever a change here can alter what is found: derived data of an older version is re-derived."""

DEFAULT: Final[tuple[Detector, ...]] = (
    *KEYS, *CLOUDS, *MODELS, *SERVICES, JWT, *VENDORS, *HASHES, *ADDRESSES, *COMMANDS, *ASSIGNED,
    *SENTENCES,
)  # fmt: skip

__all__ = ["DEFAULT", "DETECTOR_VERSION"]
