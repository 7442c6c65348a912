"""Why a loop is not dissolved."""

from __future__ import annotations


class Stays(Exception):
    """The loop cannot be dissolved."""
