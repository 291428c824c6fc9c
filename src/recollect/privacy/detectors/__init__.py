"""The kinds of secrets, most specific first: where two match, the earlier names the secret."""

from __future__ import annotations

from typing import Final

from recollect.privacy.assignments import ASSIGNED
from recollect.privacy.detector import Detector
from recollect.privacy.detectors import addresses, clouds, commands, keys, model_providers, services
from recollect.privacy.detectors.addresses import ADDRESSES
from recollect.privacy.detectors.clouds import CLOUDS
from recollect.privacy.detectors.commands import COMMANDS
from recollect.privacy.detectors.keys import HASHES, JWT, KEYS
from recollect.privacy.detectors.model_providers import MODELS
from recollect.privacy.detectors.services import SERVICES, VENDORS
from recollect.privacy.password_sentences import SENTENCES

_MODULES = (addresses, clouds, commands, keys, model_providers, services)
DETECTOR_VERSION: Final = 9 + sum(module.REVISION for module in _MODULES)
"""Changes whenever what is found may: derived data of an older version is re-derived. A new kind of secret raises its
module's revision; a change of what all kinds share (how values are judged, how texts are searched) raises the 9."""

DEFAULT: Final[tuple[Detector, ...]] = (
    *KEYS, *CLOUDS, *MODELS, *SERVICES, JWT, *VENDORS, *HASHES, *ADDRESSES, *COMMANDS, *ASSIGNED,
    *SENTENCES,
)  # fmt: skip

__all__ = ["DEFAULT", "DETECTOR_VERSION"]
