"""Where two levels of a kernel part: the first element that differs, the first statement whose values do."""

from headrace.runtime.divergence.first import Divergence, Writer, first_divergence

__all__ = ["Divergence", "Writer", "first_divergence"]
