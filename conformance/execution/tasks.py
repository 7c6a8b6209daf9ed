"""What is done in child processes: reading, sampling, converting.

Errors that concern the user's file come back as values; anything else that is raised
here is a crash, and is recorded as one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.engines.reference.engine import (
    forget_readings,
    observe_robot,
    read_kept,
    structure,
)
from urdf_usd.conformance.execution.ledger import account
from urdf_usd.conformance.records.scene import write_scene
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import tolerance_model
from urdf_usd.conformance.tolerance.rollout import plan_rollout
from urdf_usd.converter import convert
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.diagnostics import ConversionError, SourceError
from urdf_usd.converter.inputs import input_files
from urdf_usd.converter.lint import LINT_RULES, lint_parsed
from urdf_usd.converter.urdf.files.uris import named_packages
from urdf_usd.converter.urdf.xacro.expansion import is_xacro
from urdf_usd.converter.urdf.xacro.standalone import standalone_urdf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.conformance.engines.protocol import Availability, Side
    from urdf_usd.conformance.observation.robot import (
        Configurations,
        Frames,
        Observation,
    )
    from urdf_usd.conformance.records.ledger_record import LedgerRecord
    from urdf_usd.converter import Conversion, ConvertOptions, Diagnostic
    from urdf_usd.converter.inputs import InputFile
    from urdf_usd.converter.lint import Finding
    from urdf_usd.converter.robot.model import Robot


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What has to be known of a URDF before engines can be asked.

    Attributes:
        configurations: Where and how the robot is compared.
        diagnostics: What the reader noticed.
        expanded: URDF that says what a xacro file says; None if the file is URDF.
        inputs: The files that make up the robot, the one that was named first.
        packages: Folders of the packages that it names, where files were found.
        ledger: What our converter makes of its parts.
    """

    configurations: Configurations
    diagnostics: tuple[Diagnostic, ...]
    expanded: bytes | None = None
    inputs: tuple[InputFile, ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    ledger: tuple[LedgerRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class InstalledEngine:
    """An engine that is installed, and whether it can be asked here."""

    name: str
    side: Side
    availability: Availability


def read_robot(
    path: str, packages: Mapping[str, str], arguments: Mapping[str, str]
) -> Reading | SourceError:
    """Read a URDF and choose the configurations at which its readers are compared."""
    try:
        forget_readings()
        parsed = read_kept(path, packages, arguments)
        alone = standalone_urdf(path, packages, arguments) if is_xacro(path) else None
    except SourceError as error:
        return error
    return Reading(
        configurations=questions(parsed.robot),
        diagnostics=parsed.diagnostics,
        expanded=alone.text if alone else None,
        inputs=input_files((path, *(alone.included if alone else ())), parsed.robot),
        packages=named_packages(parsed.robot),
        ledger=account(parsed.robot),
    )


def lint_robot(
    path: str, packages: Mapping[str, str], arguments: Mapping[str, str]
) -> tuple[Finding, ...]:
    """Say what is likely wrong with a robot, beyond the diagnostics.

    Raises:
        SourceError: It cannot be understood.
    """
    parsed = read_kept(path, packages, arguments)
    found = lint_parsed(parsed, path)
    return tuple(each for each in found if each.rule.id in LINT_RULES)


def questions(robot: Robot) -> Configurations:
    """Choose where and how a robot's readers are asked about it.

    Raises:
        SourceError: The robot is not a tree.
    """
    # Its Sobol sequences take half a second to import: let child processes pay that.
    from urdf_usd.conformance.tolerance.sampling import configurations  # noqa: PLC0415

    chosen = configurations(structure(robot))
    spec = observe_robot(robot, chosen, shapes=False)
    rollout = plan_rollout(spec, tolerance_model(spec, Tolerance()).motion)
    return replace(chosen, rollout=rollout, root=spec.root)


def convert_robot(
    path: str, directory: str, options: ConvertOptions
) -> Conversion | ConversionError:
    """Convert a URDF with our own converter."""
    try:
        if options.root is not None:
            return convert(path, directory, options)
        packages, arguments = dict(options.packages), dict(options.arguments)
        return convert_parsed(read_kept(path, packages, arguments), directory, options)
    except ConversionError as error:
        return error


def draw_robot(  # noqa: PLR0913, PLR0917  # a step takes what it needs, one by one
    path: str,
    packages: Mapping[str, str],
    usd: str,
    readings: Mapping[str, Observation],
    frames: Mapping[str, Frames],
    configurations: Configurations,
    target: str,
) -> None:
    """Draw a robot from its files, and write the scene.

    Raises:
        SourceError: The URDF cannot be read.
        OSError: The scene cannot be written.
    """
    # The readers of meshes take time to import: let child processes pay that.
    from urdf_usd.conformance.drawing.scenery import draw_scene  # noqa: PLC0415

    parsed = read_kept(path, packages)
    scene = draw_scene(parsed.robot, usd, readings, frames, configurations)
    write_scene(scene, Path(target))


def installed_engines() -> tuple[InstalledEngine, ...]:
    """List all engines, sorted by name."""
    return tuple(
        InstalledEngine(engine.name, engine.side, engine.availability())
        for engine in registry.engines()
    )
