"""The fixture ``conformance``: convert and check a robot in a test."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from msgspec import Struct, structs

from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.simulation.description import Description
from urdf_usd.corpus import RobotSource, resolve_robot
from urdf_usd.pytest_plugin.examined import Examined
from urdf_usd.pytest_plugin.examiner import Examiner


class Conformance(Struct, frozen=True):
    """Converts and checks robots; the fixture ``conformance``.

    Attributes:
        examiner: Runs conversions and checks.
        folder: Base of relative paths.
    """

    examiner: Examiner
    folder: Path

    def __call__(
        self,
        urdf: str | os.PathLike[str],
        *,
        usd: str | os.PathLike[str] | None = None,
        base: str = "auto",
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        arguments: Mapping[str, str] | None = None,
        environment: tuple[str, ...] = (),
        engines: tuple[str, ...] = (),
        **choices: object,
    ) -> Examined:
        """Convert a robot and check the USD, or check an existing USD.

        Args:
            urdf: URDF or xacro file, or a reference such as ``rd:panda_description``.
            usd: Root layer of an existing USD, from any converter.
            base: ``fixed`` or ``floating``; by default as for ``convert``.
            packages: Folder of each ROS package, by name.
            arguments: Value of each argument of a xacro file, by name.
            environment: Names of environment variables that xacro may read, besides
                those of ROS.
            engines: Engines to use for an existing USD; all if empty.
            choices: Further fields of :class:`converter.ConvertOptions`; enumerations
                also by value.

        Raises:
            CorpusError: The robot is not available.
            TypeError: A choice is unknown, or given with an existing USD.
        """
        __tracebackhide__ = True
        source = self._source(urdf)
        folders = tuple((name, str(path)) for name, path in (packages or {}).items())
        values = tuple((arguments or {}).items())
        if usd is None:
            options = structs.replace(
                ConvertOptions(),
                base=BaseOption(base),
                packages=folders,
                arguments=values,
                environment=environment,
                **_choices(choices),
            )
            return Examined(self.examiner.examine(source, options))
        if choices:
            raise TypeError(f"{', '.join(choices)}: not allowed with usd")
        known = tuple((name, str(path)) for name, path in source.packages)
        record = check(
            source.path,
            self._place(usd),
            CheckOptions(
                base=BaseOption(base),
                packages=(*known, *folders),
                arguments=tuple({**dict(source.arguments), **dict(values)}.items()),
                environment=environment,
                engines=engines,
            ),
            name=source.id,
            reference=source.reference,
        )
        return Examined(record)

    def _source(self, urdf: str | os.PathLike[str]) -> RobotSource:
        place = self._place(urdf)
        return resolve_robot(str(place if place.exists() else urdf))

    def _place(self, path: str | os.PathLike[str]) -> Path:
        place = self.folder / path
        return place if place.exists() else Path(path)


def _choices(given: Mapping[str, object]) -> dict[str, Any]:
    """Convert values of enumerations to their members.

    Raises:
        TypeError: A choice is unknown.
    """
    # Only the type checker imports it where the options are, which it needs itself.
    kinds = get_type_hints(ConvertOptions, localns={"Description": Description})
    choices: dict[str, Any] = {}
    for name, value in given.items():
        if name not in kinds:
            known = ", ".join(sorted(kinds))
            raise TypeError(f"unknown choice {name!r}; choose from {known}")
        enumerations = (
            kind
            for kind in (kinds[name], *get_args(kinds[name]))
            if isinstance(kind, type) and issubclass(kind, Enum)
        )
        kind = next(enumerations, None)
        choices[name] = kind(value) if kind and value is not None else value
    return choices
