"""Rewrites of a module that keep its meaning, and the pipelines they are named in."""

from headrace.ir.passes.pipeline import PASSES, Pass, Step, parse_pipeline, run_pipeline

__all__ = ["PASSES", "Pass", "Step", "parse_pipeline", "run_pipeline"]
