"""The prose of documents: markup, code, essays."""
