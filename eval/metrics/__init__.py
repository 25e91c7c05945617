"""Scorers: numbers equal to the reference tools', and how far they can be trusted."""
