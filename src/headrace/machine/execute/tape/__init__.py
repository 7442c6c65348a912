"""Runs of one image on one memory, written down once and played from then on."""

from headrace.machine.execute.tape.tapes import played, recorded, took

__all__ = ["played", "recorded", "took"]
