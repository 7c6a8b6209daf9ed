"""All generated pages of the site."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.tools.documentation.commands import COMMANDS, command_page, commands_page
from tests.tools.documentation.reference import checks_page, python_page
from tests.tools.documentation.repository import DOCUMENTS, document_page

# Functions that return the Markdown of each page, by path on the site.
PAGES: dict[str, Callable[[], str]] = {
    **{path: partial(document_page, name) for name, path in DOCUMENTS.items()},
    "reference/commands/index.md": commands_page,
    **{f"reference/commands/{name}.md": partial(command_page, name) for name in COMMANDS},
    "reference/python.md": python_page,
    "reference/checks.md": checks_page,
}
