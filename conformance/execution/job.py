"""The examination of one robot: what is converted and compared, and how."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.engines import InstalledEngine
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, Limits
from urdf_usd.converter.options import (
    NO_COLLIDER_RULES,
    ColliderRules,
    ConvertOptions,
    InertiaOption,
    VariantChoice,
)
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.simulation.description import Description
from urdf_usd.corpus import RobotSource


class Requirements(Struct, frozen=True):
    """What a USD has to have, besides what its URDF says."""

    base: BaseOption = BaseOption.AUTO
    # of links without mass, if missing mass properties are to be those of shapes [kg/m^3]
    density: float | None = None
    colliders: ColliderRules = NO_COLLIDER_RULES  # instead of the URDF's
    description: Description | None = None  # robot description file with settings


class ReadOptions(Struct, frozen=True):
    """How a USD of another converter is read."""

    variants: tuple[VariantChoice, ...] = ()  # to select
    optional: bool = False  # whether the USD may lack variant sets that ``variants`` names
    strict: bool = False  # whether a USD is refused that refers to files outside its folder
    root: str | None = None  # prim that is read instead of the default prim


class Job(Struct, frozen=True):
    """One robot of a run or a check, and how it is examined."""

    source: RobotSource
    engines: tuple[InstalledEngine, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    # root layer of the USD that is compared, in a check; or another description of the robot
    usd: Path | None = None
    second: RobotSource | None = None  # that description, with its packages
    # names of links and joints in the description, and in that second one
    mapped: tuple[tuple[str, str], ...] = ()
    required: Requirements = field(default_factory=Requirements)  # of that USD
    reading: ReadOptions = field(default_factory=ReadOptions)  # of it, or other converters' USDs
    scene: Path | None = None  # file of a drawing, in a check
    folder: Path = Path()  # of the run
    # of the conversion; of a check, how the URDF is read
    options: ConvertOptions = field(default_factory=ConvertOptions)
    candidate: Candidate = OWN  # the converter
    compared: bool = False  # whether the run has several converters
    names: tuple[str, ...] = ()  # that a USD of it may have that was made elsewhere
    timed: bool = False  # whether to write how long it takes

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
