"""Finds secrets and replaces them with markers, so that nothing leaves the sealed archive unredacted."""

from recollect.privacy.detector import Detector
from recollect.privacy.detectors import DEFAULT, DETECTOR_VERSION
from recollect.privacy.findings import Finding
from recollect.privacy.redact import Redactor

__all__ = ["DEFAULT", "DETECTOR_VERSION", "Detector", "Finding", "Redactor"]
