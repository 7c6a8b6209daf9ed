"""Prims that are candidates for the links and joints of a URDF, and their matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.conformance.observation.robot import JointType, Vec3

Rows: TypeAlias = tuple[tuple[float, ...], ...]

ORIGIN: Rows = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)


class NamedPrim(Struct, frozen=True):
    """A prim that is a candidate for a link.

    Attributes:
        path: Prim path.
        name: Display name, else prim name.
        is_body: Whether it is a rigid body, rather than a frame or a plain Xform.
        pose: (4, 4) transform to the world [m], with all joints at zero.
        mass: [kg]; None if it is no body.
        has_shapes: Whether it has own shapes.
    """

    path: str
    name: str
    is_body: bool
    pose: Rows = ORIGIN
    mass: float | None = None
    has_shapes: bool = False


class NamedJoint(Struct, frozen=True):
    """A joint prim.

    Attributes:
        path: Prim path.
        name: Display name, else prim name.
        ends: Paths of the bodies that it connects; empty for the world. The one nearer
            to the base comes first.
        type: Kind of motion; None if URDF has no such type.
        point: A point of its axis in the frame of its second body [m].
        axis: Unit vector likewise; None if it has none.
        closes_loop: Whether its bodies are connected by other joints.
    """

    path: str
    name: str
    ends: tuple[str, str]
    type: JointType | None
    point: Vec3 = (0.0, 0.0, 0.0)
    axis: Vec3 | None = None
    closes_loop: bool = False


class NamedPrims(Struct, frozen=True):
    """Candidates for links and joints in a USD.

    Attributes:
        links: Bodies, and frames that may be links.
        joints: Joints between them.
    """

    links: tuple[NamedPrim, ...]
    joints: tuple[NamedJoint, ...]


class Matches:
    """One-to-one matches between URDF names and prims."""

    def __init__(self, names: Sequence[str], prims: Sequence[NamedPrim | NamedJoint]) -> None:
        self.names = list(dict.fromkeys(names))
        self.prims = {prim.path: prim for prim in sorted(prims, key=is_frame)}
        self.path_of: dict[str, str] = {}
        self.name_of: dict[str, str] = {}

    @property
    def new(self) -> dict[str, str]:
        """URDF names of matched prims that have another name, by path."""
        return {path: name for path, name in self.name_of.items() if self.prims[path].name != name}

    def match(self, key: Callable[[str], str]) -> None:
        """Match names and prims with equal keys that are unique on both sides."""
        names = Counter(key(name) for name in self.names if name not in self.path_of)
        bodies: dict[str, list[str]] = {}
        for path, prim in self.prims.items():
            if path not in self.name_of:
                bodies.setdefault(key(prim.name), []).append(path)
        for name in self.names:
            paths = bodies.get(key(name), [])
            if name in self.path_of or not paths or names[key(name)] > 1:
                continue
            solid = [path for path in paths if not is_frame(self.prims[path])]
            if key is str or len(solid or paths) == 1:
                self.add(name, (solid or paths)[0])

    def add(self, name: str, path: str) -> None:
        """Match a name with the prim at a path."""
        self.path_of[name] = path
        self.name_of[path] = name

    def is_unmatched(self, name: str, path: str) -> bool:
        """Whether neither the name nor the prim is matched."""
        return name not in self.path_of and path in self.prims and (path not in self.name_of)

    def has_unmatched(self) -> bool:
        """Whether there are unmatched names and unmatched prims."""
        return len(self.path_of) < min(len(self.names), len(self.prims))

    def compatible(self, name: str, path: str) -> bool:
        """Whether a name and a prim are matched, or could be."""
        return self.path_of.get(name, path) == path and (self.name_of.get(path, name) == name)

    def body(self, place: str) -> str:
        """Return the path of the body that carries a prim; empty for the world.

        A path that is none of the prims is returned as it is.
        """
        body = place
        while body:
            prim = self.prims.get(body)
            if prim is not None and not is_frame(prim):
                return body
            body = body.rpartition("/")[0]
        return "" if place in self.prims else place


def is_frame(prim: NamedPrim | NamedJoint) -> bool:
    """Whether a prim is a candidate for a link without being a body."""
    return isinstance(prim, NamedPrim) and not prim.is_body
