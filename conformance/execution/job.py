"""The examination of one robot: what is converted and compared, and how."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, field, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.engines import InstalledEngine
from urdf_usd.conformance.execution.limits import DEFAULT_LIMITS, Limits
from urdf_usd.conformance.execution.record import Subject
from urdf_usd.conformance.execution.usd_reading import READ_DEFAULTS, ReadOptions
from urdf_usd.converter.options import (
    NO_COLLIDER_RULES,
    ColliderRules,
    ConvertOptions,
    InertiaOption,
)
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.simulation.description import Description
from urdf_usd.corpus import RobotSource

EXTERNAL = "unknown"

# Pairs of a name and a version or hash.
Programs: TypeAlias = tuple[tuple[str, str], ...]


class Requirements(Struct, frozen=True):
    """What a USD has to have, besides what its URDF says.

    Attributes:
        base: Its base; ``auto`` if the URDF decides.
        density: Of links without mass, if missing mass properties are to be those of
            shapes [kg/m^3]; None if the USD has to have those of the URDF.
        colliders: Colliders instead of the URDF's.
        description: Robot description file with settings that the USD has to have.
    """

    base: BaseOption = BaseOption.AUTO
    density: float | None = None
    colliders: ColliderRules = NO_COLLIDER_RULES
    description: Description | None = None


class Job(Struct, frozen=True):
    """One robot of a run or a check, and how it is examined.

    Attributes:
        source: The robot.
        engines: The engines.
        limits: Of each process.
        usd: Root layer of the USD that is compared, in a check.
        required: What that USD has to have, besides what its URDF says.
        reading: How it is read, and USDs of other converters.
        scene: File of a drawing, in a check.
        folder: Folder of the run.
        options: Options of the conversion; of a check, how the URDF is read.
        candidate: The converter.
        compared: Whether the run has several converters.
        names: Names that a USD of it may have that was made elsewhere.
        former: Fingerprint of the result in the folder of the run, if there is one.
        retry: Whether to examine a robot again of which something crashed before.
        timed: Whether to write how long it takes.
        programs: The converter and the engines of other packages, with hashes.
    """

    source: RobotSource
    engines: tuple[InstalledEngine, ...]
    limits: Limits = DEFAULT_LIMITS
    usd: Path | None = None
    required: Requirements = field(default_factory=Requirements)
    reading: ReadOptions = READ_DEFAULTS
    scene: Path | None = None
    folder: Path = Path()
    options: ConvertOptions = field(default_factory=ConvertOptions)
    candidate: Candidate = OWN
    compared: bool = False
    names: tuple[str, ...] = ()
    former: str | None = None
    retry: bool = False
    timed: bool = False
    programs: Programs = ()

    @property
    def place(self) -> str:
        """Its path within each folder of the run, without a suffix."""
        name = self.source.id
        return f"{self.candidate.name}/{name}" if self.compared else name

    @property
    def own(self) -> bool:
        """Whether our converter makes the USD."""
        return self.usd is None and self.candidate == OWN

    @property
    def asset(self) -> Path:
        """Folder of the USD."""
        return self.usd.parent if self.usd else self.folder / "assets" / self.place

    @property
    def packages(self) -> dict[str, str]:
        """Folder of each ROS package, by name: options go before what the source states."""
        stated = {name: str(folder) for name, folder in self.source.packages}
        return stated | dict(self.options.packages)

    @property
    def arguments(self) -> dict[str, str]:
        """Value of each argument of a xacro file, by name, likewise."""
        return dict(self.source.arguments) | dict(self.options.arguments)

    @property
    def conversion(self) -> ConvertOptions:
        """Options of the conversion: with the base that a list states, if the option does not."""
        base = self.options.base
        if base is BaseOption.AUTO and self.source.base:
            base = BaseOption(self.source.base)
        return structs.replace(
            self.options,
            base=base,
            packages=tuple(self.packages.items()),
            arguments=tuple(self.arguments.items()),
        )

    @property
    def requirements(self) -> Requirements:
        """What the USD has to have: other converters know the base alone."""
        if self.usd is not None:
            return self.required
        options = self.conversion
        if not self.own:
            return Requirements(options.base)
        estimates = options.inertia is InertiaOption.GEOMETRY
        return Requirements(
            options.base,
            options.mass_density if estimates else None,
            options.colliders,
            options.simulation,
        )

    @property
    def subject(self) -> Subject:
        """The subject of its record, before anything is read."""
        source = self.source
        return Subject(
            id=source.id,
            reference=source.reference,
            converter=EXTERNAL if self.usd else self.candidate.title,
            candidate="" if self.usd else self.candidate.name,
            urdf=source.path,
            usd=self.asset,
            packages=self.packages,
            arguments=self.arguments,
            environment=self.options.environment,
            origin=source.origin,
            notes=source.notes,
            searched=source.searched,
            included=source.included,
            mirrored=source.mirrored,
            profile=self.options.profile.value if self.own else None,
        )


class Unchanged(Struct, frozen=True):
    """The result in the folder of the run is still valid."""
