"""``urdf-usd joints``: show in which order engines number the joints of a robot."""

from __future__ import annotations

from pathlib import Path

import click

from urdf_usd.cli.options.execution import memory_option, timeout_option
from urdf_usd.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    engine_option,
    env_option,
    existing_robot,
    package_option,
    require_engines,
    xacro_arguments,
)
from urdf_usd.cli.output.console import long_stdout
from urdf_usd.cli.output.failures import held_interrupts
from urdf_usd.cli.output.files import (
    ARRAYS,
    require_outputs,
    write_output,
)
from urdf_usd.cli.output.status import shown_status
from urdf_usd.conformance.execution.workers.limits import Limits


@click.command(
    "joints",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd joints robot.urdf",
        "urdf-usd joints robot.urdf robot.usda --format json",
        "urdf-usd joints pybullet:laikago/laikago.urdf --numpy maps.npz",
    ),
)
@click.argument("robot")
@click.argument("usd", required=False, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@engine_option
@package_option
@argument_option
@env_option
@timeout_option
@memory_option
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A table, or all orders and index maps.",
)
@click.option(
    "--numpy",
    "numpy_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the index maps here, as arrays of an .npz file.",
)
def joints_command(
    *,
    robot: str,
    usd: Path | None,
    engines: tuple[str, ...],
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
    timeout: float,
    memory: int,
    output_format: str,
    numpy_file: Path | None,
) -> None:
    """Show in which order engines number the joints of ROBOT.

    ROBOT is a URDF or xacro file, or a reference such as rd:panda_description. USD is
    an asset of it; without one, ROBOT is converted in a temporary folder. The engine
    reference has the order of the URDF.

    An index map a_to_b has one entry per joint of engine b, such that
    q_b = q_a[a_to_b]; -1 stands for a joint that a lacks. Joints with several degrees
    of freedom are one entry.
    """
    source = existing_robot(robot)
    given = xacro_arguments(source, arguments)
    require_outputs([(numpy_file, ARRAYS)], (source.path, usd))
    require_engines(engines)
    with shown_status("Loading engines ...") as status:
        with held_interrupts():
            from urdf_usd.conformance.execution.workers.context import start_loading

            start_loading()

            import numpy as np

            from urdf_usd.cli.output.joint_table import (
                index_maps,
                joint_table,
                joints_json,
            )
            from urdf_usd.conformance.execution.run import CheckOptions, check
            from urdf_usd.converter import ConvertOptions, convert
            from urdf_usd.converter.scratch import temporary_folder
            from urdf_usd.reports.summary import joint_orders

        known = tuple((name, str(path)) for name, path in (*source.packages, *packages))
        options = CheckOptions(
            packages=known,
            arguments=given,
            environment=environment,
            engines=engines,
            limits=Limits(timeout, memory or None),
        )
        with temporary_folder() as folder:
            if usd is None:
                status.show("Converting ...")
                conversion = ConvertOptions(
                    packages=known, arguments=given, environment=environment
                )
                usd = convert(source.path, folder / "usd", conversion).root_layer
            status.show("Reading joints ...")
            record = check(source.path, usd, options, name=source.id)
    orders = joint_orders(record)
    if orders is None:
        click.echo(f"{record.name}: no joint moves", err=True)
        return
    names = {each.name: each.joint_order for each in record.engines}
    numbered = {engine: names[engine] for engine in orders.engines}
    if numpy_file:
        import io

        stream = io.BytesIO()
        np.savez(stream, allow_pickle=False, **index_maps(numbered))
        write_output(numpy_file, stream.getvalue())
    if output_format == "json":
        click.echo(joints_json(record.name, numbered))
    else:
        long_stdout().print(joint_table(orders))
