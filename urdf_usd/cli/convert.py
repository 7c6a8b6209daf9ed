"""``urdf-usd convert`` and ``export``: robots to USD assets and back; ``init``: settings files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

import click
from msgspec import structs

from urdf_usd.cli.commands import Convert, Export, Init
from urdf_usd.cli.failures import CommandError, ExitCode, refused_warnings
from urdf_usd.cli.parameters import is_given
from urdf_usd.cli.sources import (
    existing_robot,
    is_only_part,
    of_robot,
    parse_robot,
    with_stated_settings,
)
from urdf_usd.cli.terminal import say, show_diagnostics, shown_status
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.worker import Workers, call_on_usd, processors
from urdf_usd.converter.conversion import Conversion, convert_parsed
from urdf_usd.converter.conversion import convert as convert_robot
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.robot.model import Base, BaseOption, robot_line
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.simulation.template import CONTACTS, description_template
from urdf_usd.converter.urdf.xacro import is_xacro
from urdf_usd.corpus import RobotSource, parse_reference, resolve_corpora
from urdf_usd.reports.records.results import write_new
from urdf_usd.robots import with_reference

# A robot, the folder of its asset, and its options.
_Order: TypeAlias = tuple[RobotSource, Path, ConvertOptions]


def convert(options: Convert) -> ExitCode:
    if len(options.sources) > 1 or parse_reference(options.sources[0]).whole:
        return _convert_several(options)
    robot = existing_robot(options.sources[0])
    chosen = _completed(with_stated_settings(of_robot(options.conversion, robot)), robot, options)
    if is_given("--timeout") or is_given("--memory"):
        (outcome,) = _in_workers([(robot, options.directory, chosen)], options, 1)
        if isinstance(outcome, ConversionError):
            raise outcome
        if isinstance(outcome, str):
            raise CommandError(outcome)
    else:
        with shown_status("") as status:
            outcome = convert_robot(
                robot.path,
                options.directory,
                chosen,
                progress=lambda mesh, *counts: status.show(
                    "decomposing {!a}, {} of {}".format(mesh, *counts)
                ),
            )
    _show_conversion(outcome, chosen.base)
    return ExitCode.DONE


def _completed(chosen: ConvertOptions, robot: RobotSource, options: Convert) -> ConvertOptions:
    """Add metadata that is known of a robot, and the options of this command alone."""
    profile, known = chosen.profile.value, {}
    if profile in {"simready", "isaac"}:
        known["asset_license"] = robot.origin.license
    if profile == "simready":
        known["author"] = robot.origin.maker
    return structs.replace(
        chosen,
        # The last entry of a name counts: the user's.
        metadata=(*((name, text) for name, text in known.items() if text), *chosen.metadata),
        strict=options.strict,
        root=options.root,
        scene=options.scene,
    )


def _show_conversion(conversion: Conversion, requested: BaseOption, prefix: str = "") -> None:
    """Print diagnostics, one line on the robot and its base, and the path of the asset."""
    show_diagnostics(conversion.diagnostics)
    line = robot_line(conversion.robot, conversion.diagnostics)
    summary = f"{prefix}converted {line}; {conversion.base} base"
    if requested is BaseOption.AUTO and conversion.base is Base.FLOATING:
        summary += " (--base fixed attaches it to the world)"
    say(summary)
    click.echo(conversion.root_layer)


def _in_workers(
    orders: Sequence[_Order], options: Convert, jobs: int | None
) -> Iterator[Conversion | ConversionError | str]:
    """Convert in worker processes; yield conversions, errors and reasons of crashes."""
    files = [(robot.path, folder, chosen) for robot, folder, chosen in orders]
    done: dict[int, Conversion | ConversionError | Crashed] = {}
    # It ends the workers before their block does.
    with (
        Workers(options.limits) as workers,
        contextlib.closing(workers.call_all(convert_robot, files, jobs or processors())) as results,
    ):
        for number in range(len(files)):
            while number not in done:
                done.update([next(results)])
            outcome = done.pop(number)
            if isinstance(outcome, Crashed):
                yield f"the converter crashed: {outcome.reason}"
            else:
                yield outcome


def _convert_several(options: Convert) -> ExitCode:
    """Convert robots into folders named after their ids."""
    with shown_status("Looking for robots ...") as status:
        found = resolve_corpora(options.sources, status.say)
        settings = with_stated_settings(options.conversion)
        orders: list[_Order] = []
        for robot in found:
            if not isinstance(robot, RobotSource):
                status.say(f"error: {robot.reference}: {robot.reason}")
                continue
            arguments = settings.arguments if is_xacro(str(robot.path)) else ()
            own = with_reference(structs.replace(settings, arguments=arguments), robot)
            orders.append((robot, options.directory / robot.id, _completed(own, robot, options)))
        converted, total = 0, len(found)
        outcomes = _in_workers(orders, options, options.jobs)
        for (robot, _, _), outcome in zip(orders, outcomes, strict=True):
            status.show("")
            if isinstance(outcome, Conversion):
                converted += 1
                _show_conversion(outcome, settings.base, f"{robot.reference}: ")
            elif isinstance(outcome, str):
                say(f"error: {robot.reference}: {outcome}")
            elif is_only_part(robot, [one.rule for one in outcome.diagnostics]):
                total -= 1
            else:
                show_diagnostics(outcome.diagnostics)
                reason = refused_warnings(outcome)
                text = f"not converted: {reason}" if reason else "not converted"
                say(f"error: {robot.reference}: {text}")
            status.show(f"{converted} of {total} robots are converted")
    say(f"{converted} of {total} robots are converted")
    return ExitCode.DONE if converted == total else ExitCode.NOT_DONE


def init(options: Init) -> None:
    robot = existing_robot(options.source)
    parsed = parse_robot(robot, of_robot(options.sources, robot))
    target = options.file or Path(f"{robot.path.name.partition('.')[0]}.toml")
    if target.exists():
        raise CommandError(f"{target} exists and is not overwritten")
    with temporary_folder() as scratch:
        settings = ConvertOptions(simulation=SettingsFile(str(target), "", "", CONTACTS))
        asset = convert_parsed(parsed, scratch / "asset", settings)
    rules = {"collision-overlap", "collision-touch"}
    contacts = [one for one in asset.diagnostics if one.rule in rules]
    text = description_template(parsed.robot, asset.base, options.source, contacts)
    write_new(target, text.encode())
    show_diagnostics(parsed.diagnostics)
    click.echo(target)


def export(options: Export) -> None:
    # The harness, which the other commands do not need.
    from urdf_usd.conformance.export.files import prepare_export, write_export

    prepare = partial(
        prepare_export,
        root=options.root,
        loops=options.loops,
        variants=options.reading.variants,
        strict=options.reading.strict,
    )
    prepared = call_on_usd(prepare, options.usd, options.urdf, limits=options.limits)
    written = write_export(prepared, force=options.force)
    show_diagnostics(written.diagnostics)
    click.echo(written.urdf)
