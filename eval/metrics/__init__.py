"""Scorers: numbers equal to the reference tools'."""
