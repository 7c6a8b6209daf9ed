"""Prims that may stand for the links and joints of a URDF, and which do."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from urdf_usd.conformance.observation.robot import JointType, Vec3

Rows: TypeAlias = tuple[tuple[float, ...], ...]

ORIGIN: Rows = (
    (1.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)


@dataclass(frozen=True, slots=True)
class NamedPrim:
    """A prim that may stand for a link.

    Attributes:
        path: Where it is.
        name: What it is called.
        is_body: Whether it is a rigid body, rather than a frame or a folder.
        pose: (4, 4) transform to the world [m], with all joints at zero.
        mass: [kg]; None if it is no body.
        has_shapes: Whether there are shapes in its frame.
    """

    path: str
    name: str
    is_body: bool
    pose: Rows = ORIGIN
    mass: float | None = None
    has_shapes: bool = False


@dataclass(frozen=True, slots=True)
class NamedJoint:
    """A joint prim.

    Attributes:
        path: Where it is.
        name: What it is called.
        ends: Paths of the bodies that it connects; empty for the world. The one nearer
            to the base comes first.
        type: How it moves; None if URDF has no word for that.
        point: A point of its axis in the frame of its second body [m].
        axis: Unit vector likewise; None if it has none.
        closes_loop: Whether its bodies are connected without it.
    """

    path: str
    name: str
    ends: tuple[str, str]
    type: JointType | None
    point: Vec3 = (0.0, 0.0, 0.0)
    axis: Vec3 | None = None
    closes_loop: bool = False


@dataclass(frozen=True, slots=True)
class NamedPrims:
    """What has a name in a USD.

    Attributes:
        links: Bodies, and frames that may be links.
        joints: Joints between them.
    """

    links: tuple[NamedPrim, ...]
    joints: tuple[NamedJoint, ...]


class Matches:
    """Names on one side and prims on the other, and which belong together."""

    def __init__(
        self, names: Sequence[str], prims: Sequence[NamedPrim | NamedJoint]
    ) -> None:
        self.names = list(dict.fromkeys(names))
        self.prims = {prim.path: prim for prim in sorted(prims, key=is_frame)}
        self.path_of: dict[str, str] = {}
        self.name_of: dict[str, str] = {}

    @property
    def new(self) -> dict[str, str]:
        """Names of prims that are called otherwise, by path."""
        return {
            path: name
            for path, name in self.name_of.items()
            if self.prims[path].name != name
        }

    def match(self, key: Callable[[str], str]) -> None:
        """Match what has the same key, where nothing else has it."""
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
        """Say that a prim stands for what has a name."""
        self.path_of[name] = path
        self.name_of[path] = name

    def is_open(self, name: str, path: str) -> bool:
        """Whether nothing is known of both."""
        return (
            name not in self.path_of
            and path in self.prims
            and (path not in self.name_of)
        )

    def are_open(self) -> bool:
        """Whether there are names of which nothing is known, and such prims."""
        return len(self.path_of) < min(len(self.names), len(self.prims))

    def agree(self, name: str, path: str) -> bool:
        """Whether a name and a prim belong together, or may."""
        return self.path_of.get(name, path) == path and (
            self.name_of.get(path, name) == name
        )

    def body(self, place: str) -> str:
        """Return the body that carries a prim; empty, which is the world, if none does.

        What is no prim of these stands for itself.
        """
        body = place
        while body:
            prim = self.prims.get(body)
            if prim is not None and not is_frame(prim):
                return body
            body = body.rpartition("/")[0]
        return "" if place in self.prims else place


def is_frame(prim: NamedPrim | NamedJoint) -> bool:
    """Whether a prim may be a link but is no body."""
    return isinstance(prim, NamedPrim) and not prim.is_body
