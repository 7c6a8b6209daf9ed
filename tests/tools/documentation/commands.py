"""A page for every command, from the definitions that ``--help`` shows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from tests.tools.documentation.text import escaped, fenced, page, table
from urdf_usd.cli.main import main

_CONTEXT = click.Context(main, info_name="urdf-usd", help_option_names=["-h", "--help"])
COMMANDS = tuple(main.list_commands(_CONTEXT))


def commands_page() -> str:
    """Return the overview of all commands."""
    rows = (
        (f"[`{name}`]({name}.md)", escaped(_command(name).get_short_help_str(200)))
        for name in COMMANDS
    )
    return page(
        "# Commands",
        *_body(main, _CONTEXT),
        "## All commands",
        table(("command", ""), rows),
    )


def command_page(name: str) -> str:
    """Return the page of one command, and of its subcommands."""
    command = _command(name)
    return page(*_sections(command, click.Context(command, _CONTEXT, name), 1))


def _command(name: str) -> click.Command:
    command = main.get_command(_CONTEXT, name)
    assert command is not None
    return command


def _sections(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield f"{'#' * level} {context.command_path}"
    yield from _body(command, context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                inside = click.Context(inner, context, name)
                yield from _sections(inner, inside, level + 1)


def _body(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join((context.command_path, *command.collect_usage_pieces(context)))
    yield fenced("text", usage)
    yield from _paragraphs(command.help or "")
    options = (one for one in command.get_params(context) if isinstance(one, click.Option))
    records = filter(None, (one.get_help_record(context) for one in options))
    yield "\n\n".join(f"`{names}`\n:   {_text(text) or '&nbsp;'}" for names, text in records)
    yield from _paragraphs(command.epilog or "")


def _text(words: str) -> str:
    """Return help as Markdown, with commands and options as code."""
    parts = re.split(r"(`[^`]+`|(?<![\w-])--[a-z][a-z-]*)", " ".join(words.split()))
    return "".join(
        f"`{part.strip('`')}`" if index % 2 else escaped(part) for index, part in enumerate(parts)
    )


def _paragraphs(text: str) -> Iterator[str]:
    r"""Render help; paragraphs after ``\b`` keep their lines."""
    for paragraph in re.split(r"\n\s*\n", text.partition("\f")[0].strip()):
        if not paragraph.startswith("\b"):
            yield _text(paragraph)
            continue
        lines = paragraph.splitlines()[1:]
        if lines[0] == "Examples:":
            yield "**Examples**"
            yield fenced("sh", "\n".join(line.strip() for line in lines[1:]))
        else:
            yield fenced("text", "\n".join(lines))
