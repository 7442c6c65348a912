"""KTIR becomes a TileGraph: tile ids folded, views composed, loops dissolved, contractions recognised."""

from headrace.schedule.model.module import model
from headrace.schedule.model.text import graph_text

__all__ = ["graph_text", "model"]
