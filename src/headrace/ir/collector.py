"""Pauses the cyclic garbage collector while modules are made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Parsing and compiling make many objects and little garbage; the cyclic collector only costs time
    (10-30 %, more the more modules a process holds).

    What was made meanwhile counts as old afterwards, so that the next collection of young objects does not
    walk through all of it; what a process has frozen itself stays as it is.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if was_on:
            gc.enable()
