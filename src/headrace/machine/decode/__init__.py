"""DFIR modules to images; see `module.decode`."""

from headrace.machine.decode.module import decode

__all__ = ["decode"]
