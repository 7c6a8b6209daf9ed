"""The command ``urdf-usd``."""

from __future__ import annotations

import click

from conformance.commands.check import check_command
from conformance.commands.convert import convert_command
from conformance.commands.doctor import doctor_command
from conformance.commands.expand import expand_command
from conformance.commands.export import export_command
from conformance.commands.failures import EXIT_CODES, explained_failures
from conformance.commands.inspect import inspect_command
from conformance.commands.lint import lint_command
from conformance.commands.run import run_command
from conformance.environment import DISTRIBUTION


class _Program(click.Group):
    """The group of all commands; it explains every failure."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the subcommand."""
        with explained_failures(debug=bool(ctx.params["debug"])):
            return super().invoke(ctx)


@click.group(
    cls=_Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
    epilog=f"Each command's --help shows examples. {EXIT_CODES}",
)
@click.version_option(
    None, "--version", package_name=DISTRIBUTION, prog_name="urdf-usd"
)
@click.option("--debug", is_flag=True, help="Show the traceback of every failure.")
def main(*, debug: bool) -> None:
    """Convert URDF robots to OpenUSD and prove the result."""
    del debug  # read by the group


_COMMANDS = (
    convert_command,
    check_command,
    run_command,
    export_command,
    inspect_command,
    lint_command,
    expand_command,
    doctor_command,
)
for _command in _COMMANDS:
    main.add_command(_command)
