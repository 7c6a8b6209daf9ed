"""The command ``urdf-usd``."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from urdf_usd.cli.options.defaults import (
    find_defaults,
    read_defaults,
    require_commands,
    values_of,
)
from urdf_usd.cli.options.parameters import HelpfulGroup
from urdf_usd.cli.output.failures import EXIT_CODES, explained_failures
from urdf_usd.reports.records.environment import DISTRIBUTION

# Names of modules in commands/. Each imports only what its options need until it is
# called with valid arguments.
_COMMANDS = (
    "check",
    "convert",
    "corpus",
    "diff",
    "doctor",
    "expand",
    "export",
    "init",
    "inspect",
    "joints",
    "lint",
    "reduce",
    "run",
    "schema",
    "view",
)


class _Program(HelpfulGroup):
    """The group of all commands; it turns exceptions into messages and exit codes."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in _COMMANDS:
            return None
        # Without it, importing numpy starts a thread per processor, which nothing uses.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        module = import_module(f"urdf_usd.cli.commands.{cmd_name}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)  # noqa: S101  # a module of commands/
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand."""
        with explained_failures(debug=bool(ctx.params["debug"])):
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command, and its default values."""
        name, command, rest = super().resolve_command(ctx, args)
        if name and command and not ctx.resilient_parsing:
            ctx.default_map = _default_map(ctx, name, command)
        return name, command, rest


def _default_map(ctx: click.Context, name: str, command: click.Command) -> dict[str, Any] | None:
    if ctx.params["isolated"]:
        return None
    file = ctx.params["config"]
    defaults = read_defaults(file) if file else find_defaults(Path.cwd())
    if defaults is None:
        return None
    require_commands(defaults, list(_COMMANDS))
    return {name: values_of(defaults, name, command)}


@click.group(
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog=f"The --help of each command shows examples. {EXIT_CODES}",
)
@click.version_option(None, "--version", package_name=DISTRIBUTION, prog_name="urdf-usd")
@click.option("--debug", is_flag=True, help="Show the traceback of failures.")
@click.option(
    "--config",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Default values of options.  [default: urdf-usd.toml, or tool.urdf-usd of "
    "pyproject.toml, in this folder or above it in the repository]",
)
@click.option("--isolated", is_flag=True, help="Read no default values from files.")
def main(*, debug: bool, config: Path | None, isolated: bool) -> None:
    """Convert URDF robots to OpenUSD and prove the result."""
    del debug, config, isolated  # read by the group
