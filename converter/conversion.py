"""Conversion of a URDF file to a USD asset on disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.converter.diagnostics import (
    AuthoringError,
    ConversionError,
    Diagnostic,
    Severity,
    with_notes,
)
from urdf_usd.converter.options import (
    ConvertOptions,
    InertiaOption,
    Layout,
    MeshProgress,
    Profile,
)
from urdf_usd.converter.robot.bodies import BodyAssignment, assign_bodies, has_mass
from urdf_usd.converter.robot.joint_chains import merge_chains
from urdf_usd.converter.robot.model import Approximation, Base, Robot, robot_line
from urdf_usd.converter.robot.topology import Tree, build_tree
from urdf_usd.converter.scratch import FORMER, NEW, scratch_folder
from urdf_usd.converter.shapes import estimate_robot, replace_colliders
from urdf_usd.converter.simulation.resolution import Simulation, resolve
from urdf_usd.converter.urdf.parse import Parsed, parse
from urdf_usd.converter.usd.writer import asset
from urdf_usd.converter.usd.writer.layouts import ISAAC_INSTANCES, write_asset
from urdf_usd.converter.usd.writer.materials import TEXTURES
from urdf_usd.converter.usd.writer.textures import IMAGE_TYPES


class Conversion(Struct, frozen=True):
    """A written asset."""

    root_layer: Path  # The file that consumers open.
    robot: Robot  # Of the URDF.
    base: Base  # Kind of base in the asset.
    diagnostics: tuple[Diagnostic, ...]  # Repairs, decisions and omissions.

    def __repr__(self) -> str:
        line = robot_line(self.robot, self.diagnostics)
        return f"<Conversion {str(self.root_layer)!r}: {line}, {self.base.value} base>"


DEFAULTS = ConvertOptions()


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
    """Convert a robot that was already read; see :func:`convert`."""
    target = Path(directory)
    _require_replaceable(target)
    profile = options.profile
    robot = parsed.robot
    notes = list(parsed.diagnostics)
    if not options.keep_chains:
        robot = merge_chains(robot, notes)
    if options.inertia is InertiaOption.GEOMETRY:
        robot = estimate_robot(robot, options.base, options.mass_density, notes)
    if options.colliders:
        # PhysX takes a moving body's triangles for their convex hull, without a warning, and
        # a signed distance field for what it is; Newton reads both as triangles. UsdPhysics
        # has no token for the latter.
        is_for_physx = profile in {Profile.GENERIC, Profile.PHYSX}
        triangles = Approximation.SDF if is_for_physx else Approximation.TRIANGLES
        robot = replace_colliders(robot, options.colliders, triangles, progress, notes)
    tree = build_tree(robot)
    bodies = assign_bodies(tree, options.base, options.massless, merge_fixed=options.merge_fixed)
    notes += bodies.diagnostics
    if options.inertia is InertiaOption.KEEP:
        notes += _negligible_mass(tree, bodies)
    simulation: Simulation | None = None
    if options.simulation is not None:
        # Joints of several axes are chains in the URDF; its mass is that which is written.
        written = {link.name: link for link in robot.links}
        links = tuple(written.get(link.name, link) for link in parsed.robot.links)
        urdf = structs.replace(parsed.robot, links=links)
        described: list[Diagnostic] = []
        with with_notes(described):
            simulation = resolve(options.simulation, robot, urdf, described)
        notes += described
    _refuse_warnings(notes, options)
    try:
        # Beside the target, or in its nearest ancestor.
        nearest = next(filter(Path.is_dir, target.absolute().parents))
        with scratch_folder(nearest) as scratch:
            folder = scratch / NEW
            folder.mkdir()
            with asset.system_errors():
                found = write_asset(robot, tree, bodies, folder, options, simulation)
            _refuse_warnings(found, options)
            notes += found
            _move_into_place(folder, target, scratch / FORMER)
    except OSError as error:
        message = f"{target} cannot be written: {error.strerror or error}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    root = target / asset.asset_name(parsed.robot, options.layout)
    return Conversion(root, parsed.robot, bodies.base, tuple(notes))


def convert_plainly(urdf: str, directory: str, packages: Mapping[str, str]) -> str:
    """Return the root layer of a default conversion: an entry point ``urdf_usd.converters``."""
    options = ConvertOptions(packages=tuple(packages.items()))
    return str(convert(urdf, directory, options).root_layer)


def _negligible_mass(tree: Tree, bodies: BodyAssignment) -> tuple[Diagnostic, ...]:
    """Report moving bodies that have shapes, and only an added mass or inertia."""
    shaped = {bodies.body_of[link.name] for link in tree.link.values() if link.shapes}
    found = [name for name in bodies.negligible if name in shaped]
    if not found:
        return ()
    moving = "1 moving body" if len(found) == 1 else f"{len(found)} moving bodies"
    if not any(map(has_mass, tree.link.values())):
        moving = f"no link has mass: {moving}"
    message = f"{moving} cannot be simulated, such as link {found[0]!r}: mass or inertia is "
    message += "negligible; --inertia geometry computes both from shapes"
    return (Diagnostic("body-negligible", message, tree.link[found[0]].location),)


def _move_into_place(folder: Path, target: Path, former: Path) -> None:
    """Move a finished asset to the target, maybe a mount, and an earlier one to ``former``."""
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
    warnings = tuple(one for one in diagnostics if one.severity is Severity.WARNING)
    if options.strict and warnings:
        raise ConversionError(warnings)


def _require_replaceable(target: Path) -> None:
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
    root, *others = [name for name in names if "/" not in name] or [""]
    if others or not asset.is_written_here(target / root):
        return False
    allowed = {root}
    folders = [asset.PAYLOAD, "payloads"] if root.endswith(Layout.LAYERED.suffix) else []
    if folders:
        allowed |= {f"{asset.PAYLOAD}/{name}" for name in asset.Layer}
        allowed |= {*asset.ISAAC_PLACES.values(), ISAAC_INSTANCES}
        allowed |= set(asset.RUNNABLE_LAYERS.values())
        allowed.add(asset.thumbnail_path(target / root).relative_to(target).as_posix())
    elif root.endswith(Layout.SINGLE.suffix):
        folders = [""]
    textures = {(Path(folder) / TEXTURES).as_posix() for folder in folders}
    suffixes = tuple(IMAGE_TYPES.values())
    images = {name for name in names if name.endswith(suffixes)}
    return names <= allowed | {n for n in images if n.rpartition("/")[0] in textures}
