"""``urdf-usd convert``: convert robots to USD assets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from msgspec import Struct, structs

from urdf_usd.cli.options.conversion import (
    ConversionChoices,
    conversion_options,
)
from urdf_usd.cli.options.execution import memory_option, timeout_option
from urdf_usd.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    existing_robot,
    xacro_arguments,
)
from urdf_usd.cli.output.console import say, show_diagnostics
from urdf_usd.cli.output.failures import (
    CommandError,
    ExitCode,
    held_interrupts,
    refused_warnings,
    warn_of_address_limit,
)
from urdf_usd.cli.output.status import shown_meshes, shown_status
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.converter.conversion import Conversion
    from urdf_usd.converter.options import ConvertOptions
    from urdf_usd.converter.robot.body_options import BaseOption
    from urdf_usd.corpus import RobotSource


_USD_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})


@click.command(
    "convert",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd convert robot.urdf out",
        "urdf-usd convert pybullet:kuka_iiwa/model.urdf kuka --base fixed",
        "urdf-usd convert robot.urdf out --package my_robot=path/to/my_robot",
        "urdf-usd convert robot.urdf.xacro out --arg hand:=true",
        "urdf-usd convert robot.urdf out --with robot.toml",
        "urdf-usd convert robot.urdf out --layout usdz",
        "urdf-usd convert robot.urdf out --profile physx --scene",
        "urdf-usd convert robot.urdf out --profile simready --metadata author=me",
        "urdf-usd convert dir:my_robots assets --jobs 4",
        "usdview $(urdf-usd convert rd:panda_description panda)",
    ),
)
@click.argument("sources", metavar="SOURCE...", nargs=-1)
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@conversion_options
@click.option(
    "--root",
    metavar="LINK",
    help="Convert only the tree below this link, for a robot with several roots.",
)
@click.option(
    "--scene",
    is_flag=True,
    help="Add a physics scene with gravity, to simulate the asset on its own.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of robots converted in parallel.  [default: one per CPU]",
)
@timeout_option
@memory_option
def convert_command(
    *,
    sources: tuple[str, ...],
    directory: Path,
    choices: ConversionChoices,
    root: str | None,
    scene: bool,
    strict: bool,
    jobs: int | None,
    timeout: float,
    memory: int,
) -> None:
    """Convert the robot SOURCE to a USD asset in DIR.

    SOURCE is a URDF or xacro file or a reference such as rd:panda_description. DIR
    receives <robot>.usda and payload/, unless --layout says otherwise; a previous
    conversion in it is replaced. The path of the root layer is printed on stdout,
    diagnostics on stderr.

    With several SOURCEs, or a whole corpus such as erd or dir:my_robots, each robot is
    converted in another process, within --timeout and --memory, into DIR/<id>. Robots
    that cannot be converted are reported, and the others are converted. A single
    SOURCE is converted in this process, without limits unless one is given.
    """
    if not sources:
        # A single argument is taken as the last one.
        raise click.UsageError(
            f"Missing argument 'DIR': name the folder of the asset after {directory}"
        )
    if directory.suffix.lower() in _USD_SUFFIXES:
        raise click.UsageError(
            f"{str(directory)!r} is named like a USD file, but DIR is the folder of "
            f"the asset; pass a folder such as {str(directory.with_suffix(''))!r}"
        )
    added = _AddedOptions(root, scene, strict)
    limits = Limits(timeout, memory or None)
    if _names_several(sources):
        _convert_several(sources, directory, choices, added, limits, jobs)
        return
    robot = existing_robot(sources[0])
    # Refuses --arg for URDF files before the converter is imported.
    given = xacro_arguments(robot, choices.arguments)
    warn_of_address_limit()
    with held_interrupts():
        from urdf_usd.converter.conversion import convert

        chosen = choices.options()
    options = _options_for(robot, chosen, given, added)
    if _given("timeout") or _given("memory"):
        conversion = _convert_limited(robot.path, directory, options, limits)
    else:
        with shown_meshes() as progress:
            conversion = convert(robot.path, directory, options, progress=progress)
    show_diagnostics(conversion.diagnostics)
    say(_summary(conversion, chosen.base))
    click.echo(conversion.root_layer)


def _names_several(texts: tuple[str, ...]) -> bool:
    from urdf_usd.corpus import parse_reference

    return len(texts) > 1 or parse_reference(texts[0]).whole


def _given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


def _convert_limited(
    urdf: Path, directory: Path, options: ConvertOptions, limits: Limits
) -> Conversion:
    """Convert in a worker.

    Raises:
        ConversionError: The robot cannot be converted.
        CommandError: A limit was exceeded, or the worker crashed.
    """
    with held_interrupts():
        from urdf_usd.conformance.engines.protocol import Crashed
        from urdf_usd.conformance.execution.conversions.batch import Order, convert_all
        from urdf_usd.converter.diagnostics import ConversionError

    (outcome,) = convert_all((Order(urdf, directory, options),), limits, 1)
    if isinstance(outcome, ConversionError):
        raise outcome
    if isinstance(outcome, Crashed):
        raise CommandError(f"the converter crashed: {outcome.reason}")
    return outcome


class _AddedOptions(Struct, frozen=True):
    """Options of this command alone."""

    root: str | None
    scene: bool
    strict: bool


def _options_for(
    robot: RobotSource,
    chosen: ConvertOptions,
    arguments: Arguments,
    added: _AddedOptions,
) -> ConvertOptions:
    """Add what is known of a robot to the options of the command line."""
    known = tuple((name, str(path)) for name, path in robot.packages)
    metadata: tuple[tuple[str, str], ...] = ()
    if chosen.profile.value in {"simready", "isaac"}:
        stated = {"asset_license": robot.origin.license}
        if chosen.profile.value == "simready":
            stated["author"] = robot.origin.maker
        metadata = tuple((name, text) for name, text in stated.items() if text)
    return structs.replace(
        chosen,
        # The last entry of a name counts: the user's.
        metadata=(*metadata, *chosen.metadata),
        packages=(*known, *chosen.packages),
        arguments=arguments,
        strict=added.strict,
        root=added.root,
        scene=added.scene,
    )


def _convert_several(
    texts: tuple[str, ...],
    directory: Path,
    choices: ConversionChoices,
    added: _AddedOptions,
    limits: Limits,
    jobs: int | None,
) -> None:
    """Convert robots into folders named after their ids."""
    warn_of_address_limit()
    with shown_status("Looking for robots ...") as status:
        with held_interrupts():
            from urdf_usd.conformance.engines.protocol import Crashed
            from urdf_usd.conformance.execution.conversions.batch import (
                Order,
                convert_all,
            )
            from urdf_usd.conformance.execution.workers.limits import processors
            from urdf_usd.converter.conversion import Conversion
            from urdf_usd.converter.urdf.xacro.expansion import is_part, is_xacro
            from urdf_usd.corpus import RobotSource, resolve_corpora

        found = resolve_corpora(texts, status.say)
        chosen = choices.options()
        robots = [robot for robot in found if isinstance(robot, RobotSource)]
        for robot in found:
            if not isinstance(robot, RobotSource):
                status.say(f"error: {robot.reference}: {robot.reason}")
        orders = []
        for robot in robots:
            given = dict(robot.arguments)
            if is_xacro(str(robot.path)):
                given |= dict(choices.arguments)
            options = _options_for(robot, chosen, tuple(given.items()), added)
            orders.append(Order(robot.path, directory / robot.id, options))
        converted, total = 0, len(found)
        outcomes = convert_all(orders, limits, jobs or processors())
        for robot, outcome in zip(robots, outcomes, strict=True):
            status.clear()
            if isinstance(outcome, Conversion):
                converted += 1
                show_diagnostics(outcome.diagnostics)
                say(f"{robot.reference}: {_summary(outcome, chosen.base)}")
                click.echo(outcome.root_layer)
            elif isinstance(outcome, Crashed):
                say(f"error: {robot.reference}: the converter crashed: {outcome.reason}")
            elif (
                robot.searched
                and is_xacro(str(robot.path))
                and is_part((one.rule for one in outcome.diagnostics), included=robot.included)
            ):
                total -= 1
                say(f"{robot.reference}: skipped, only part of a robot")
            else:
                show_diagnostics(outcome.diagnostics)
                reason = refused_warnings(outcome)
                text = f"not converted: {reason}" if reason else "not converted"
                say(f"error: {robot.reference}: {text}")
            status.show(f"{converted} of {total} robots are converted")
    say(f"{converted} of {total} robots are converted")
    done = converted == total
    click.get_current_context().exit(ExitCode.DONE if done else ExitCode.NOT_DONE)


def _summary(conversion: Conversion, requested: BaseOption) -> str:
    """Return one line on the robot, its base and the number of diagnostics."""
    from urdf_usd.converter.robot.body_options import Base, BaseOption
    from urdf_usd.converter.robot.text import robot_line

    line = robot_line(conversion.robot, conversion.diagnostics)
    summary = f"converted {line}; {conversion.base} base"
    if requested is BaseOption.AUTO and conversion.base is Base.FLOATING:
        summary += " (--base fixed attaches it to the world)"
    return summary
