"""Opening a stage, running OpenUSD's physics parser, and collecting its diagnostics.

Behaviour of the parser, measured on usd-core 26.11, and its handling here:

- A joint side that targets a prim without a body resolves to the nearest body above,
  and its frame is re-expressed there; without any body, it is the world, and its frame
  is a world frame. A target that does not exist is the world as well, without a
  message; it gets a note here. Below a collider without a body, it is the outermost
  such collider, which is static.
- Local positions are multiplied by the world scale of their body.
- A limit that is reported as disabled means free. A revolute joint's is disabled as
  soon as one of its bounds is beyond 5e37: a range that is open on one side is lost. A
  prismatic joint's or a D6's with one infinite bound stays enabled.
- A collider that is no Gprim gets a warning and no descriptor. PhysX (ovphysx 0.7)
  makes colliders of the meshes that are its children, as importers of Isaac Sim intend;
  so does this reading, in the session layer.
- Nested bodies and nested articulation roots are reported without a warning; a
  disabled joint divides an articulation.

OpenUSD composes a stage whose layers are missing, attributes of any type, and numbers that are not
finite: composition, types and values are checked before a stage is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import newton_usd_schemas  # noqa: F401  registers schemas, hence their fallbacks
import numpy as np
from msgspec import Struct
from pxr import Gf, Pcp, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.stacked_joints import split_stacked_joints
from urdf_usd.conformance.engines.openusd.transforms import Array, inverses, rigid_part
from urdf_usd.conformance.engines.protocol import AbstentionError, InvalidFileError

# Of a scale of one.
_ROUNDING = 1e-9
# Unusable values that are listed.
_MOST_NAMED = 3
SHOWN = frozenset({UsdGeom.Tokens.default_, UsdGeom.Tokens.render})
"""Purposes that renderers show."""
_JOINTS = ("Fixed", "Revolute", "Prismatic", "Spherical", "D6", "Distance")
_SHAPES = ("Cube", "Sphere", "Cylinder", "Capsule", "Cone", "Mesh")
# Composition errors that mean that parts of the robot are missing.
_INCOMPLETE = {
    Pcp.ErrorType_ArcCapacityExceeded,
    Pcp.ErrorType_ArcCycle,
    Pcp.ErrorType_ArcNamespaceDepthCapacityExceeded,
    Pcp.ErrorType_IndexCapacityExceeded,
    Pcp.ErrorType_InvalidAssetPath,
    Pcp.ErrorType_InvalidPrimPath,
    Pcp.ErrorType_InvalidSublayerPath,
    Pcp.ErrorType_SublayerCycle,
    Pcp.ErrorType_UnresolvedPrimPath,
    Pcp.ErrorType_VariableExpressionError,
}
# What OpenUSD adds to messages with addresses in memory, which differ in each process.
_ADDRESSES = re.compile(
    r",@anon:0x[0-9a-f]+:[^@]*@| \(instantiating stage on stage @[^@]*@ <0x[0-9a-f]+>\)"
)
# Beginnings of attributes with physics, and of those with numbers for it.
_PREFIXES = ("physics:", "drive:", "limit:", "newton:", "xformOp")
_NUMBERS = (*_PREFIXES[:-1], "physxJoint", "physxMimicJoint:", "mjc:", "urdf:")
_CHECKED = (*_PREFIXES, *_NUMBERS)
_DIMENSIONS = {"size", "radius", "height", "width", "length"}
# Beyond it, products of a few numbers are not finite.
_MOST = 1e38


class Authored(NamedTuple):
    name: str
    property: Usd.Property
    value: object  # of an attribute at the default time; None of a relationship


def read_authored(stage: Usd.Stage) -> list[tuple[Usd.Prim, list[Authored]]]:
    """Return the prims of a stage with their properties."""
    # Read once, as most of a reading is spent in reading values.
    return [
        (
            prim,
            [
                Authored(
                    each.GetName(), each, each.Get() if isinstance(each, Usd.Attribute) else None
                )
                for each in prim.GetAuthoredProperties()
            ],
        )
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
    ]


def one_line(text: str) -> str:
    """Return a message of OpenUSD without line breaks and addresses."""
    return _ADDRESSES.sub("", " ".join(text.split()))


def missing_parts(stage: Usd.Stage) -> tuple[str, ...]:
    """Describe layers, references and payloads that do not resolve, and cycles of them."""
    return tuple(
        dict.fromkeys(
            one_line(str(error)).rstrip(".")
            for error in stage.GetCompositionErrors()
            if error.errorType in _INCOMPLETE
        )
    )


def unusable_values(
    stage: Usd.Stage,
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]],
    *,
    any_precision: bool = False,
) -> Iterator[str]:
    """Describe unusable values of a stage: units, transforms, types, numbers, axes."""
    root = stage.GetRootLayer().identifier
    for what, unit in (
        ("metersPerUnit", UsdGeom.GetStageMetersPerUnit(stage)),
        ("kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit(stage)),
    ):
        if not 0 < unit < _MOST:
            yield f"{what} is {unit} in @{root}@"
    if str(UsdGeom.GetStageUpAxis(stage)) not in {"X", "Y", "Z"}:
        yield f"upAxis is {UsdGeom.GetStageUpAxis(stage)} in @{root}@"
    cache = UsdGeom.XformCache()
    robot = (stage.GetDefaultPrim() or stage.GetPseudoRoot()).GetPath()
    for prim, properties in authored:
        if not _is_placed(prim, cache) and _is_placed(prim.GetParent(), cache):
            layer = prim.GetPrimStack()[0].layer.identifier
            yield f"{prim.GetPath()} has no finite transform in @{layer}@"
        is_shape = prim.IsA(UsdGeom.Gprim)
        below = prim.GetPath().HasPrefix(robot)
        declared = _declared_types(prim)
        for name, attribute, value in properties:
            if not isinstance(attribute, Usd.Attribute):
                continue
            is_checked = is_shape or name.startswith(_CHECKED)
            faults: list[str] = []
            if is_checked or not any_precision:
                faults += _of_another_type(attribute, declared(name), any_precision=any_precision)
            if is_checked and not faults:
                faults += _faults(attribute, name, value, below_default=below)
            for spec in attribute.GetPropertyStack(Usd.TimeCode.Default())[:1] if faults else ():
                faults = [f"{fault} in @{spec.layer.identifier}@" for fault in faults]
            for fault in faults:
                yield f"{attribute.GetPath()} {fault}"


def _declared_types(prim: Usd.Prim) -> Callable[[str], Sdf.ValueTypeName | None]:
    """Return what finds the type that a registry declares for an attribute."""
    schema = prim.GetPrimDefinition()
    node = None
    if prim.IsA(UsdShade.Shader):
        node = UsdShade.NodeDefAPI(prim).GetShaderNodeForSourceType("glslfx")

    def declared(name: str) -> Sdf.ValueTypeName | None:
        if attribute := schema.GetAttributeDefinition(name):
            return attribute.GetTypeName()
        entry = node and node.GetShaderInput(name.removeprefix("inputs:"))
        return entry.GetTypeAsSdfType().GetSdfType() if entry else None

    return declared


def _of_another_type(
    attribute: Usd.Attribute, declared: Sdf.ValueTypeName | None, *, any_precision: bool
) -> Iterator[str]:
    """Describe the first authored type whose values typed consumers do not read.

    Measured on usd-core 26.11: ``ComputeMassProperties`` takes another inertia from
    ``double3 physics:diagonalInertia``, and a ``double`` force of a drive is none for
    OpenUSD's physics parser and for Newton. OpenUSD's own validator reports an
    ``AttributeTypeMismatch``. Roles make no difference here: ``float3[] points`` has
    the values of ``point3f[]``. Renderers read texts of shaders from tokens, as OpenUSD
    itself once wrote.
    """
    if declared is None:
        return
    for spec in attribute.GetPropertyStack():
        is_same = spec.typeName.type == declared.type
        is_same |= any_precision and _family(spec.typeName) == _family(declared)
        texts = Sdf.ValueTypeNames.Token, Sdf.ValueTypeNames.String
        if not is_same and (spec.typeName, declared) != texts:
            yield f"is a {spec.typeName} instead of a {declared}: not read by consumers"
            return


def _family(kind: Sdf.ValueTypeName) -> tuple[bool, str]:
    """Return a key that is equal for types that differ only in precision."""
    value = kind.scalarType.defaultValue
    if isinstance(value, int | float):
        return kind.isArray, "number"
    if isinstance(value, str):
        return kind.isArray, "text"
    return kind.isArray, type(value).__name__.rstrip("dfhi")


def _is_placed(prim: Usd.Prim, cache: UsdGeom.XformCache) -> bool:
    if not prim.IsA(UsdGeom.Xformable):
        return True
    try:
        local, _ = cache.GetLocalTransformation(prim)
        world = cache.GetLocalToWorldTransform(prim)
    except Tf.ErrorException:
        return False
    return bool((np.abs(local) < _MOST).all() and (np.abs(world) < _MOST).all())


def _faults(
    attribute: Usd.Attribute, name: str, value: object, *, below_default: bool
) -> Iterator[str]:
    specs = attribute.GetPropertyStack(Usd.TimeCode.Default())
    has_default = any(spec.HasDefaultValue() for spec in specs)
    if below_default and attribute.GetNumTimeSamples() and not has_default:
        yield "has time samples and no default value"
    elif value is None:
        if name in {*_DIMENSIONS, UsdGeom.Tokens.axis}:
            # OpenUSD does not use the fallback of a blocked attribute.
            yield "is blocked, and has no value"
    elif name.rpartition(":")[2] == "axis" and str(value) not in {"X", "Y", "Z"}:
        yield f"= {value!r} is no axis"
    elif (name in _DIMENSIONS or name.startswith(_NUMBERS)) and not _has_usable_numbers(
        attribute, value
    ):
        yield f"= {value!r} is not finite"


def _has_usable_numbers(attribute: Usd.Attribute, value: object) -> bool:
    """Return whether numbers are finite, or infinite where that is documented.

    A schema documents it by an infinite fallback: no limit, or not authored.
    """
    numbers = _numbers(value)
    if all(map(math.isfinite, numbers)):
        return True
    if any(map(math.isnan, numbers)):
        return False
    definition = attribute.GetPrim().GetPrimDefinition()
    fallback = definition.GetAttributeFallbackValue(attribute.GetName())
    if fallback is None:
        # Without a schema, an infinite number can only be meant as no limit; attributes
        # of UsdPhysics that the schema of the prim does not declare are not read.
        return isinstance(value, float) or attribute.GetName().startswith("physics:")
    if isinstance(value, float):
        return math.isinf(fallback)
    return numbers == _numbers(fallback)


def _numbers(value: object) -> list[float]:
    if isinstance(value, Gf.Quath | Gf.Quatf | Gf.Quatd):
        return [value.real, *value.imaginary]
    if isinstance(value, bool | str | Sdf.AssetPath):
        return []
    if isinstance(value, int | float):
        return [value]
    found = np.array(value)
    return found.ravel().tolist() if found.dtype.kind in "fiu" else []


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


class Physics(Struct, frozen=True, eq=False):
    """Descriptors of the parser below the default prim; keys are prim paths."""

    stage: Usd.Stage
    default: Usd.Prim
    units: Units
    # Descriptors of rigid bodies, in the parser's order
    bodies: Mapping[str, UsdPhysics.RigidBodyDesc]
    joints: Mapping[str, UsdPhysics.JointDesc]
    # Descriptors of the colliders whose volume can be computed
    shapes: Mapping[str, UsdPhysics.ShapeDesc]
    articulations: Mapping[str, UsdPhysics.ArticulationDesc]
    missing: tuple[str, ...]  # layers, references and payloads that are missing, or cyclic
    # Prims of the whole stage with their properties, unless its values were known to be usable
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]]
    notes: tuple[str, ...] = ()  # on colliders that are no Gprims


@contextmanager
def captured_diagnostics() -> Iterator[Callable[[], tuple[str, ...]]]:
    """Trap diagnostics of OpenUSD, which would be printed; return the warnings so far, once each.

    Raises:
        AbstentionError: OpenUSD posted an error.
    """
    with Tf.DiagnosticTrap() as trap:
        try:
            yield lambda: tuple(dict.fromkeys(map(_commentary, trap.GetWarnings())))
        except Tf.ErrorException as error:
            reasons = "; ".join(map(_commentary, error.args))
            raise AbstentionError(f"OpenUSD: {reasons}") from error
        finally:
            # A trap prints what is left in it at its end.
            trap.Clear()


def _commentary(posted: Tf.Warning) -> str:
    try:
        return one_line(posted.commentary)
    except UnicodeDecodeError:
        # It quotes a binary file.
        return "the file cannot be read, and is not UTF-8"


def read_physics(path: str, *, partial: bool = False, usable: bool = False) -> Physics:
    """Open a stage with all payloads and parse the physics below its default prim.

    Raises:
        AbstentionError: There is no default prim, or parts are missing.
        InvalidFileError: A unit, transform, type or number is unusable.
        Tf.ErrorException: OpenUSD cannot open the file.
    """
    stage = Usd.Stage.Open(path)
    missing = missing_parts(stage)
    if missing and not partial:
        raise AbstentionError(incomplete(missing).removeprefix("; "))
    default = stage.GetDefaultPrim()
    if not default:
        message = "the stage has no default prim (check --root PATH names one)"
        raise AbstentionError(f"{message}{incomplete(missing)}")
    notes = tuple(
        f"collider {path} is no Gprim; as in PhysX, {', '.join(meshes) or 'nothing'} below it "
        "collides"
        for path, meshes in lower_colliders(stage)
    )
    notes += split_stacked_joints(stage)
    default = stage.GetDefaultPrim()
    authored = [] if usable else read_authored(stage)
    if unusable := tuple(unusable_values(stage, authored)):
        more = len(unusable) - _MOST_NAMED
        others = (f"and {more} more",) if more > 0 else ()
        raise InvalidFileError("; ".join((*unusable[:_MOST_NAMED], *others)))
    return parse_physics(stage, default, missing, authored, notes)


def parse_physics(
    stage: Usd.Stage,
    root: Usd.Prim,
    missing: tuple[str, ...] = (),
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]] = (),
    notes: tuple[str, ...] = (),
) -> Physics:
    """Parse the physics of an open stage below a prim."""
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, [root.GetPath()])

    def descriptors(*types: str) -> dict[str, Any]:
        kinds = (UsdPhysics.ObjectType.names[name] for name in types)
        return {
            str(path): descriptor
            for kind in kinds
            for path, descriptor in zip(*found.get(kind, ((), ())), strict=True)
            if descriptor.isValid
        }

    return Physics(
        stage=stage,
        default=root,
        units=Units(
            float(UsdGeom.GetStageMetersPerUnit(stage)),
            float(UsdPhysics.GetStageKilogramsPerUnit(stage)),
        ),
        bodies=descriptors("RigidBody"),
        joints=descriptors(*(f"{name}Joint" for name in _JOINTS)),
        shapes=descriptors(*(f"{name}Shape" for name in _SHAPES)),
        articulations=descriptors("Articulation"),
        missing=missing,
        authored=authored,
        notes=notes,
    )


def lower_colliders(stage: Usd.Stage) -> Iterator[tuple[Sdf.Path, list[str]]]:
    """Apply the schemas of colliders that are no Gprims to the meshes below.

    Yields:
        Each such collider, and the names of its meshes.
    """
    found = [
        prim.GetPath()
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
        if prim.HasAPI(UsdPhysics.CollisionAPI) and not prim.IsA(UsdGeom.Gprim)
    ]
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for path in found:
            for prefix in path.GetPrefixes():
                # What is below an instance cannot be edited.
                if (prim := stage.GetPrimAtPath(prefix)).IsInstance():
                    prim.SetInstanceable(False)
            prim = stage.GetPrimAtPath(path)
            given = UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get()
            shape = UsdPhysics.MeshCollisionAPI(prim)
            token = shape.GetApproximationAttr().Get() if shape else None
            meshes = [
                child
                for child in prim.GetChildren()
                if child.IsA(UsdGeom.Mesh) and not child.HasAPI(UsdPhysics.CollisionAPI)
            ]
            for mesh in meshes:
                UsdPhysics.CollisionAPI.Apply(mesh).CreateCollisionEnabledAttr(given)
                if token is not None:
                    api = UsdPhysics.MeshCollisionAPI.Apply(mesh)
                    api.CreateApproximationAttr(token)
            # Without meshes it makes no collider, but of joints to it a static end.
            if meshes:
                prim.RemoveAPI(UsdPhysics.CollisionAPI)
            yield path, [mesh.GetName() for mesh in meshes]


def incomplete(missing: Sequence[str]) -> str:
    """Return the end of a message that names missing parts, if there are any."""
    return f"; the stage is incomplete: {'; '.join(missing)}" if missing else ""


class WorldTransforms:
    """World transforms of prims, in metres, from their authored transform stacks."""

    def __init__(self, physics: Physics) -> None:
        self._stage = physics.stage
        self._length = physics.units.length
        self._cache = UsdGeom.XformCache()
        self._rigid: dict[str, Array] = {}
        self._inverse: dict[str, Array] = {}

    def matrix(self, path: str) -> Array:
        """Return the (4, 4) world matrix with scale, in units of the stage."""
        prim = self._stage.GetPrimAtPath(path)
        # Gf matrices act on row vectors.
        return np.array(self._cache.GetLocalToWorldTransform(prim)).T

    def rigid(self, path: str) -> Array:
        """Return the (4, 4) rigid world transform [m]."""
        if path not in self._rigid:
            placed = rigid_part(self.matrix(path))
            placed[:3, 3] *= self._length
            placed.flags.writeable = False
            self._rigid[path] = placed
        return self._rigid[path]

    def inverse(self, path: str) -> Array:
        """Return the inverse of the rigid world transform [m]."""
        # Cached, as every shape uses that of each link above it.
        if path not in self._inverse:
            turned_back = inverses(self.rigid(path))
            turned_back.flags.writeable = False
            self._inverse[path] = turned_back
        return self._inverse[path]

    def within(self, path: str, outer: str) -> Array:
        """Return the (4, 4) transform of a prim, with scale, in the frame of another [m].

        If one prim is below the other, transforms above both are not used, so that local
        values are returned exactly.
        """
        prim, above = map(self._stage.GetPrimAtPath, (path, outer))
        local, reset = None, True
        if prim.GetPath().HasPrefix(above.GetPath()):
            local, reset = self._cache.ComputeRelativeTransform(prim, above)
        if reset:
            matrix = self.matrix(path)
            matrix[:3] *= self._length
            inside: Array = self.inverse(outer) @ matrix
            return inside
        matrix = np.array(local, np.float64).T.copy()
        scale = (self.inverse(outer) @ self.matrix(outer))[:3, :3]
        if np.abs(scale - np.eye(3)).max() <= _ROUNDING:
            scale = np.eye(3)
        matrix[:3] = self._length * scale @ matrix[:3]
        return matrix


def collides(prim: Usd.Prim) -> bool:
    return (
        prim.HasAPI(UsdPhysics.CollisionAPI)
        and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False
    )


def is_shown(prim: Usd.Prim) -> bool:
    image = UsdGeom.Imageable(prim)
    return image.ComputePurpose() in SHOWN and image.ComputeVisibility() != UsdGeom.Tokens.invisible


def text_attribute(prim: Usd.Prim, name: str) -> str | None:
    """Return an authored string or token, or None."""
    attribute = prim.GetAttribute(name)
    if not attribute.HasAuthoredValue():
        return None
    value = attribute.Get()
    return value if isinstance(value, str) and value else None


def number_attribute(prim: Usd.Prim, name: str) -> float | None:
    """Return an authored number, or None."""
    attribute = prim.GetAttribute(name)
    if not attribute.HasAuthoredValue():
        return None
    value = attribute.Get()
    return float(value) if isinstance(value, int | float) else None


def urdf_name(prim: Usd.Prim) -> str:
    """Return the URDF name of a prim: its displayName, else its own name."""
    return str(prim.GetDisplayName() or prim.GetName())
