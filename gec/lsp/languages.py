"""How the prose of an open document is found, by the editor's name of its language and its file.

Editors name languages differently: the specification lists some identifiers, and Vim's file types
are others.
"""

from __future__ import annotations

from pathlib import PurePath

from gec.documents import kinds
from gec.documents.prose import prose_kind

PLAIN = "plain"
_DATA = frozenset({"jsonl", "csv", "tsv", "parquet"})
_LANGUAGES = {
    # Kate calls a document's language as its settings call the server
    **dict.fromkeys(("plaintext", "text", "txt", "mail", "email", "gec"), PLAIN),
    **dict.fromkeys(
        ("markdown", "md", "gfm", "mdx", "quarto", "rmd", "pandoc", "vimwiki"), "markdown"
    ),
    **dict.fromkeys(("restructuredtext", "rst", "rest"), "rst"),
    **dict.fromkeys(("html", "xhtml", "htm", "mhtml"), "html"),
    **dict.fromkeys(("latex", "tex", "plaintex", "bibtex-text", "latex-expl3"), "latex"),
    **dict.fromkeys(
        ("gitcommit", "git-commit", "git commit", "hgcommit", "jjdescription", "jj-commit"),
        "commit",
    ),
}
_LEXERS = {
    "javascriptreact": "jsx", "typescriptreact": "tsx", "shellscript": "bash", "cs": "csharp",
    "objective-c": "objectivec", "objective-cpp": "objectivec++", "viml": "vim",
}  # fmt: skip
"""Names of languages that Pygments calls by others."""


def kind_of(language: str, name: str) -> tuple[str, str] | None:
    """Return how a document's prose is found, and the file's name that its parser shall see.

    The kind is a key of :data:`gec.documents.markup.PARSERS`. None: the document has no prose that
    we know of.

    >>> kind_of("markdown", "Untitled-1"), kind_of("", "a/notes.md")
    (('markdown', 'Untitled-1'), ('markdown', 'a/notes.md'))
    >>> kind_of("python", "Untitled-1")
    ('code', 'Untitled-1.py')
    >>> kind_of("json", "a.json") is None
    True
    """
    if kinds.kind_of(name) in _DATA:
        return None
    language = language.lower().partition(".")[0]  # Vim's file types may be several
    by_name = prose_kind(name)
    kind = _LANGUAGES.get(language)
    if kind == PLAIN or (kind is None and not language):
        # "plain text" is also what editors call files that they do not know
        return by_name, name
    if kind is not None:
        return kind, name
    if by_name not in (PLAIN, "code"):
        return by_name, name
    seen = name if by_name == "code" else _with_suffix(_LEXERS.get(language, language), name)
    return None if seen is None else ("code", seen)


def _with_suffix(language: str, name: str) -> str | None:
    """Return a name by which Pygments knows the language; None if it knows none with comments."""
    from pygments.lexers import find_lexer_class_by_name  # type: ignore[import-untyped]
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]

    if language in _NO_COMMENTS:
        return None
    try:
        patterns = find_lexer_class_by_name(language).filenames
    except ClassNotFound:
        return None
    suffixes = [p[1:] for p in patterns if p.startswith("*.") and "[" not in p]
    return f"{PurePath(name).name}{suffixes[0]}" if suffixes else None


_NO_COMMENTS = frozenset("json jsonl csv tsv diff gitrebase log output hex binary".split())
