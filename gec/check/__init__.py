"""Checks of a project: its settings, the findings, and which of them are known."""
