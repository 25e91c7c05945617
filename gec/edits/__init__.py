"""Edits: aligned, placed in the text, classified, explained."""
