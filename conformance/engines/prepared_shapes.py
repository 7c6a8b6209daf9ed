"""A copy of a URDF with links and shapes alone, for engines that state shapes.

Every joint is fixed and no link has mass, so that an engine can only reject shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from urdf_usd.conformance.engines.mesh_materials import LARGEST_MESH
from urdf_usd.conformance.engines.prepared_urdf import (
    Change,
    Step,
    UrdfElement,
    UrdfText,
    prepare,
)
from urdf_usd.conformance.engines.protocol import Request
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation

_JOINT_PARTS = {"origin", "parent", "child"}
_PACKAGED = ("package://", "model://")
_FILE = "file://"


class ShapeText(Struct, frozen=True):
    """The copy, and the shapes that were left out.

    Attributes:
        urdf: The prepared copy.
        unread: Shapes with a mesh that the engine cannot load, as not stated.
    """

    urdf: UrdfText
    unread: tuple[ShapeObservation, ...]


def prepare_shapes(
    request: Request, loads: Callable[[Role, Path], bool], *steps: Step
) -> ShapeText:
    """Copy links and shapes.

    Args:
        request: The URDF, and the folders of packages.
        loads: Whether the engine loads a mesh file in a role; other meshes are left
            out.
        steps: Further changes that the engine needs.

    Raises:
        AbstentionError: The text is not XML, or not a robot.
    """
    unread: list[ShapeObservation] = []

    def leave_shapes(robot: UrdfElement) -> Change:
        _strip(robot)
        unread.extend(_without_meshes(robot, request, loads))
        return Change("Shapes were read from a copy with links and shapes alone.")

    urdf = prepare(request.path, (leave_shapes, *steps))
    return ShapeText(urdf, tuple(unread))


def _strip(robot: UrdfElement) -> None:
    for part in list(robot):
        if part.tag == "joint":
            part.set("type", "fixed")
            _keep(part, _JOINT_PARTS)
        elif part.tag == "link":
            _keep(part, {"visual", "collision"})
        elif part.tag != "material":
            robot.remove(part)
    for texture in list(robot.iter("texture")):
        parent = texture.getparent()
        if parent is not None:
            parent.remove(texture)


def _keep(element: UrdfElement, tags: set[str]) -> None:
    for child in list(element):
        if child.tag not in tags:
            element.remove(child)


def _without_meshes(
    robot: UrdfElement, request: Request, loads: Callable[[Role, Path], bool]
) -> Iterator[ShapeObservation]:
    """Leave out meshes that cannot be loaded; give the others their absolute path."""
    for link in robot.iterfind("link"):
        name = link.get("name", "")
        for shape in list(link):
            mesh = shape.find("geometry/mesh")
            if mesh is None:
                continue
            reference = mesh.get("filename", "")
            role = Role(str(shape.tag))
            file = find_mesh(reference, Path(request.path), request.packages)
            if file is not None and loads(role, file):
                mesh.set("filename", str(file))
                continue
            link.remove(shape)
            yield unstated(name, role, reference)


def unstated(link: str, role: Role, reference: str) -> ShapeObservation:
    """Return a shape that an engine does not state."""
    return ShapeObservation(
        link=link,
        role=role,
        source=f"{link} {role} {reference}",
        name=reference,
        kind=ShapeKind.MESH,
        stated=False,
    )


def find_mesh(reference: str, urdf: Path, packages: Mapping[str, str]) -> Path | None:
    """Find a mesh file: relative to the URDF, or in a package above it.

    One that is too large is left out, as by the reference engine.

    Args:
        reference: As written in the URDF.
        urdf: The URDF.
        packages: Folders of ROS packages, by name.
    """
    candidates = _candidates(reference, urdf.absolute().parent, packages)
    found = next((path for path in candidates if path.is_file()), None)
    is_large = found is not None and found.stat().st_size > LARGEST_MESH
    return None if is_large else found


def _candidates(reference: str, folder: Path, packages: Mapping[str, str]) -> Iterator[Path]:
    """Yield candidate paths of a mesh file, the most likely first."""
    scheme = next((s for s in _PACKAGED if reference.startswith(s)), None)
    if scheme is None:
        yield folder / reference.removeprefix(_FILE)
        return
    package, _, rest = reference.removeprefix(scheme).partition("/")
    if package in packages:
        yield Path(packages[package], rest)
    for above in folder.parents:
        if above.name == package:
            yield above / rest
    for above in (folder, *folder.parents):
        yield above / package / rest
