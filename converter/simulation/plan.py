"""Description files that were read, and the settings that they lead to, in SI units.

Conversions import this module; the structure of the file needs msgspec.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Location

Place: TypeAlias = "tuple[str | int, ...]"
"""Path of a key in a document: names of tables and keys, and indices."""


def located(file: str, places: Mapping[Place, tuple[int, int]], place: Place) -> Location:
    """Return the position of a key, or of the nearest table around it."""
    while place and place not in places:
        place = place[:-1]
    return Location(file, *places.get(place, (1, 1)))


class Description(Struct, frozen=True):
    """A description file that was read.

    Attributes:
        file: Path as given.
        sha256: Hash of its bytes.
        text: Its text, which is valid: see
            :func:`urdf_usd.converter.simulation.description.tables_of`.
        attached: Content of the files that it names, by name as written.
        places: Line and column of each table and key, by its path in the document.
    """

    file: str
    sha256: str
    text: str
    attached: tuple[tuple[str, bytes], ...] = ()
    places: tuple[tuple[Place, tuple[int, int]], ...] = ()

    def location(self, *place: str | int) -> Location:
        """Return the position of a key or of the nearest table around it."""
        return located(self.file, dict(self.places), place)

    def path_of(self, name: str) -> str:
        """Return the path of a file that the description names."""
        return str(Path(self.file).parent / name)


class JointDrive(Struct, frozen=True):
    """A drive with gains.

    The force is ``stiffness * (target_position - position) + damping *
    (target_velocity - velocity)``, within the effort limit of the URDF.

    Attributes:
        joint: Name of a revolute, continuous or prismatic joint.
        stiffness: [N m/rad or N/m].
        damping: [N m s/rad or N s/m].
        target_position: [rad or m].
        target_velocity: [rad/s or m/s].
    """

    joint: str
    stiffness: float
    damping: float
    target_position: float = 0.0
    target_velocity: float = 0.0


class ContactMaterial(Struct, frozen=True):
    """Contact material of the colliders of a link.

    Attributes:
        link: Name of the link.
        static: Coefficient of static friction.
        dynamic: Coefficient of dynamic friction.
        restitution: Coefficient of restitution.
    """

    link: str
    static: float
    dynamic: float
    restitution: float = 0.0


class Simulation(Struct, frozen=True):
    """All settings of a robot that do not come from its URDF alone.

    Attributes:
        drives: In the order of the robot's joints.
        armatures: Joints, and inertia of their motors [kg m^2 or kg].
        limit_stiffnesses: Joints, and stiffness of the springs at their limits [N m/rad
            or N/m].
        limit_dampings: Joints, and damping of these springs [N m s/rad or N s/m].
        positions: Joints, and initial positions other than zero [rad or m].
        filtered_pairs: Links that do not collide, each pair and all pairs sorted.
        filter_overlaps: Whether bodies whose colliders overlap at the zero
            configuration do not collide either.
        self_collision: Whether links of the robot collide; None if simulators decide.
        contact_materials: One per link at most, in the order of the links.
    """

    drives: tuple[JointDrive, ...] = ()
    armatures: tuple[tuple[str, float], ...] = ()
    limit_stiffnesses: tuple[tuple[str, float], ...] = ()
    limit_dampings: tuple[tuple[str, float], ...] = ()
    positions: tuple[tuple[str, float], ...] = ()
    filtered_pairs: tuple[tuple[str, str], ...] = ()
    filter_overlaps: bool = False
    self_collision: bool | None = None
    contact_materials: tuple[ContactMaterial, ...] = ()
