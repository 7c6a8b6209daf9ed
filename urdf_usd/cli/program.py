"""The command ``urdf-usd``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from urdf_usd.cli.commands import COMMANDS
from urdf_usd.cli.parameters import read_defaults
from urdf_usd.cli.terminal import EXIT_CODES, explained_failures
from urdf_usd.installation import DISTRIBUTION


class _Program(click.Group):
    """The group of all commands; it turns exceptions into messages and exit codes."""

    def invoke(self, ctx: click.Context) -> object:
        # Without it, importing numpy starts a thread per processor, which nothing uses.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        with explained_failures(debug=bool(ctx.params["debug"])):
            if not ctx.params["isolated"]:
                ctx.default_map = read_defaults(ctx.params["config"], self.commands)
            return super().invoke(ctx)


@click.group(
    cls=_Program,
    commands=dict(sorted(COMMANDS.items())),
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


start = main
