"""What tests call to have a robot examined."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from urdf_usd.conformance.execution.run import CheckOptions, check
from urdf_usd.conformance.pytest_plugin.examined import Examined
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.robot.bodies import BaseOption
from urdf_usd.corpus import resolve_robot

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from urdf_usd.conformance.pytest_plugin.examiner import Examiner
    from urdf_usd.corpus import RobotSource


@dataclass(frozen=True, slots=True)
class Conformance:
    """Examines robots; the fixture ``conformance``.

    Attributes:
        examiner: Where that is done.
        folder: What relative paths are relative to.
    """

    examiner: Examiner
    folder: Path

    def __call__(  # noqa: PLR0913  # one keyword per choice
        self,
        urdf: str | os.PathLike[str],
        *,
        usd: str | os.PathLike[str] | None = None,
        base: str = "auto",
        packages: Mapping[str, str | os.PathLike[str]] | None = None,
        arguments: Mapping[str, str] | None = None,
        engines: tuple[str, ...] = (),
        **choices: object,
    ) -> Examined:
        """Convert a robot and check the USD, or check a USD that is there.

        Args:
            urdf: URDF or xacro file, or a reference such as ``rd:panda_description``.
            usd: Root layer of a USD of it, from any converter.
            base: ``fixed`` or ``floating`` if the base has to be held so.
            packages: Folder of each ROS package, by name.
            arguments: Value of each argument of a xacro file, by name.
            engines: Engines to ask where there is a USD already; all if empty.
            choices: Further fields of :class:`converter.ConvertOptions`; texts do where
                it has enumerations.

        Raises:
            CorpusError: There is no such robot.
            TypeError: A choice is unknown, or does not go with a USD.
        """
        __tracebackhide__ = True
        source = self._source(urdf)
        folders = tuple((name, str(path)) for name, path in (packages or {}).items())
        values = tuple((arguments or {}).items())
        if usd is None:
            options = replace(
                ConvertOptions(),
                base=BaseOption(base),
                packages=folders,
                arguments=values,
                **_choices(choices),
            )
            return Examined(self.examiner.examine(source, options))
        if choices:
            raise TypeError(f"{', '.join(choices)}: a USD is there already")
        known = tuple((name, str(path)) for name, path in source.packages)
        record = check(
            source.path,
            self._place(usd),
            CheckOptions(
                base=BaseOption(base),
                packages=(*known, *folders),
                arguments=tuple({**dict(source.arguments), **dict(values)}.items()),
                engines=engines,
                jobs=self.examiner.jobs,
            ),
            name=source.id,
            reference=source.reference,
        )
        return Examined(record)

    def _source(self, urdf: str | os.PathLike[str]) -> RobotSource:
        place = self._place(urdf)
        return resolve_robot(str(place if place.exists() else urdf))

    def _place(self, path: str | os.PathLike[str]) -> Path:
        beside = self.folder / path
        return beside if beside.exists() else Path(path)


def _choices(given: Mapping[str, object]) -> dict[str, Any]:
    """Return choices with enumerations in place of their texts.

    Raises:
        TypeError: There is no such choice.
    """
    kinds = get_type_hints(ConvertOptions)
    choices: dict[str, Any] = {}
    for name, value in given.items():
        if name not in kinds:
            known = ", ".join(sorted(kinds))
            raise TypeError(f"there is no choice {name!r}; there are {known}")
        enumerations = (
            kind
            for kind in (kinds[name], *get_args(kinds[name]))
            if isinstance(kind, type) and issubclass(kind, Enum)
        )
        kind = next(enumerations, None)
        choices[name] = kind(value) if kind and value is not None else value
    return choices
