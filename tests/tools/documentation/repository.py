"""Documents of the repository as pages of the site, and what pages load.

The pages of ``docs/`` are those of the site. Files outside of it, to which they link,
have a page with another name, and links are changed accordingly.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from tests.tools.documentation.text import fenced, page

ROOT = Path(__file__).parents[3]
DOCS = "docs"
# Pages of documents outside of docs/.
DOCUMENTS = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.md",
}
# Pages of other files and folders.
_TARGETS = {
    **DOCUMENTS,
    "urdf_usd/__init__.py": "reference/python.md",
}
_LINK = re.compile(r"(\]\()([^)\s:#]+)(#[^)\s]*)?(\))")
_CODE = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def document_page(name: str) -> str:
    """Return the page of a document outside of ``docs/``."""
    text = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".md"):
        return page(f"# {name.capitalize()}", fenced("text", text))
    return with_site_links(text, name)


def with_site_links(text: str, name: str) -> str:
    """Change the links of a document to the pages of their targets.

    Args:
        text: Markdown.
        name: Path of the document in the repository.
    """
    folder = posixpath.dirname(name)
    above = posixpath.dirname(_page_of(name))

    def changed(found: re.Match[str]) -> str:
        target = _page_of(posixpath.normpath(posixpath.join(folder, found[2])))
        address = posixpath.relpath(target, above or ".")
        return f"{found[1]}{address}{found[3] or ''}{found[4]}"

    parts = _CODE.split(text)
    return "".join(
        part if index % 2 else _LINK.sub(changed, part) for index, part in enumerate(parts)
    )


def _page_of(name: str) -> str:
    """Return the path on the site of a file or folder of the repository."""
    if name in _TARGETS:
        return _TARGETS[name]
    return posixpath.relpath(name, DOCS)


_LOADS = (
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'>\s]*""",
    r"""<link\b(?![^>]*rel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//[^"'>\s]*""",
    r"""(?:\burl\(|@import\s)\s*["']?(?:https?:)?//[^"')\s]*""",
)


def foreign_loads(text: str) -> tuple[str, ...]:
    """List what a page or a style sheet would load from another server."""
    return tuple(found[0] for pattern in _LOADS for found in re.finditer(pattern, text))
