"""Public functions, which take robots by reference as the command does.

A reference is the path of a URDF or xacro file, ``file:robot.urdf``, ``pybullet:r2d2.urdf``,
``rd:panda_description`` or ``erd:panda``. A path object is always a file. Packages and xacro
arguments of a reference are added to options; those of the options take precedence.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import structs

from urdf_usd import converter, corpus

if TYPE_CHECKING:
    from urdf_usd.conformance.options import CheckOptions, RunOptions
    from urdf_usd.converter import Conversion, ConvertOptions, Parsed
    from urdf_usd.converter.options import Sources
    from urdf_usd.corpus import RobotSource
    from urdf_usd.reports.records.record import RobotRecord, RunSummary


Reference: TypeAlias = "str | os.PathLike[str]"
_Options = TypeVar("_Options", "ConvertOptions", "CheckOptions", "Sources")


def convert(
    robot: Reference, directory: str | os.PathLike[str], options: ConvertOptions | None = None
) -> Conversion:
    """Convert a robot to a USD asset; a failure leaves the folder unchanged.

    The folder is new, empty, or has a previous conversion, which is replaced.

    Raises:
        ConversionError: The robot cannot be read or written.
        CorpusError: The reference is invalid, or its robot is not available.
    """
    source = _source(robot)
    options = with_reference(options or converter.ConvertOptions(), source)
    return converter.convert(source.path, directory, options)


def check(
    robot: Reference, usd: str | os.PathLike[str], options: CheckOptions | None = None
) -> RobotRecord:
    """Compare a USD, by its root layer and from any converter, with its URDF.

    Raises:
        SourceError: The URDF is invalid or unsupported.
        CorpusError: The reference is invalid, or its robot is not available.
        UnknownEngineError: A requested engine is not installed.
    """
    from urdf_usd.conformance.execution import run as execution
    from urdf_usd.conformance.options import CheckOptions

    source = _source(robot)
    return execution.check(source, usd, with_reference(options or CheckOptions(), source))


def run(
    robots: Reference | Iterable[Reference],
    out: str | os.PathLike[str],
    options: RunOptions | None = None,
    *,
    progress: Callable[[RobotRecord], None] | None = None,
) -> RunSummary:
    """Convert and check robots, and write a record of each when it is finished.

    Reports are written only by the command ``urdf-usd run``.

    Args:
        robots: References of robots or corpora (``pybullet``, ``rd``, ``erd``,
            ``dir:<folder>``, ``list:<file.toml>``).
        out: Folder for ``results/<id>.json``, ``assets/<id>/`` and more.
        progress: Called with each record when its robot is finished.

    Raises:
        CorpusError: A reference is invalid.
        ClusterError: The scheduler cannot be reached.
        UnknownEngineError: A requested engine is not installed.

    Example:
        >>> run(["pybullet", "dir:my_robots"], "report")  # doctest: +SKIP
        <RunSummary 97 robots: 97 exact>
    """
    from urdf_usd.conformance.execution import run as execution
    from urdf_usd.conformance.options import RunOptions

    several = (robots,) if isinstance(robots, str | os.PathLike) else tuple(robots)
    texts = tuple(map(_text, several))
    return execution.run(
        corpus.resolve_corpora(texts),
        out,
        options or RunOptions(),
        corpus=tuple(corpus.parse_reference(text).portable for text in texts),
        progress=progress,
    )


def read_urdf(
    robot: Reference,
    *,
    packages: Mapping[str, str] | None = None,
    arguments: Mapping[str, str] | None = None,
    environment: Collection[str] = (),
    root: str | None = None,
) -> Parsed:
    """Read a URDF file, or the expansion of a xacro file.

    Args:
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro arguments, by name.
        environment: Environment variables that xacro may read, besides those of ROS.
        root: Link whose subtree is read; None for the whole robot.

    Raises:
        SourceError: The file is invalid or unsupported; the error has all diagnostics.
        CorpusError: The reference is invalid, or its robot is not available.

    Example:
        >>> read_urdf("pybullet:r2d2.urdf")  # doctest: +SKIP
        <Parsed 'physics', 16 links, 15 joints>
    """
    source = _source(robot)
    return converter.read_urdf(
        source.path,
        packages={**dict(_packages(source)), **(packages or {})},
        arguments={**dict(source.arguments), **(arguments or {})},
        environment=environment,
        root=root,
    )


def _source(robot: Reference) -> RobotSource:
    return corpus.resolve_robot(_text(robot))


def _text(robot: Reference) -> str:
    return robot if isinstance(robot, str) else f"file:{os.fspath(robot)}"


def _packages(source: RobotSource) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(path)) for name, path in source.packages)


def with_reference(options: _Options, source: RobotSource) -> _Options:
    """Add packages and xacro arguments of a reference; the user's take precedence."""
    return structs.replace(
        options,
        packages=(*_packages(source), *options.packages),
        arguments=tuple({**dict(source.arguments), **dict(options.arguments)}.items()),
    )
