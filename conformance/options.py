"""Options of checks and runs."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field, structs

from urdf_usd.conformance.converters.candidates import OURS, OWN, Candidate
from urdf_usd.conformance.engines.protocol import target
from urdf_usd.converter import options as o
from urdf_usd.converter.robot.model import BaseOption
from urdf_usd.converter.simulation.settings import SettingsFile  # noqa: F401  # in annotations

Engines: TypeAlias = Annotated[
    tuple[str, ...],
    o.Option(
        "Use only this engine; 'urdf-usd doctor' lists them. Repeatable.  "
        "[default: all that are installed]",
        "--engine",
        "NAME",
        lambda name: name if target(name) else "",
    ),
]
Jobs: TypeAlias = Annotated[int | None, Meta(ge=1)]


def variants_option(scope: str) -> o.Option:
    """Return the option that selects variants of the prims that a text names."""
    return o.Option(
        f"Select variant NAME of variant set SET {scope} Repeatable.",
        "--variant",
        "[PRIM:]SET=NAME",
        o.VariantChoice.parse,
    )


Variants: TypeAlias = Annotated[
    tuple[o.VariantChoice, ...],
    variants_option(
        "of the prim with path PRIM: by default the default prim or, if it has no such set, "
        "the only prim that has one."
    ),
]
StrictFiles: TypeAlias = Annotated[
    bool,
    "Refuse a USD that refers to files outside the folder of its root layer: by an absolute "
    "path, '..', a symbolic link or a URI. Otherwise these are warnings.",
]


def require_distinct(variants: Sequence[o.VariantChoice]) -> None:
    """Refuse, by a ValueError, a variant set that is named twice."""
    named = [(choice.prim, choice.variant_set) for choice in variants]
    for prim, variant_set in named:
        if named.count((prim, variant_set)) > 1:
            raise ValueError(f"variant set {variant_set!r} is named twice")


class Limits(Struct, frozen=True):
    """Limits of the processes that work on one robot."""

    time: Annotated[
        float,
        Meta(gt=0),
        o.Option(
            "Time limit for each step on a robot: reading, converting, one engine.",
            "--timeout",
            "SECONDS",
            repeated=False,
        ),
    ] = 120.0
    memory: Annotated[
        int | None,
        Meta(ge=0),
        o.Option(
            "Memory limit of a process that works on a robot, and of each file that it writes; "
            "0: unlimited. Linux only.",
            metavar="MIB",
            parse=lambda mebibytes: mebibytes or None,
            repeated=False,
        ),
    ] = 6144  # a robot with meshes at the largest accepted file size took 4.6 GiB


DEFAULT_LIMITS = Limits()


class CheckOptions(Struct, frozen=True, kw_only=True):
    """Options of a check: what the USD has to have of a robot, and how it is read."""

    engines: Engines = ()  # besides the reference and OpenUSD; all if empty
    base: o.FixedBase = BaseOption.AUTO  # the URDF decides if ``auto``
    simulation: o.Settings = None  # its base counts if that of the options is ``auto``
    inertia: o.Inertia = o.InertiaOption.KEEP
    # Of links without mass, with those of shapes [kg/m^3].
    mass_density: o.Density = o.DEFAULT_DENSITY
    colliders: o.ColliderRules = o.NO_COLLIDER_RULES
    packages: o.Packages = ()
    arguments: o.Arguments = ()
    environment: o.Environment = ()
    variants: Variants = ()
    strict: StrictFiles = False
    root: Annotated[
        str | None,
        "--root PATH: Prim of the robot, if it is not below the default prim, or there is none.",
    ] = None
    limits: Limits = DEFAULT_LIMITS  # of each process

    def __post_init__(self) -> None:
        require_distinct(self.variants)


class RunOptions(Struct, frozen=True, kw_only=True):
    jobs: Annotated[
        Jobs,
        o.Option("Number of robots processed in parallel.  [default: one per CPU]", repeated=False),
    ] = None
    limits: Limits = DEFAULT_LIMITS
    resume: Annotated[
        bool,
        o.Option(
            "Reuse results in OUT whose inputs, options and versions are the same and whose files "
            "were not changed.",
            repeated=False,
        ),
    ] = False
    retry: Annotated[
        bool, o.Option("With --resume, repeat robots that crashed or timed out.", repeated=False)
    ] = False
    scheduler: Annotated[
        str | None,
        o.Option(
            "Process robots on the workers of this Dask scheduler, such as tcp://host:8786, which "
            "see the robots and OUT under the same paths. Needs the extra 'cluster'.",
            metavar="ADDRESS",
            repeated=False,
        ),
    ] = None
    timed: Annotated[
        bool,
        o.Option(
            "Write the time that each robot takes to timings/<id>.json.",
            "--timings",
            repeated=False,
        ),
    ] = False
    convert: o.ConvertOptions = field(default_factory=o.ConvertOptions)
    engines: Engines = ()  # as in :class:`CheckOptions`
    variants: Annotated[
        tuple[o.VariantChoice, ...],
        variants_option(
            "in USDs of other converters, including those of folder:PATH, that have this set; "
            "USDs of urdf-usd are compared as they are written. PRIM as for urdf-usd check."
        ),
    ] = ()
    converters: tuple[Candidate, ...] = (OWN,)  # every robot is converted by each
    gated: str = OURS  # name of the converter that decides whether the run passes

    def __post_init__(self) -> None:
        require_distinct(self.variants)

    def as_text(self) -> dict[str, str]:
        """Return the options that change results, for the summary, by name.

        The values of one are quoted for a shell; those of flags are ``yes`` and ``no``. Folders of
        packages are left out, and those of other files, as they differ between machines.
        """
        chosen = structs.replace(
            self, convert=structs.replace(self.convert, packages=(), bodies=self.convert.nesting)
        )
        texts = {
            field.flag.removeprefix("--"): shlex.join(map(field.text, values))
            for field, values in o.stated_options(chosen, recorded=True)
        }
        if "with" in texts:
            texts["with"] = Path(texts["with"]).name
        return texts
