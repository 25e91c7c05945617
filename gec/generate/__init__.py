"""Text in; translations, summaries and simplifications out."""
