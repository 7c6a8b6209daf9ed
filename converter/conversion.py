"""Conversion of a URDF file to a USD asset on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import (
    AuthoringError,
    ConversionError,
    Diagnostic,
    with_notes,
)
from urdf_usd.converter.diagnostics.messages import write_failure
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.estimation import estimate_robot
from urdf_usd.converter.options import (
    DEFAULT_DENSITY,
    DEFAULT_TOLERANCE,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ColliderTolerance,
    ConvertOptions,
    InertiaOption,
    Layout,
    MeshProgress,
    Profile,
)
from urdf_usd.converter.robot.bodies import BodyAssignment, assign_bodies
from urdf_usd.converter.robot.body_options import Base, BaseOption
from urdf_usd.converter.robot.joint_chains import merge_chains
from urdf_usd.converter.robot.mass_properties import has_mass
from urdf_usd.converter.robot.model import Approximation, Robot
from urdf_usd.converter.robot.text import robot_line
from urdf_usd.converter.robot.topology import Tree, build_tree
from urdf_usd.converter.scratch import FORMER, NEW, scratch_folder
from urdf_usd.converter.simulation.description import CollidersTable, Description
from urdf_usd.converter.simulation.resolution import resolve
from urdf_usd.converter.simulation.sources import Simulation
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.usd.writer.asset import (
    CONTENTS,
    PAYLOAD,
    PAYLOAD_LAYERS,
    RUNNABLE_LAYERS,
    asset_name,
    author_asset,
    is_written_here,
    system_errors,
    thumbnail_path,
)
from urdf_usd.converter.usd.writer.layouts import ISAAC_FILES, PAYLOADS, arrange, bundle
from urdf_usd.converter.usd.writer.materials import TEXTURES
from urdf_usd.converter.usd.writer.textures import IMAGE_TYPES


class Conversion(Struct, frozen=True):
    """A written asset.

    Attributes:
        root_layer: The file of the asset that consumers open.
        robot: The robot of the URDF.
        base: Kind of base in the asset.
        diagnostics: Repairs, decisions and omissions.
    """

    root_layer: Path
    robot: Robot
    base: Base
    diagnostics: tuple[Diagnostic, ...]

    def __repr__(self) -> str:
        line = robot_line(self.robot, self.diagnostics)
        return f"<Conversion {str(self.root_layer)!r}: {line}, {self.base.value} base>"


DEFAULTS = ConvertOptions()


def with_description(options: ConvertOptions, description: Description) -> ConvertOptions:
    """Add a robot description file to options.

    Its base, profile, colliders and treatment of inertia become those of the options.

    Args:
        options: A base other than ``auto``, a profile other than ``generic``, a
            tolerance and a density other than the default, and rules for colliders
            override those of the file.
        description: The file.

    Raises:
        ConversionError: Its profile contradicts the options.
    """
    content = description.tables
    base, profile = options.base, options.profile
    if content.base is not None and base is BaseOption.AUTO:
        base = BaseOption(content.base)
    if content.profile is not None and profile is Profile.GENERIC:
        profile = Profile(content.profile)
    inertia, density = options.inertia, options.mass_density
    if content.inertia is not None:
        if inertia is InertiaOption.KEEP:
            inertia = InertiaOption(content.inertia.missing)
        if density == DEFAULT_DENSITY:
            density = content.inertia.density or density
    try:
        return structs.replace(
            options,
            base=base,
            profile=profile,
            inertia=inertia,
            mass_density=density,
            colliders=_collider_rules(content.colliders, options.colliders),
            simulation=description,
        )
    except ValueError as error:
        location = description.location("profile")
        raise ConversionError((Diagnostic("description-value", str(error), location),)) from None


def _collider_rules(table: CollidersTable, given: ColliderRules) -> ColliderRules:
    """Return the rules of a description file, before those that are given."""
    default = [ColliderRule(ColliderKind(table.default))] if table.default else []
    named = [ColliderRule(ColliderKind(kind), pattern) for pattern, kind in table.links.items()]
    tolerance = given.tolerance
    if table.tolerance is not None and tolerance == DEFAULT_TOLERANCE:
        tolerance = ColliderTolerance.parse(str(table.tolerance))
    return ColliderRules((*default, *named, *given.rules), tolerance)


def convert(
    source: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    options: ConvertOptions = DEFAULTS,
    *,
    progress: MeshProgress | None = None,
) -> Conversion:
    """Convert a URDF or xacro file to a USD asset.

    The asset is built in a temporary folder and moved when it is complete, so that a
    failure leaves the target unchanged.

    Args:
        source: URDF file, or a file that ends in ``.xacro``.
        directory: Folder of the asset: new, empty, or with an earlier conversion,
            which is replaced.
        options: Choices.
        progress: Is called before a mesh is decomposed by CoACD, with its file name,
            its number from one on, and the number of meshes.

    Raises:
        ConversionError: The robot cannot be read or written.
    """
    _require_replaceable(Path(directory))
    parsed = parse(
        source,
        packages=dict(options.packages),
        arguments=dict(options.arguments),
        environment=options.environment,
        root=options.root,
    )
    return convert_parsed(parsed, directory, options, progress=progress)


def convert_parsed(
    parsed: Parsed,
    directory: str | os.PathLike[str],
    options: ConvertOptions = DEFAULTS,
    *,
    progress: MeshProgress | None = None,
) -> Conversion:
    """Convert a robot that was already read; see :func:`convert`.

    Args:
        parsed: The robot and the diagnostics of reading it.
        directory: As :func:`convert`.
        options: Options; those about reading are ignored.
        progress: As :func:`convert`.

    Raises:
        ConversionError: The robot cannot be written.
    """
    target = Path(directory)
    _require_replaceable(target)
    robot = parsed.robot
    notes = list(parsed.diagnostics)
    if not options.keep_chains:
        robot = merge_chains(robot, notes)
    if options.inertia is InertiaOption.GEOMETRY:
        robot = estimate_robot(robot, options.base, options.mass_density, notes)
    if options.colliders:
        from urdf_usd.converter.colliders import replace_colliders

        robot = replace_colliders(robot, options.colliders, _triangles(options), progress, notes)
    tree = build_tree(robot)
    body_assignment = assign_bodies(
        tree, options.base, options.massless, merge_fixed=options.merge_fixed
    )
    notes += body_assignment.diagnostics
    if options.inertia is InertiaOption.KEEP:
        notes += _negligible_mass(tree, body_assignment)
    simulation: Simulation | None = None
    if options.simulation is not None:
        urdf = _with_mass_of(robot, parsed.robot)
        described: list[Diagnostic] = []
        with with_notes(described):
            simulation = resolve(options.simulation, robot, urdf, described)
        notes += described
    _refuse_warnings(notes, options)
    try:
        with scratch_folder(_nearest_folder(target)) as scratch:
            with system_errors():
                folder, found = _build(robot, tree, body_assignment, simulation, scratch, options)
            notes += found
            _move_into_place(folder, target, scratch / FORMER)
    except OSError as error:
        message = write_failure(target, error.strerror or str(error))
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    return Conversion(
        root_layer=target / asset_name(parsed.robot, options.layout),
        robot=parsed.robot,
        base=body_assignment.base,
        diagnostics=tuple(notes),
    )


def _with_mass_of(robot: Robot, urdf: Robot) -> Robot:
    """Return the robot of a URDF, with mass that was estimated."""
    inertials = {link.name: link.inertial for link in robot.links}
    links = (
        structs.replace(link, inertial=inertials.get(link.name, link.inertial))
        for link in urdf.links
    )
    return structs.replace(urdf, links=tuple(links))


def _triangles(options: ConvertOptions) -> Approximation:
    """Return the approximation of colliders of triangles.

    PhysX takes a moving body's triangles for their convex hull, without a warning, and
    a signed distance field for what it is; Newton reads both as triangles. UsdPhysics
    has no token for the latter.
    """
    if options.profile in {Profile.GENERIC, Profile.PHYSX}:
        return Approximation.SDF
    return Approximation.TRIANGLES


def _negligible_mass(tree: Tree, body_assignment: BodyAssignment) -> tuple[Diagnostic, ...]:
    """Report moving bodies that have shapes, and only an added mass or inertia."""
    shaped = {body_assignment.body_of[link.name] for link in tree.link.values() if link.shapes}
    found = [name for name in body_assignment.negligible if name in shaped]
    if not found:
        return ()
    weighs = any(map(has_mass, tree.link.values()))
    bodies = "1 moving body" if len(found) == 1 else f"{len(found)} moving bodies"
    message = (
        f"{bodies if weighs else 'no link has mass: ' + bodies} cannot be simulated, "
        f"such as link {found[0]!r}: mass or inertia is negligible; "
        "--inertia geometry computes both from shapes"
    )
    location = tree.link[found[0]].location
    return (Diagnostic("body-negligible", message, location),)


def _build(
    robot: Robot,
    tree: Tree,
    body_assignment: BodyAssignment,
    simulation: Simulation | None,
    scratch: Path,
    options: ConvertOptions,
) -> tuple[Path, tuple[Diagnostic, ...]]:
    """Write an asset below an empty folder; return its folder and diagnostics."""
    bundled, layered = (scratch / name for name in NEW)
    layered.mkdir()
    found = author_asset(robot, tree, body_assignment, layered, options, simulation)
    _refuse_warnings(found, options)
    if options.profile is not Profile.ISAAC and options.layout is Layout.LAYERED:
        return layered, found
    bundled.mkdir()
    if options.profile is Profile.ISAAC:
        arrange(layered, asset_name(robot), bundled)
    else:
        bundle(layered, asset_name(robot), bundled, options.layout)
    return bundled, found


def _nearest_folder(target: Path) -> Path:
    """Return the nearest existing ancestor of the target."""
    folder = target.absolute()
    while not folder.is_dir():
        folder = folder.parent
    return folder.parent if folder == target.absolute() else folder


def _move_into_place(folder: Path, target: Path, former: Path) -> None:
    """Move a finished asset to the target, and an earlier one to ``former``.

    The target folder itself is kept: it may be the working folder, or a mount. If a
    move fails, the earlier files are restored.
    """
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)
        return
    former.mkdir()
    moved: list[tuple[Path, Path]] = []
    try:
        for source, destination in ((target, former), (folder, target)):
            for entry in sorted(source.iterdir()):
                entry.rename(destination / entry.name)
                moved.append((entry, destination / entry.name))
    except OSError:
        for origin, place in reversed(moved):
            place.rename(origin)
        raise


def _refuse_warnings(diagnostics: Iterable[Diagnostic], options: ConvertOptions) -> None:
    if not options.strict:
        return
    warnings = tuple(
        diagnostic for diagnostic in diagnostics if diagnostic.severity is Severity.WARNING
    )
    if warnings:
        raise ConversionError(warnings)


def _require_replaceable(target: Path) -> None:
    """Refuse to replace anything but an earlier conversion."""
    try:
        target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, ValueError) as error:
        # A name that is too long, or with a null character.
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"{str(target)!r} cannot be written: {reason}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    if not target.is_dir():
        message = f"{target} is a file; the asset needs a folder"
        raise AuthoringError((Diagnostic("target-exists", message),))
    if next(target.iterdir(), None) is not None and not _is_asset(target):
        message = (
            f"{target} holds files that no conversion wrote; name a new folder, or empty this one"
        )
        raise AuthoringError((Diagnostic("target-exists", message),))


def _is_asset(target: Path) -> bool:
    """Return whether a folder contains an earlier conversion and nothing else."""
    names = {
        entry.relative_to(target).as_posix()
        for entry in target.rglob("*")
        if entry.is_symlink() or not entry.is_dir()
    }
    roots = [name for name in names if "/" not in name]
    if len(roots) != 1 or not is_written_here(target / roots[0]):
        return False
    (root,) = roots
    layers: set[str] = set()
    match Path(root).suffix:
        case Layout.SINGLE.suffix:
            folder = ""
        case Layout.LAYERED.suffix if (target / PAYLOADS).is_dir():
            folder = f"{PAYLOADS}/"
            layers = {f"{PAYLOADS}/{name}" for name in ISAAC_FILES}
        case Layout.LAYERED.suffix if (target / PAYLOAD / CONTENTS).is_file():
            folder = f"{PAYLOAD}/"
            layers = {f"{PAYLOAD}/{name}" for name in PAYLOAD_LAYERS} | set(
                RUNNABLE_LAYERS.values()
            )
            layers.add(thumbnail_path(target / root).relative_to(target).as_posix())
        case suffix:
            return suffix == Layout.USDZ.suffix and names == {root}
    images = {
        name
        for name in names
        if name.rpartition("/")[0] == f"{folder}{TEXTURES}"
        and Path(name).suffix in IMAGE_TYPES.values()
    }
    return names <= {root, *layers, *images}
