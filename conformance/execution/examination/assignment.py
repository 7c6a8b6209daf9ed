"""A robot of a run, and how it is examined."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN, Candidate
from urdf_usd.conformance.execution.assembly import Subject
from urdf_usd.conformance.execution.fingerprint import Programs
from urdf_usd.conformance.execution.tasks import InstalledEngine, ReadRequest
from urdf_usd.conformance.execution.workers.limits import DEFAULT_LIMITS, Limits
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import RobotRecord


class Assignment(Struct, frozen=True):
    """One robot of a run, and how it is examined.

    Attributes:
        source: The robot.
        out: Folder of the run.
        options: Options of the conversion.
        engines: The engines of the run.
        limits: Of each process.
        former: Fingerprint of the result in the folder of the run, if there is one.
        retry: Whether to examine a robot again of which something crashed before.
        candidate: The converter.
        compared: Whether the run has several converters.
        names: Names that a USD of it may have that was made elsewhere.
        timed: Whether to write how long it takes.
        programs: The converter and the engines of other packages, with hashes.
        root: Folder that stands for the root of the file system, if the files come from
            another machine.
        variants: Variants to select in USDs of other converters that have these sets.
    """

    source: RobotSource
    out: Path
    options: ConvertOptions
    engines: tuple[InstalledEngine, ...]
    limits: Limits = DEFAULT_LIMITS
    former: str | None = None
    retry: bool = False
    candidate: Candidate = OWN
    compared: bool = False
    names: tuple[str, ...] = ()
    timed: bool = False
    programs: Programs = ()
    root: Path | None = None
    variants: tuple[VariantChoice, ...] = ()

    @property
    def place(self) -> str:
        """Its path within each folder of the run, without a suffix."""
        name = self.source.id
        return f"{self.candidate.name}/{name}" if self.compared else name


class Unchanged(Struct, frozen=True):
    """The result in the folder of the run is still valid.

    Attributes:
        record: Its record, if that was read.
    """

    record: RobotRecord | None = None


def read_request(source: RobotSource, options: ConvertOptions) -> ReadRequest:
    """Return with what a robot is read: options go before what its source states."""
    packages = {name: str(folder) for name, folder in source.packages}
    return ReadRequest(
        str(source.path),
        packages | dict(options.packages),
        dict(source.arguments) | dict(options.arguments),
        options.environment,
    )


def subject_of(assignment: Assignment) -> Subject:
    """Return the subject of a robot's record, before anything is read."""
    source = assignment.source
    request = read_request(source, assignment.options)
    return Subject(
        id=source.id,
        reference=source.reference,
        converter=assignment.candidate.title,
        candidate=assignment.candidate.name,
        urdf=source.path,
        usd=assignment.out / "assets" / assignment.place,
        packages=request.packages,
        arguments=request.arguments,
        environment=request.environment,
        origin=source.origin,
        notes=source.notes,
        searched=source.searched,
        included=source.included,
        mirrored=source.mirrored,
        profile=(assignment.options.profile.value if assignment.candidate == OWN else None),
    )


def conversion_options(assignment: Assignment) -> ConvertOptions:
    """Return the options with which a robot is converted."""
    subject = subject_of(assignment)
    return structs.replace(
        assignment.options,
        base=_base_option(assignment.options.base, assignment.source),
        packages=tuple(subject.packages.items()),
        arguments=tuple(subject.arguments.items()),
    )


def _base_option(option: BaseOption, source: RobotSource) -> BaseOption:
    """Return the base of a robot: that of the option, or else of its list."""
    if option is BaseOption.AUTO and source.base:
        return BaseOption(source.base)
    return option
