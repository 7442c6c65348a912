"""Executes images on arrays; see `run.execute`."""

from headrace.machine.execute.run import Result, execute

__all__ = ["Result", "execute"]
