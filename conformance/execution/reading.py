"""The URDF of a robot, read by our reader: its files, and where it is compared."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.engines.estimated_urdf import estimate_urdf
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.engines.reference import (
    forget_readings,
    observe_robot,
    read_kept,
    structure,
)
from urdf_usd.conformance.execution.coverage import converted_and_kept
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import derive_tolerance_model
from urdf_usd.conformance.tolerance.rollout import plan_rollout
from urdf_usd.conformance.tolerance.sampling import configurations
from urdf_usd.converter.diagnostics import Diagnostic, SourceError
from urdf_usd.converter.diagnostics.rules import LINT_RULES
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files, named_packages
from urdf_usd.converter.lint.linting import lint_parsed
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.urdf.parse import relocatable_urdf
from urdf_usd.reports.records.record import LedgerRecord


class Reading(Struct, frozen=True, eq=False):
    """What was read of a URDF.

    Attributes:
        diagnostics: Of the reader.
        expanded: The URDF that a xacro file expands to; None if the file is URDF.
        inputs: The files of the robot, the URDF or xacro file first.
        packages: Folder of each package in which files were found, by name.
        ledger: Which parts our converter converts, keeps or drops.
    """

    diagnostics: tuple[Diagnostic, ...]
    expanded: bytes | None = None
    inputs: tuple[InputFile, ...] = ()
    packages: tuple[tuple[str, str], ...] = ()
    ledger: tuple[LedgerRecord, ...] = ()


def read_robot(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> Reading | SourceError:
    """Read a URDF; other steps of the process find it read."""
    forget_readings()
    try:
        parsed = read_kept(path, packages, arguments, environment)
    except SourceError as error:
        return error
    expansion = parsed.markup.expansion
    files = expansion.files if expansion else ()
    return Reading(
        diagnostics=parsed.diagnostics,
        expanded=relocatable_urdf(expansion, path, packages) if expansion else None,
        inputs=input_files((path, *files), parsed.robot),
        packages=named_packages(parsed.robot),
        ledger=converted_and_kept(parsed.robot),
    )


def file_digest(path: str) -> str | None:
    """Return the SHA-256 of a file; None if it is no regular file."""
    if not Path(path).is_file():
        return None
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def lint_robot(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> tuple[Diagnostic, ...]:
    """Return the findings of lint, without the diagnostics of the reader.

    Raises:
        SourceError: The URDF is invalid or unsupported.
    """
    found = lint_parsed(read_kept(path, packages, arguments, environment), path)
    return tuple(each for each in found if each.rule in LINT_RULES)


def plan_comparison(
    path: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: tuple[str, ...] = (),
) -> Configurations:
    """Choose the configurations at which a robot that can be read is compared.

    Raises:
        SourceError: The robot is not a tree.
    """
    return questions(read_kept(path, packages, arguments, environment).robot)


def questions(robot: Robot) -> Configurations:
    """Choose the configurations of a robot, and plan its rollout.

    Raises:
        SourceError: The robot is not a tree.
    """
    chosen = configurations(structure(robot))
    spec = observe_robot(robot, chosen, shapes=False)
    rollout = plan_rollout(spec, derive_tolerance_model(spec, Tolerance()).motion)
    return structs.replace(chosen, rollout=rollout, root=spec.root)


class Estimated(Struct, frozen=True, eq=False):
    """A copy of a URDF with mass properties computed from shapes.

    Attributes:
        configurations: Where its robot is compared.
        links: Links whose mass properties were computed.
    """

    configurations: Configurations
    links: frozenset[str]


def estimate_robot(
    path: str, packages: Mapping[str, str], base: BaseOption, density: float, target: str
) -> Estimated | str:
    """Write a copy of a URDF with mass properties computed from shapes.

    Args:
        path: The URDF.
        packages: Folder of each ROS package, by name.
        base: Requested base.
        density: Of links without mass [kg/m^3].
        target: File of the copy.

    Returns:
        What the engines need of it; as text, why there is none.
    """
    try:
        copy = estimate_urdf(path, packages, base.value, density)
        Path(target).write_bytes(copy.text)
        robot = read_kept(target, packages).robot
    except AbstentionError as abstention:
        return " ".join(str(abstention).split())
    except SourceError as error:
        return error.diagnostics[0].message
    return Estimated(questions(robot), copy.links)
