"""Corrections in the formats of other tools."""
