"""Engines: how networks are run, on every processor and library."""
