"""Text in; corrected text, edits and traces out."""
