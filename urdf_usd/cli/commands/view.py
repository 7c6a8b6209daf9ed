"""``urdf-usd view``: show a robot in 3D in the browser."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.conversion import (
    ConversionChoices,
    conversion_options,
)
from urdf_usd.cli.options.execution import memory_option, timeout_option
from urdf_usd.cli.options.parameters import (
    HelpfulCommand,
    existing_robot,
    usd_variant_option,
    xacro_arguments,
)
from urdf_usd.cli.output.console import say, show_diagnostics
from urdf_usd.cli.output.failures import (
    CommandError,
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.cli.output.files import (
    PAGE,
    require_outputs,
    write_output,
)
from urdf_usd.cli.output.status import shown_status
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.conformance.execution.run import CheckOptions
    from urdf_usd.converter.options import VariantChoice
    from urdf_usd.corpus import RobotSource


@click.command(
    "view",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd view robot.urdf",
        "urdf-usd view robot.urdf robot.usd",
        "urdf-usd view pybullet:r2d2.urdf --html r2d2.html",
    ),
)
@click.argument("source")
@click.argument("usd", required=False, type=click.Path(path_type=Path, exists=True))
@conversion_options
@usd_variant_option
@click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the page here, and open no browser.",
)
@timeout_option
@memory_option
def view_command(
    *,
    source: str,
    usd: Path | None,
    choices: ConversionChoices,
    variants: tuple[VariantChoice, ...],
    html_file: Path | None,
    timeout: float,
    memory: int,
) -> None:
    """Show the robot SOURCE and its USD in 3D, in the browser.

    USD is the root layer of an asset from any converter. Without it, SOURCE is
    converted into a temporary folder. The path of the page is printed.
    """
    robot = existing_robot(source)
    given = xacro_arguments(robot, choices.arguments)
    require_outputs([(html_file, PAGE)], (robot.path, usd, choices.description))
    warn_of_address_limit()
    with shown_status("Loading OpenUSD ...") as status:
        with held_interrupts():
            from urdf_usd.conformance.execution.run import CheckOptions
            from urdf_usd.conformance.verdict.judged import REFERENCE
            from urdf_usd.converter.robot.body_options import BaseOption

        options = CheckOptions(
            base=BaseOption(choices.base),
            packages=tuple(
                (name, str(path)) for name, path in (*robot.packages, *choices.packages)
            ),
            arguments=given,
            environment=choices.environment,
            # The page shows what these two read.
            engines=(REFERENCE,),
            limits=Limits(timeout, memory or None),
            variants=variants,
        )
        status.show("Reading the robot ...")
        page = _page(robot, usd, choices, options)
    if html_file is not None:
        write_output(html_file, page.encode())
        click.echo(html_file)
        return
    with tempfile.NamedTemporaryFile(
        "w", prefix="urdf-usd-view-", suffix=".html", delete=False, encoding="utf-8"
    ) as file:
        file.write(page)
    click.echo(file.name)
    if not webbrowser.open(Path(file.name).as_uri()):
        say("no browser was found; open the file, or use --html FILE")


def _page(
    robot: RobotSource,
    usd: Path | None,
    choices: ConversionChoices,
    options: CheckOptions,
) -> str:
    """Compare, draw, and return the page.

    Raises:
        CommandError: Nothing can be drawn.
    """
    from msgspec import structs

    from urdf_usd.conformance.execution.run import check
    from urdf_usd.converter.conversion import convert
    from urdf_usd.converter.scratch import temporary_folder
    from urdf_usd.reports.html.site import render_view

    with temporary_folder() as folder:
        if usd is None:
            conversion = structs.replace(
                choices.options(),
                packages=options.packages,
                arguments=options.arguments,
            )
            done = convert(robot.path, folder / "asset", conversion)
            show_diagnostics(done.diagnostics)
            usd = done.root_layer
        scene = folder / "scene.gz"
        record = check(
            robot.path,
            usd,
            options,
            name=robot.id,
            reference=robot.reference,
            scene=scene,
        )
        if not scene.exists():
            raise CommandError(f"nothing can be drawn: {record.reason}")
        return render_view(record, scene.read_bytes())
