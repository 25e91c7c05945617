"""What the site shows otherwise than the repository does: MkDocs calls these hooks (``make site``).

The site also has the pages that lie beside the code, such as a model's card. Links between pages
are written for the repository; those that cross the border of docs/ lead elsewhere on the site.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
DOCS = "docs"
# Files outside docs/ that the site has under their own paths; pages among them are in mkdocs.yml.
OUTSIDE = (
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "models/bundles/en/MODEL_CARD.md",
    "models/bundles/en_pipeline/MODEL_CARD.md",
    "models/updates/en-large/MODEL_CARD.md",
    "web/vscode/README.md",
)
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()([^)\s:#]+)(?=[)\s#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that lie outside docs/."""
    for path in OUTSIDE:
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links that cross the border of docs/."""
    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: moved(link[1], page.file.src_uri), p) for p in parts[::2]]
    return "".join(parts)


def moved(link: str, page: str) -> str:
    """Return a page's relative link, written for the repository, as it is on the site.

    >>> moved("../CITATION.cff", "evaluation.md")
    'CITATION.cff'
    >>> moved("../../../docs/images/reliability.svg", "models/bundles/en/MODEL_CARD.md")
    '../../../images/reliability.svg'
    """
    here = posixpath.dirname(page if page in OUTSIDE else f"{DOCS}/{page}")
    target = posixpath.normpath(posixpath.join(here, link)).removeprefix(f"{DOCS}/")
    return posixpath.relpath(target, posixpath.dirname(page) or ".")
