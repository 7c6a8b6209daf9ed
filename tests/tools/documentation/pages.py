"""Generated pages of the site, and links of documents as they are on it.

The pages of ``docs/`` are those of the site. Files outside of it, to which they link, have a page
with another name, and links are changed accordingly.
"""

from __future__ import annotations

import inspect
import posixpath
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

import click

import urdf_usd
from tests.tools.corpora import table
from urdf_usd.cli.program import main
from urdf_usd.conformance.checks.catalogue import CHECKS, ROUND_TRIP_CHECKS, SIMULATION_CHECKS

ROOT = Path(__file__).parents[3]
_CONTEXT = click.Context(main, info_name="urdf-usd", terminal_width=100, **main.context_settings)
_UNITS = {"": "equality", "1": "ratio"}
# Pages of documents outside of docs/.
_NAMES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE")
_DOCUMENTS = {name: f"{Path(name).stem.lower()}.md" for name in _NAMES} | {"README.md": "index.md"}
_TARGETS = {**_DOCUMENTS, "urdf_usd/__init__.py": "reference/python.md"}
_LOADS = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'>\s]*"""
    r"""|<link\b(?![^>]*rel=["']?canonical)[^>]*\bhref=["']?(?:https?:)?//[^"'>\s]*"""
    r"""|(?:\burl\(|@import\s)\s*["']?(?:https?:)?//[^"')\s]*"""
)


def foreign_loads(text: str) -> list[str]:
    """List what a page or a style sheet would load from another server."""
    return _LOADS.findall(text)


def with_site_links(text: str, name: str) -> str:
    """Change the links of a document, named by its path, to the pages of their targets."""
    folder, above = posixpath.dirname(name), posixpath.dirname(_page_of(name))

    def changed(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0]
        target = _page_of(posixpath.normpath(posixpath.join(folder, found[1])))
        return f"]({posixpath.relpath(target, above or '.')}{found[2] or ''})"

    # Not in code.
    code = r"^ *```.*?^ *```$|`[^`\n]+`"
    link = r"\]\(([^)\s:#]+)(#[^)\s]*)?\)"
    return re.sub(f"{code}|{link}", changed, text, flags=re.MULTILINE | re.DOTALL)


def _page_of(name: str) -> str:
    return _TARGETS.get(name) or posixpath.relpath(name, "docs")


def _document(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    if not name.endswith(".md"):
        return f"# {name.capitalize()}\n\n```text\n{text.strip(chr(10))}\n```\n"
    return with_site_links(text, name)


def _escaped(text: str) -> str:
    """Return plain text as Markdown that shows the same."""
    return re.sub(r"([\\`*_<>\[\]|#~])", r"\\\1", re.sub(r"\s+", " ", text))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield the blocks of the page of a command: its help, and that of its subcommands."""
    yield f"# {context.command_path if context.parent else 'Commands'}"
    yield f"```text\n{command.get_help(context)}\n```"
    if command is main:
        rows = [
            (f"[`{name}`]({name}.md)", _escaped(inner.get_short_help_str(200)))
            for name, inner, _ in _subcommands(main, context)
        ]
        yield "\n".join(("## All commands\n", *table(("command", ""), rows)))
    elif isinstance(command, click.Group):
        for name, inner, inside in _subcommands(command, context):
            yield f"## {name}"
            yield f"```text\n{inner.get_help(inside)}\n```"


def _subcommands(
    group: click.Group, context: click.Context
) -> Iterator[tuple[str, click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield name, command, click.Context(command, context, name)


def _python() -> Iterator[str]:
    """Yield the blocks of the page of all public names; mkdocstrings fills it."""
    yield (
        "# Python\n\nAll public names are in the module `urdf_usd`. Each is imported at its first "
        "use: reading a URDF imports neither OpenUSD nor an engine."
    )
    for title, is_class in (("## Functions", False), ("## Classes", True)):
        yield title
        for name in urdf_usd.__all__:
            if inspect.isclass(getattr(urdf_usd, name)) is is_class:
                yield f"::: urdf_usd.{name}"


def _checks() -> Iterator[str]:
    """Yield the blocks of the page of all checks."""
    yield (
        "# Checks\n\nQuantities that are compared, with the identifiers that records, baselines "
        "and reports use. Identifiers are stable and never get another meaning. The unit is that "
        "of differences."
    )
    for group, own in groupby((*CHECKS, *SIMULATION_CHECKS), lambda check: check.group):
        yield f"## {group}"
        yield "\n\n".join(
            f"`{check.id}`\n:   *{_escaped(check.title)}*, "
            f"{_UNITS.get(check.unit, check.unit)}: {_escaped(check.clause)}"
            for check in own
        )
    yield (
        "## round-trip\n\nThe USD is exported to URDF again, and the same engine reads both URDFs, "
        "so that its own deviations cancel. The same quantities are compared:"
    )
    rows = [(f"`{check.id}`", f"`{check.direct}`") for check in ROUND_TRIP_CHECKS]
    yield "\n".join(table(("check", "repeats"), rows))


def _page(blocks: Callable[[], Iterator[str]]) -> str:
    return "\n\n".join(filter(None, blocks())) + "\n"


# Functions that return the Markdown of each page, by path on the site.
PAGES: dict[str, Callable[[], str]] = {
    **{path: partial(_document, name) for name, path in _DOCUMENTS.items()},
    "reference/commands/index.md": partial(_page, partial(_command, main, _CONTEXT)),
    **{
        f"reference/commands/{name}.md": partial(_page, partial(_command, command, context))
        for name, command, context in _subcommands(main, _CONTEXT)
    },
    "reference/python.md": partial(_page, _python),
    "reference/checks.md": partial(_page, _checks),
}
