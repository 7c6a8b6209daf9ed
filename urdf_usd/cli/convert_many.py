"""``urdf-usd convert`` in worker processes: of several robots, or of one with limits."""

from __future__ import annotations

from msgspec import structs

from urdf_usd.cli.commands import Convert
from urdf_usd.cli.convert import options_for, show_conversion, with_stated_settings
from urdf_usd.cli.failures import CommandError, ExitCode, refused_warnings
from urdf_usd.cli.options import existing_robot, of_robot
from urdf_usd.cli.terminal import say, show_diagnostics, shown_status
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.run import convert_all
from urdf_usd.conformance.execution.worker import processors
from urdf_usd.converter.conversion import Conversion
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.urdf.xacro import is_part, is_xacro
from urdf_usd.corpus import RobotSource, resolve_corpora
from urdf_usd.robots import with_reference


def convert_limited(options: Convert) -> ExitCode:
    robot = existing_robot(options.sources[0])
    chosen = options_for(robot, with_stated_settings(of_robot(options.conversion, robot)), options)
    order = robot.path, options.directory, chosen
    (outcome,) = convert_all((order,), options.limits, 1)
    if isinstance(outcome, ConversionError):
        raise outcome
    if isinstance(outcome, Crashed):
        raise CommandError(f"the converter crashed: {outcome.reason}")
    show_conversion(outcome, chosen.base)
    return ExitCode.DONE


def convert_several(options: Convert) -> ExitCode:
    """Convert robots into folders named after their ids."""
    with shown_status("Looking for robots ...") as status:
        found = resolve_corpora(options.sources, status.say)
        chosen = with_stated_settings(options.conversion)
        robots = [robot for robot in found if isinstance(robot, RobotSource)]
        for robot in found:
            if not isinstance(robot, RobotSource):
                status.say(f"error: {robot.reference}: {robot.reason}")
        orders = []
        for robot in robots:
            arguments = chosen.arguments if is_xacro(str(robot.path)) else ()
            own = with_reference(structs.replace(chosen, arguments=arguments), robot)
            own = options_for(robot, own, options)
            orders.append((robot.path, options.directory / robot.id, own))
        converted, total = 0, len(found)
        outcomes = convert_all(orders, options.limits, options.jobs or processors())
        for robot, outcome in zip(robots, outcomes, strict=True):
            status.clear()
            if isinstance(outcome, Conversion):
                converted += 1
                show_conversion(outcome, chosen.base, f"{robot.reference}: ")
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
    return ExitCode.DONE if converted == total else ExitCode.NOT_DONE
