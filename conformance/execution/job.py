"""The examination of one robot: what is converted and compared, and how."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, field, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.engines import InstalledEngine
from urdf_usd.conformance.execution.worker import DEFAULT_LIMITS, Limits
from urdf_usd.converter.options import ConvertOptions, VariantChoice
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.corpus import RobotSource


class Job(Struct, frozen=True):
    """One robot of a run or a check, and how it is examined."""

    source: RobotSource
    engines: tuple[InstalledEngine, ...] = ()
    limits: Limits = DEFAULT_LIMITS
    # of the conversion; of a check, how the URDF is read and what the USD has to have
    options: ConvertOptions = field(default_factory=ConvertOptions)
    # root layer of the USD that is compared, in a check; or another description of the robot
    usd: Path | None = None
    second: RobotSource | None = None  # that description, with its packages
    # names of links and joints in the description, and in that second one
    mapped: tuple[tuple[str, str], ...] = ()
    variants: tuple[VariantChoice, ...] = ()  # to select in it, or in USDs of other converters
    strict: bool = False  # whether a USD is refused that refers to files outside its folder
    root: str | None = None  # prim that is read instead of the default prim
    scene: Path | None = None  # file of a drawing, in a check
    folder: Path = Path()  # of the run
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
        packages, arguments = tuple(self.packages.items()), tuple(self.arguments.items())
        return structs.replace(self.options, base=base, packages=packages, arguments=arguments)

    @property
    def required(self) -> ConvertOptions:
        """Options that the USD has to meet: other converters know the base alone."""
        options = self.conversion
        return options if self.own or self.usd else ConvertOptions(base=options.base)
