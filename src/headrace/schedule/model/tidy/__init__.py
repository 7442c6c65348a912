"""Passes over finished statements: sharing, dead code, contractions, dim names, tiles to cores."""
