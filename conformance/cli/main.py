"""The command ``urdf-usd``."""

from __future__ import annotations

import os
from importlib import import_module

import click

from urdf_usd.conformance.cli.options.parameters import HelpfulGroup
from urdf_usd.conformance.cli.output.failures import EXIT_CODES, explained_failures
from urdf_usd.conformance.records.environment import DISTRIBUTION

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
    "run",
    "schema",
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
        module = import_module(f"urdf_usd.conformance.cli.commands.{cmd_name}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)  # noqa: S101  # a module of commands/
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand."""
        with explained_failures(debug=bool(ctx.params["debug"])):
            return super().invoke(ctx)


@click.group(
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog=f"The --help of each command shows examples. {EXIT_CODES}",
)
@click.version_option(
    None, "--version", package_name=DISTRIBUTION, prog_name="urdf-usd"
)
@click.option("--debug", is_flag=True, help="Show the traceback of failures.")
def main(*, debug: bool) -> None:
    """Convert URDF robots to OpenUSD and prove the result."""
    del debug  # read by the group
