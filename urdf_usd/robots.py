"""The functions of the package: they take robots by reference, as the command does.

A reference is a path of a URDF or xacro file, ``file:robot.urdf``,
``pybullet:r2d2.urdf``, ``rd:panda_description`` or ``erd:panda``. A path object is
always a file. Modules are imported by the functions that need them.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from urdf_usd import converter, corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from urdf_usd.conformance.execution.run import CheckOptions, RunOptions
    from urdf_usd.conformance.records.record import RobotRecord, RunSummary
    from urdf_usd.converter import Conversion, ConvertOptions, Parsed
    from urdf_usd.corpus import RobotSource

Reference: TypeAlias = "str | os.PathLike[str]"


def convert(
    robot: Reference,
    directory: str | os.PathLike[str],
    options: ConvertOptions | None = None,
) -> Conversion:
    """Convert a robot to a USD asset.

    The asset is built beside its folder and moved there when it is complete, so a
    failure leaves the folder as it was.

    Args:
        robot: URDF or xacro file, or a reference.
        directory: Folder of the asset: new, empty, or holding a former conversion,
            which is replaced.
        options: Choices; packages and arguments of a reference need not be repeated.

    Raises:
        ConversionError: The robot cannot be read or written.
        CorpusError: The reference leads to no robot.

    Example:
        >>> convert("pybullet:r2d2.urdf", "r2d2")  # doctest: +SKIP
        <Conversion 'r2d2/physics.usda': 'physics', 16 links, 15 joints, floating base>
    """
    source = _source(robot)
    options = options or converter.ConvertOptions()
    options = replace(
        options,
        packages=(*_packages(source), *options.packages),
        arguments=_arguments(source, options.arguments),
    )
    return converter.convert(source.path, directory, options)


def check(  # noqa: PLR0913  # what is compared, how, and what comes of it
    robot: Reference,
    usd: str | os.PathLike[str],
    options: CheckOptions | None = None,
    *,
    name: str | None = None,
    reference: str | None = None,
    scene: str | os.PathLike[str] | None = None,
) -> RobotRecord:
    """Compare a USD, from any converter, with its URDF.

    Args:
        robot: URDF or xacro file, or a reference.
        usd: Root layer of the USD.
        options: Choices; packages and arguments of a reference need not be repeated.
        name: Identifier in the record; the one of a run over the reference if absent.
        reference: How the URDF is named in the record; the reference if absent.
        scene: File of a drawing for the robot's page, if there shall be one.

    Raises:
        SourceError: The URDF is invalid or unsupported.
        CorpusError: The reference leads to no robot.
        UnknownWitnessError: An engine is named that is not installed.

    Example:
        >>> check("pybullet:r2d2.urdf", "r2d2/physics.usda")  # doctest: +SKIP
        <RobotRecord 'pybullet--r2d2': exact>
    """
    from urdf_usd.conformance.execution import run as execution

    source = _source(robot)
    options = options or execution.CheckOptions()
    options = replace(
        options,
        packages=(*_packages(source), *options.packages),
        arguments=_arguments(source, options.arguments),
    )
    return execution.check(
        source.path,
        usd,
        options,
        name=name or source.id,
        reference=reference or source.reference,
        scene=scene,
    )


def run(
    robots: Reference | Iterable[Reference],
    out: str | os.PathLike[str],
    options: RunOptions | None = None,
    *,
    progress: Callable[[RobotRecord], None] | None = None,
) -> RunSummary:
    """Convert and check robots; write a record of each as soon as it is finished.

    ``urdf-usd run`` writes the pages of a report besides.

    Args:
        robots: References of robots or corpora: also ``pybullet``, ``rd``, ``erd``,
            ``dir:<folder>`` and ``list:<file.toml>``.
        out: Folder that receives ``results/<id>.json``, ``assets/<id>/`` and more.
        options: Choices.
        progress: Called with each record, in the order in which robots finish.

    Raises:
        CorpusError: A reference leads to no robot.
        ClusterError: There is no cluster where there should be one.
        UnknownWitnessError: An engine is named that is not installed.

    Example:
        >>> run(["pybullet", "dir:my_robots"], "report")  # doctest: +SKIP
        <RunSummary 97 robots: 97 exact>
    """
    from urdf_usd.conformance.execution import run as execution

    several = (robots,) if isinstance(robots, str | os.PathLike) else tuple(robots)
    texts = tuple(map(_text, several))
    return execution.run(
        corpus.resolve_corpora(texts),
        out,
        options or execution.RunOptions(),
        corpus=tuple(corpus.parse_reference(text).portable for text in texts),
        progress=progress,
    )


def read_urdf(
    robot: Reference,
    *,
    packages: Mapping[str, str] | None = None,
    arguments: Mapping[str, str] | None = None,
    root: str | None = None,
) -> Parsed:
    """Read a URDF file, or the expansion of a xacro file.

    Args:
        robot: URDF or xacro file, or a reference.
        packages: Folders of ROS packages, by name, besides those of a reference.
        arguments: Values of xacro's arguments, by name, besides those of a reference.
        root: Link whose tree is read; what does not hang on it is left out. None for
            the whole robot, which has one root then.

    Raises:
        SourceError: The file is invalid or unsupported URDF; all problems that were
            found are in it.
        CorpusError: The reference leads to no robot.

    Example:
        >>> read_urdf("pybullet:r2d2.urdf")  # doctest: +SKIP
        <Parsed 'physics', 16 links, 15 joints>
    """
    source = _source(robot)
    return converter.read_urdf(
        source.path,
        packages={**dict(_packages(source)), **(packages or {})},
        arguments={**dict(source.arguments), **(arguments or {})},
        root=root,
    )


def _source(robot: Reference) -> RobotSource:
    return corpus.resolve_robot(_text(robot))


def _text(robot: Reference) -> str:
    return robot if isinstance(robot, str) else f"file:{os.fspath(robot)}"


def _packages(source: RobotSource) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(path)) for name, path in source.packages)


def _arguments(
    source: RobotSource, given: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Return what is known of a robot's arguments; what the user says counts."""
    return tuple({**dict(source.arguments), **dict(given)}.items())
