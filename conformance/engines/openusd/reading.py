"""One reading of a stage: composition, OpenUSD's physics parser, links and world transforms.

Behaviour of the parser, measured on usd-core 26.11, and its handling here:

- A joint side that targets a prim without a body resolves to the nearest body above, else to the
  world, and its frame is re-expressed there; below a collider without a body, to the outermost such
  collider, which is static. A target that does not exist is the world, without a message.
- Local positions are multiplied by the world scale of their body.
- A limit that is reported as disabled means free. A revolute joint's is disabled as soon as one of
  its bounds is beyond 5e37; a prismatic joint's or a D6's with one infinite bound stays enabled.
- A collider that is no Gprim gets a warning and no descriptor. PhysX (ovphysx 0.7) makes colliders
  of the meshes that are its children, as importers of Isaac Sim intend; so does this reading.
- A disabled joint divides an articulation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import cached_property
from typing import Any

import newton_usd_schemas  # noqa: F401  registers schemas, hence their fallbacks
import numpy as np
from msgspec import Struct
from pxr import Gf, Pcp, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.values import Authored, read_authored, unusable_values
from urdf_usd.conformance.engines.protocol import InvalidFileError, UnsupportedError
from urdf_usd.conformance.engines.statements import Array, inverses, read_only, rigid_part
from urdf_usd.conformance.observation.robot import JointType

WORLD = ""
"""Represents the world in place of a body's path, as in the parser's descriptors."""
SHOWN = frozenset({UsdGeom.Tokens.default_, UsdGeom.Tokens.render})
"""Purposes that renderers show."""
PROXIES = Usd.TraverseInstanceProxies()
# Of a scale of one.
_ROUNDING = 1e-9
# Unusable values that are listed.
_MOST_NAMED = 3
_JOINTS = ("Fixed", "Revolute", "Prismatic", "Spherical", "D6", "Distance")
_SHAPES = ("Cube", "Sphere", "Cylinder", "Capsule", "Cone", "Mesh")
# Composition errors that mean that parts of the robot are missing.
_INCOMPLETE = {
    getattr(Pcp, f"ErrorType_{name}")
    for name in (
        *("ArcCapacityExceeded", "ArcCycle", "ArcNamespaceDepthCapacityExceeded"),
        *("IndexCapacityExceeded", "InvalidAssetPath", "InvalidPrimPath", "InvalidSublayerPath"),
        *("SublayerCycle", "UnresolvedPrimPath", "VariableExpressionError"),
    )
}
# What OpenUSD adds to messages with addresses in memory, which differ in each process.
_ADDRESSES = re.compile(
    r",@anon:0x[0-9a-f]+:[^@]*@| \(instantiating stage on stage @[^@]*@ <0x[0-9a-f]+>\)"
)
_ADDS = "newton:jointsAddMobility"
# The least that a body may have: without a mass the parser makes one up [kg, kg m^2].
_LEAST_MASS = 1e-12
# Differences of float32 numbers that are rounding, relative to the numbers.
_FLOAT32_ROUNDING = 2.0**-21
_WELDS = {"fixed": JointType.FIXED, "floating": JointType.FLOATING}


class SchemaFamily(StrEnum):
    """Schemas of one simulator for joints, or the drives of OpenUSD."""

    DRIVES = "drives"
    NEWTON = "newton"
    PHYSX = "physx"
    MUJOCO = "mujoco"


# Prefixes of names of schemas and properties, in lower case.
_BEGINNINGS = {
    SchemaFamily.DRIVES: ("drive:", "physicsdriveapi:"),
    SchemaFamily.NEWTON: ("newton",),
    SchemaFamily.PHYSX: ("physx",),
    SchemaFamily.MUJOCO: ("mjc",),
}


class Units(Struct, frozen=True):
    """SI value of one unit of the stage: length [m], mass [kg]."""

    length: float
    mass: float

    @property
    def inertia(self) -> float:
        """One unit of inertia [kg m^2]."""
        return self.mass * self.length**2

    def position(self, *, angular: bool) -> float:
        """One unit of the position of a joint: degrees [rad] or length [m]."""
        return math.radians(1.0) if angular else self.length

    def effort(self, *, angular: bool) -> float:
        """One unit of torque [N m] or force [N]; time is in seconds."""
        return self.mass * self.length ** (2 if angular else 1)


class Weld(Struct, frozen=True):
    """A URDF joint without a joint prim, from custom attributes on its child."""

    joint: str  # URDF name
    type: JointType  # fixed or floating
    parent: str | None  # URDF name of the parent link, if stated


class LinkPrim(Struct, frozen=True):
    path: str
    name: str  # URDF name
    body: str  # path of the body that carries it: its own for a body, WORLD if none
    above: str | None  # name of the nearest candidate above it
    weld: Weld | None  # the joint in its custom attributes

    @property
    def is_body(self) -> bool:
        return self.path == self.body


class Reading(Struct, frozen=True, eq=False, dict=True):
    """A stage, and the descriptors of the parser below its robot; keys are prim paths."""

    stage: Usd.Stage
    robot: Usd.Prim  # the default prim
    bodies: Mapping[str, UsdPhysics.RigidBodyDesc]  # in the parser's order
    joints: Mapping[str, UsdPhysics.JointDesc]
    shapes: Mapping[str, UsdPhysics.ShapeDesc]  # colliders whose volume can be computed
    articulations: Mapping[str, UsdPhysics.ArticulationDesc]
    missing: tuple[str, ...]  # layers, references and payloads that are missing, or cyclic
    # Prims of the whole stage with their properties, unless its values were known to be usable
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]]
    notes: tuple[str, ...]  # on colliders that are no Gprims

    def prim(self, path: str | Sdf.Path) -> Usd.Prim:
        return self.stage.GetPrimAtPath(path)

    @cached_property
    def prims(self) -> list[Usd.Prim]:
        """Prims of the whole stage, as far as :attr:`authored` was read."""
        return [prim for prim, _ in self.authored]

    @cached_property
    def units(self) -> Units:
        return Units(
            float(UsdGeom.GetStageMetersPerUnit(self.stage)),
            float(UsdPhysics.GetStageKilogramsPerUnit(self.stage)),
        )

    @cached_property
    def up(self) -> int:
        return "XYZ".index(UsdGeom.GetStageUpAxis(self.stage))

    @cached_property
    def families(self) -> frozenset[SchemaFamily]:
        prims = [self.prim(path) for path in self.joints]
        names = {
            name.lower()
            for prim in prims
            for name in (*applied_schemas(prim), *prim.GetAuthoredPropertyNames())
        }
        return frozenset(
            family
            for family, beginnings in _BEGINNINGS.items()
            if any(name.startswith(beginnings) for name in names)
        )

    @cached_property
    def joint_prims(self) -> dict[str, Usd.Prim]:
        return {urdf_name(prim): prim for prim in map(self.prim, self.joints)}

    def body_of(self, collider: str) -> str:
        """Return the body of a collider, or WORLD."""
        shape = self.shapes.get(collider)
        return str(shape.rigidBody) if shape and shape.collisionEnabled else WORLD

    @cached_property
    def candidates(self) -> tuple[LinkPrim, ...]:
        """All prims that may be links, in the order of the stage."""
        # Every rigid body is a link. So may be an Xform without a body: a massless link below the
        # body that it is fixed to, or a link ``world`` above the bodies. As the schema does not
        # distinguish these from groups of geometry, every Xform below the default prim and not
        # below a Gprim is a candidate; surplus ones have no effect.
        found: dict[str, LinkPrim] = {}
        # Shapes hold no frames, but a body below one is simulated.
        above = {prefix for path in self.bodies for prefix in Sdf.Path(path).GetPrefixes()[:-1]}
        prims = iter(Usd.PrimRange(self.robot, PROXIES))
        for prim in prims:
            path = str(prim.GetPath())
            # The default prim is the robot, not one of its links, unless it is a body.
            if path in self.bodies or (prim.GetTypeName() == "Xform" and prim != self.robot):
                over = next((up for up in _ancestors(path) if up in found), None)
                outer = found[over] if over else None
                carrier = path if path in self.bodies else outer.body if outer else WORLD
                joint = text_attribute(prim, "urdf:joint:name")
                kind = _WELDS.get(text_attribute(prim, "urdf:joint:type") or "fixed")
                weld = None
                if joint is not None and kind is not None:
                    weld = Weld(joint, kind, text_attribute(prim, "urdf:joint:parent"))
                nearest = outer.name if outer else None
                found[path] = LinkPrim(path, urdf_name(prim), carrier, nearest, weld)
            if prim.IsA(UsdGeom.Gprim) and prim.GetPath() not in above:
                prims.PruneChildren()
        return tuple(found.values())

    @cached_property
    def ranked(self) -> tuple[LinkPrim, ...]:
        """Candidates in order of precedence: bodies, Xforms with ``urdf:joint:name``, others."""
        return tuple(sorted(self.candidates, key=lambda x: (not x.is_body, x.weld is None)))

    @cached_property
    def links(self) -> dict[str, LinkPrim]:
        """The candidates by URDF name, one for each, in the order of the stage."""
        first = {link.name: link for link in reversed(self.ranked)}
        return {link.name: link for link in self.candidates if first[link.name] is link}

    @cached_property
    def links_by_path(self) -> dict[str, LinkPrim]:
        return {link.path: link for link in self.links.values()}

    def links_above(self, prim: Usd.Prim) -> Iterator[LinkPrim]:
        """Yield the candidates at and above a prim, from the nearest."""
        path = str(prim.GetPath())
        for one in (path, *_ancestors(path)):
            if link := self.links_by_path.get(one):
                yield link

    def carriers(self, prim: Usd.Prim) -> Iterator[LinkPrim]:
        """Yield candidates from a prim upwards, the body that carries it last."""
        for link in self.links_above(prim):
            yield link
            if link.is_body:
                return

    def subject(self, prim: Usd.Prim) -> str:
        """Return the joint or the link that a prim is part of, else the robot."""
        if str(prim.GetPath()) in self.joints:
            return f"joint {urdf_name(prim)}"
        above = [*self.links_above(prim)]
        # An Xform below a body may be no link.
        nearest = next((link for link in above if link.is_body), above[0] if above else None)
        return f"link {nearest.name}" if nearest else "robot"

    # World transforms, from authored transform stacks.

    @cached_property
    def _xforms(self) -> UsdGeom.XformCache:
        return UsdGeom.XformCache()

    @cached_property
    def _placed(self) -> dict[str, tuple[Array, Array]]:
        return {WORLD: (read_only(np.eye(4)), read_only(np.eye(4)))}

    def matrix(self, path: str) -> Array:
        """Return the (4, 4) world matrix with scale, in units of the stage."""
        # Gf matrices act on row vectors.
        return np.array(self._xforms.GetLocalToWorldTransform(self.prim(path))).T

    def rigid(self, path: str) -> Array:
        """Return the (4, 4) rigid world transform [m], read-only; the identity for WORLD."""
        # Cached, as every shape uses that of each link above it.
        if path not in self._placed:
            placed = rigid_part(self.matrix(path))
            placed[:3, 3] *= self.units.length
            self._placed[path] = read_only(placed), read_only(inverses(placed))
        return self._placed[path][0]

    def inverse(self, path: str) -> Array:
        self.rigid(path)
        return self._placed[path][1]

    def within(self, path: str, outer: str) -> Array:
        """Return the (4, 4) transform of a prim, with scale, in the frame of another [m].

        If one prim is below the other, transforms above both are not used, so that local values are
        returned exactly.
        """
        prim, above = self.prim(path), self.prim(outer)
        local, is_reset = None, True
        if prim.GetPath().HasPrefix(above.GetPath()):
            local, is_reset = self._xforms.ComputeRelativeTransform(prim, above)
        matrix = self.matrix(path) if is_reset else np.array(local, np.float64).T
        matrix[:3] *= self.units.length
        if is_reset:
            inside: Array = self.inverse(outer) @ matrix
            return inside
        scale = (self.inverse(outer) @ self.matrix(outer))[:3, :3]
        if np.abs(scale - np.eye(3)).max() > _ROUNDING:
            matrix[:3] = scale @ matrix[:3]
        return matrix


def _ancestors(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def open_reading(path: str, *, usable: bool = False) -> Reading:
    """Open a stage with all payloads and parse the physics below its default prim.

    A stage without one raises UnsupportedError; a unit, transform, type or number that is unusable
    InvalidFileError, unless with ``usable`` all are known to be usable; a file that OpenUSD cannot
    open Tf.ErrorException.
    """
    stage = Usd.Stage.Open(path)
    missing = missing_parts(stage)
    if not stage.GetDefaultPrim():
        message = "the stage has no default prim (check --root PATH names one)"
        raise UnsupportedError(f"{message}{incomplete(missing)}")
    notes = tuple(
        f"collider {path} is no Gprim; as in PhysX, {', '.join(meshes) or 'nothing'} below it "
        "collides"
        for path, meshes in lower_colliders(stage)
    )
    authored = [] if usable else read_authored(stage)
    _split_stacked_joints(stage)
    if unusable := tuple(unusable_values(stage, authored)):
        more = len(unusable) - _MOST_NAMED
        others = (f"and {more} more",) if more > 0 else ()
        raise InvalidFileError("; ".join((*unusable[:_MOST_NAMED], *others)))
    return parse_physics(stage, stage.GetDefaultPrim(), missing, authored, notes)


def parse_physics(
    stage: Usd.Stage,
    root: Usd.Prim,
    missing: tuple[str, ...] = (),
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]] = (),
    notes: tuple[str, ...] = (),
) -> Reading:
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, [root.GetPath()])

    def descriptors(*types: str) -> dict[str, Any]:
        return {
            str(path): descriptor
            for name in types
            for path, descriptor in zip(
                *found.get(UsdPhysics.ObjectType.names[name], ((), ())), strict=True
            )
            if descriptor.isValid
        }

    joints = descriptors(*(f"{name}Joint" for name in _JOINTS))
    shapes = descriptors(*(f"{name}Shape" for name in _SHAPES))
    bodies, articulations = descriptors("RigidBody"), descriptors("Articulation")
    return Reading(stage, root, bodies, joints, shapes, articulations, missing, authored, notes)


def lower_colliders(stage: Usd.Stage) -> Iterator[tuple[Sdf.Path, list[str]]]:
    """Apply the schemas of colliders that are no Gprims to the meshes below."""
    found = [
        prim.GetPath()
        for prim in stage.Traverse(PROXIES)
        if prim.HasAPI(UsdPhysics.CollisionAPI) and not prim.IsA(UsdGeom.Gprim)
    ]
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for path in found:
            for prefix in path.GetPrefixes():
                # What is below an instance cannot be edited.
                if (prim := stage.GetPrimAtPath(prefix)).IsInstance():
                    prim.SetInstanceable(False)
            prim = stage.GetPrimAtPath(path)
            enabled = UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get()
            token, children = approximation(prim), filter(UsdGeom.Mesh, prim.GetChildren())
            meshes = [child for child in children if not child.HasAPI(UsdPhysics.CollisionAPI)]
            for mesh in meshes:
                UsdPhysics.CollisionAPI.Apply(mesh).CreateCollisionEnabledAttr(enabled)
                if token is not None:
                    UsdPhysics.MeshCollisionAPI.Apply(mesh).CreateApproximationAttr(token)
            # Without meshes it makes no collider, but of joints to it a static end.
            if meshes:
                prim.RemoveAPI(UsdPhysics.CollisionAPI)
            yield path, [mesh.GetName() for mesh in meshes]


def _split_stacked_joints(stage: Usd.Stage) -> None:
    """Put links without mass between joints of a body that add mobility, in the session layer."""
    # MuJoCo's converter writes the joints of a body side by side, and the articulation root says by
    # ``newton:jointsAddMobility`` that they add mobility, in the order of traversal. Without the
    # attribute joints constrain each other, and nothing is changed.
    prims = tuple(stage.Traverse())
    taken = {urdf_name(prim) for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    # Joints of articulations that add mobility, by their bodies.
    stacks: dict[tuple[Sdf.Path, Sdf.Path], list[UsdPhysics.Joint]] = {}
    adds = any((adds := prim.GetAttribute(_ADDS)) and adds.Get() for prim in prims)
    for joint in filter(None, map(UsdPhysics.Joint, prims if adds else ())):
        ends = joint.GetBody0Rel().GetTargets(), joint.GetBody1Rel().GetTargets()
        is_enabled = joint.GetJointEnabledAttr().Get() is not False
        is_apart = joint.GetExcludeFromArticulationAttr().Get()
        if is_enabled and not is_apart and all(len(end) == 1 for end in ends):
            stacks.setdefault((ends[0][0], ends[1][0]), []).append(joint)
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for (_, end), joints in stacks.items():
            body = stage.GetPrimAtPath(end)
            if len(joints) == 1 or not body.HasAPI(UsdPhysics.RigidBodyAPI):
                continue
            frames = [
                (
                    _matrix(joint.GetLocalPos0Attr().Get(), joint.GetLocalRot0Attr().Get()),
                    _matrix(joint.GetLocalPos1Attr().Get(), joint.GetLocalRot1Attr().Get()),
                )
                for joint in joints
            ]
            link = end
            for number, joint in enumerate(joints):
                if number:
                    joint.GetBody0Rel().SetTargets([link])
                    before, after = frames[number - 1]
                    # Where the joint before puts the body; Gf matrices act on row vectors.
                    own = frames[number][0] * (after.GetInverse() * before).GetInverse()
                    _set_first_frame(joint, own, frames[number][1])
                if number < len(joints) - 1:
                    link = _link(stage, body, joint.GetPrim(), taken)
                    joint.GetBody1Rel().SetTargets([link])


def is_between_joints(stage: Usd.Stage, path: str) -> bool:
    """Whether a link was added here; it has no mass in the file."""
    spec = stage.GetSessionLayer().GetPrimAtPath(path)
    return spec is not None and spec.specifier == Sdf.SpecifierDef


def _link(stage: Usd.Stage, body: Usd.Prim, joint: Usd.Prim, taken: set[str]) -> Sdf.Path:
    """Add a link at the pose of a body, named after a joint, as the engine of MJCF names it."""
    name = Tf.MakeValidIdentifier(f"{urdf_name(body)}_{urdf_name(joint)}")
    while name in taken or stage.GetPrimAtPath(body.GetPath().AppendChild(name)):
        name += "_"
    taken.add(name)
    prim = UsdGeom.Xform.Define(stage, body.GetPath().AppendChild(name)).GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(prim)
    mass = UsdPhysics.MassAPI.Apply(prim)
    mass.CreateMassAttr(_LEAST_MASS)
    mass.CreateCenterOfMassAttr(Gf.Vec3f(0.0))
    mass.CreateDiagonalInertiaAttr(Gf.Vec3f(_LEAST_MASS))
    mass.CreatePrincipalAxesAttr(Gf.Quatf(1.0))
    return prim.GetPath()


def _matrix(position: Gf.Vec3f | None, rotation: Gf.Quatf | None) -> Gf.Matrix4d:
    """Return the frame of a joint in a body; of a blocked attribute, the fallback counts."""
    turn = Gf.Quatd(rotation or Gf.Quatf(1.0)).GetNormalized()
    return Gf.Matrix4d(Gf.Rotation(turn), Gf.Vec3d(position or Gf.Vec3f(0.0)))


def _set_first_frame(joint: UsdPhysics.Joint, own: Gf.Matrix4d, second: Gf.Matrix4d) -> None:
    """Author the frame in the body before; that in the body itself if they differ by rounding."""
    position, rotation = own.ExtractTranslation(), own.ExtractRotationQuat()
    origin = second.ExtractTranslation()
    turns = own.ExtractRotationMatrix() * second.ExtractRotationMatrix().GetTranspose()
    is_near = (position - origin).GetLength() <= 2 * _FLOAT32_ROUNDING * origin.GetLength()
    if is_near and Gf.IsClose(turns, Gf.Matrix3d(1.0), _FLOAT32_ROUNDING):
        position, rotation = origin, second.ExtractRotationQuat()
    joint.CreateLocalPos0Attr(Gf.Vec3f(position))
    joint.CreateLocalRot0Attr(Gf.Quatf(rotation))


def missing_parts(stage: Usd.Stage) -> tuple[str, ...]:
    errors = (error for error in stage.GetCompositionErrors() if error.errorType in _INCOMPLETE)
    return tuple(dict.fromkeys(_one_line(str(error)).rstrip(".") for error in errors))


def incomplete(missing: Sequence[str]) -> str:
    """Return the end of a message that names missing parts, if there are any."""
    return f"; the stage is incomplete: {'; '.join(missing)}" if missing else ""


def _one_line(text: str) -> str:
    return _ADDRESSES.sub("", " ".join(text.split()))


@contextmanager
def captured_diagnostics() -> Iterator[Callable[[], tuple[str, ...]]]:
    """Trap diagnostics of OpenUSD, which would be printed; return the warnings so far, once each.

    An error raises UnsupportedError.
    """

    def commentary(posted: Tf.Warning) -> str:
        try:
            return _one_line(posted.commentary)
        except UnicodeDecodeError:
            # It quotes a binary file.
            return "the file cannot be read, and is not UTF-8"

    with Tf.DiagnosticTrap() as trap:
        try:
            yield lambda: tuple(dict.fromkeys(map(commentary, trap.GetWarnings())))
        except Tf.ErrorException as error:
            reasons = "; ".join(map(commentary, error.args))
            raise UnsupportedError(f"OpenUSD: {reasons}") from error
        finally:
            # A trap prints what is left in it at its end.
            trap.Clear()


def refusal(
    reason: str, families: Collection[SchemaFamily], own: Collection[SchemaFamily]
) -> UnsupportedError:
    others = set(families) - {SchemaFamily.DRIVES}
    meant = not others or others & set(own)
    return InvalidFileError(reason) if meant else UnsupportedError(reason)


# Facts of single prims.


def applied_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the API schemas of a prim, registered in OpenUSD or not."""
    # ``GetAppliedSchemas`` leaves out schemas that are not registered, as those of PhysX, or that
    # were registered after a stage was opened in the same process.
    return tuple(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


def collides(prim: Usd.Prim) -> bool:
    return (
        prim.HasAPI(UsdPhysics.CollisionAPI)
        and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False
    )


def is_shown(prim: Usd.Prim) -> bool:
    image = UsdGeom.Imageable(prim)
    return image.ComputePurpose() in SHOWN and image.ComputeVisibility() != UsdGeom.Tokens.invisible


def approximation(prim: Usd.Prim) -> str | None:
    """Return the approximation of a mesh collider; None without its schema."""
    shape = UsdPhysics.MeshCollisionAPI(prim)
    return shape.GetApproximationAttr().Get() if shape else None


def text_attribute(prim: Usd.Prim, name: str) -> str | None:
    """Return an authored string or token, or None."""
    attribute = prim.GetAttribute(name)
    value = attribute.Get() if attribute.HasAuthoredValue() else None
    return value if isinstance(value, str) and value else None


def number_attribute(prim: Usd.Prim, name: str, schema: str | None = None) -> float | None:
    """Return an authored number of a schema, if one is named, or None."""
    attribute = prim.GetAttribute(name)
    is_read = attribute.HasAuthoredValue() and (schema is None or schema in applied_schemas(prim))
    value = attribute.Get() if is_read else None
    return float(value) if isinstance(value, int | float) else None


def urdf_name(prim: Usd.Prim) -> str:
    """Return the URDF name of a prim: its displayName, else its own name."""
    return str(prim.GetDisplayName() or prim.GetName())
