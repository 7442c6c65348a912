"""Checks programs while they run; see `sanitize.sanitize`."""

from headrace.machine.check.findings import Finding, by_category
from headrace.machine.check.sanitize import sanitize

__all__ = ["Finding", "by_category", "sanitize"]
