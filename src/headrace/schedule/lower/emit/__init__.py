"""DFIR construction: ops and attributes, values of a program, transfers as composite ops."""
