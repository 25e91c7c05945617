"""``gec lsp``: corrections in an editor, through the Language Server Protocol."""
