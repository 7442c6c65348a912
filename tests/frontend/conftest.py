"""Fixtures of the PyTorch room."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headrace.frontend import session


@pytest.fixture(autouse=True)
def restore_fallback_mode() -> Iterator[None]:
    """Every test starts and ends with the default mode and without remembered warnings."""
    before = session.set_fallback("warn")
    session._warned.clear()
    yield
    session.set_fallback(before)
