"""Adds generated pages to the site; a hook of MkDocs, see ``mkdocs.yml``."""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from tests.tools.documentation.pages import PAGES, foreign_loads, with_site_links


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, make in PAGES.items():
        files.append(File.generated(config, path, content=make()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Change links from ``docs/`` to files of the repository outside of it."""
    del config, files
    is_document = page.file.generated_by is None
    return with_site_links(markdown, f"docs/{page.file.src_uri}") if is_document else markdown


def on_post_build(config: MkDocsConfig) -> None:
    """Refuse a site whose pages or style sheets load a file from another server."""
    site = Path(config.site_dir)
    found = [
        f"{file.relative_to(site)}: {load}"
        for file in sorted((*site.rglob("*.html"), *site.rglob("*.css")))
        for load in foreign_loads(file.read_text(encoding="utf-8"))
    ]
    if found:
        raise PluginError("loaded from another server:\n" + "\n".join(found))
