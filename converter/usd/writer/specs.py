"""Authoring of prims and attributes in a layer, without a stage, and rounding to float32.

A stage recomposes after every edit, with all of OpenUSD's threads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from msgspec import Struct
from pxr import Sdf, Usd, Vt

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Floating, Vec3
from urdf_usd.converter.robot.topology import Tree

KINDS = Sdf.ValueTypeNames
UNIFORM = Sdf.VariabilityUniform
SCOPE_PROPERTIES = frozenset({"proxyPrim", "purpose", "visibility"})
_APPLIED = "apiSchemas"
# Schemas whose attributes get their types; of equal names the types are equal.
_SCHEMAS = (
    *("Cube", "Cylinder", "Capsule", "Sphere", "Mesh", "GeomSubset", "PhysicsScene"),
    *("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"),
    *("PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsMaterialAPI"),
    *("PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"),
)
# Types of attributes of schemas that are not registered, and of several instances.
_KIND_OF = {bool: KINDS.Bool, float: KINDS.Float, str: KINDS.String}

_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)
# Rounding of moments in double.
_DOUBLE_SLACK = 1e-12
# Limits from this value on represent no limit. OpenUSD's parser ignores revolute limits
# from about 5e37 degrees on.
NO_LIMIT = float(np.float32(1e37))


def over(layer: Sdf.Layer, path: Sdf.Path) -> Sdf.PrimSpec:
    return Sdf.CreatePrimInLayer(layer, path)


def define(layer: Sdf.Layer, path: Sdf.Path, type_name: str) -> Sdf.PrimSpec:
    """Define a prim; missing ancestors become overs."""
    spec = over(layer, path)
    spec.specifier = Sdf.SpecifierDef
    spec.typeName = type_name
    return spec


def prim_specs(
    layer: Sdf.Layer, below: Sdf.Path = Sdf.Path.absoluteRootPath
) -> Iterator[Sdf.PrimSpec]:
    paths: list[Sdf.Path] = []
    layer.Traverse(below, paths.append)
    for path in paths:
        if path.IsPrimPath():
            yield layer.GetPrimAtPath(path)


def show_spec_name(spec: Sdf.PrimSpec, name: str) -> None:
    """Store a name as ``displayName`` if the prim has another name."""
    if spec.name != name:
        spec.SetInfo("displayName", name)


def applied(spec: Sdf.PrimSpec) -> list[str]:
    return spec.GetInfo(_APPLIED).prependedItems if spec.HasInfo(_APPLIED) else []


def apply(spec: Sdf.PrimSpec, *schemas: str) -> None:
    """Apply schemas to a prim, after those of its layer, unless they are among them."""
    every = list(dict.fromkeys((*applied(spec), *schemas)))
    spec.SetInfo(_APPLIED, Sdf.TokenListOp.Create(prependedItems=every))


def move_opinions(source: Sdf.Layer, target: Sdf.Layer, namespace: str, schemas: str) -> None:
    """Move properties and applied schemas by the beginnings of their names; "" moves no schema."""
    with Sdf.ChangeBlock():
        for prim in list(prim_specs(source)):
            names = [name for name in list(prim.properties.keys()) if name.startswith(namespace)]
            moved = [name for name in applied(prim) if schemas and name.startswith(schemas)]
            for name in names:
                path = over(target, prim.path).path.AppendProperty(name)
                Sdf.CopySpec(source, path, target, path)
                prim.RemoveProperty(prim.properties[name])
            if moved:
                apply(over(target, prim.path), *moved)
                kept = [name for name in applied(prim) if name not in moved]
                prim.ClearInfo(_APPLIED)
                if kept:
                    apply(prim, *kept)


def relate(spec: Sdf.PrimSpec, name: str, *targets: Sdf.Path) -> None:
    """Author a relationship, which replaces that of weaker layers."""
    relationship = Sdf.RelationshipSpec(spec, name, custom=False)
    relationship.targetPathList.explicitItems = list(targets)


def write(
    spec: Sdf.PrimSpec,
    name: str,
    value: object,
    kind: Sdf.ValueTypeName | None = None,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
    *,
    custom: bool = False,
    **metadata: object,
) -> None:
    """Author an attribute; its type is given, or that of its schema, or that of the value."""
    attribute = spec.attributes.get(name)
    if attribute is None:
        if kind is None:
            kind, variability = _types().get(name) or (_KIND_OF[type(value)], variability)
        attribute = Sdf.AttributeSpec(spec, name, kind, variability, custom)
    for key, field in metadata.items():
        attribute.SetInfo(key, field)
    attribute.default = value


@cache
def _types() -> dict[str, tuple[Sdf.ValueTypeName, Sdf.Variability]]:
    registry = Usd.SchemaRegistry()
    types = {}
    for schema in _SCHEMAS:
        definition = registry.FindConcretePrimDefinition(
            schema
        ) or registry.FindAppliedAPIPrimDefinition(schema)
        for name in definition.GetPropertyNames():
            if spec := definition.GetSchemaAttributeSpec(name):
                types[name] = spec.typeName, spec.variability
    return types


def to_float32(value: float, what: str) -> float:
    """Round a finite number; AuthoringError, which begins with ``what``, if it is too large."""
    if abs(value) > _LARGEST:
        message = f"{what} is {value:g}, which float32 cannot store"
        raise AuthoringError((Diagnostic("value-range", message),))
    return float(np.float32(value))


def limit_to_float32(value: float) -> float:
    """Round a position limit to float32; a very large limit becomes infinite."""
    if abs(value) >= NO_LIMIT:
        return float("inf") if value > 0 else float("-inf")
    return float(np.float32(value))


def moments_to_float32(moments: Vec3, what: str) -> Vec3:
    """Round principal moments [kg m^2] to float32 so that A + B >= C still holds.

    Rounding violates that for half of the flat bodies, whose largest moment is lowered to the
    float32 below the sum of the others, but not below either of them.
    """
    stored = [to_float32(moment, what) for moment in moments]
    largest = max(range(3), key=lambda index: moments[index])
    others = sum(moments) - moments[largest]
    stored_others = sum(stored) - stored[largest]
    if others >= moments[largest] * (1 - _DOUBLE_SLACK) and stored_others <= stored[largest]:
        below = float(np.nextafter(np.float32(stored_others), np.float32(0)))
        second = max(stored[:largest] + stored[largest + 1 :])
        stored[largest] = max(second, min(stored[largest], below))
    a, b, c = stored
    return a, b, c


def fits_float32(value: float) -> bool:
    """Return whether a number is zero, or neither zero nor infinite in float32."""
    return value == 0 or _SMALLEST_NORMAL <= abs(value) <= _LARGEST


def is_positive_float32(value: float) -> bool:
    """Return whether a number is positive and finite in float32."""
    return 0 < value <= _LARGEST and float(np.float32(value)) > 0


# Attributes for data of URDF without a schema, in its units (SI, radians) and in double

# Principal moments and axes (wxyz) of the inertia of a link that is merged into a body.
LINK_MOMENTS = "inertial:diagonalInertia"
LINK_AXES = "inertial:principalAxes"
_KINDS = {bool: KINDS.Bool, float: KINDS.Double, str: KINDS.String, tuple: KINDS.DoubleArray}


def write_urdf(
    prim: Sdf.PrimSpec, name: str, value: bool | float | str | tuple[float, ...] | None
) -> None:
    """Author ``urdf:<name>``; an absent value leaves no attribute."""
    if value is not None:
        kind = _KINDS[type(value)]
        stored = Vt.DoubleArray(list(value)) if isinstance(value, tuple) else value
        write(prim, f"urdf:{name}", stored, kind, UNIFORM, custom=True)


# Paths and names of prims

# Joint that fixes the base if the URDF has no joint to the world.
ANCHOR = "base_anchor"
SCENE = "PhysicsScene"
_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
# Longer names are valid, but unreadable in tree views.
_LONGEST = 200


class Prims(Struct, frozen=True, eq=False):
    """A robot, its bodies, and the paths of its prims."""

    tree: Tree
    bodies: BodyAssignment
    robot: Sdf.Path  # The default prim.
    geometry: Sdf.Path  # Scope of the links.
    physics: Sdf.Path  # Scope of the joints.
    materials: Sdf.Path  # Scope of the materials.
    link: dict[str, Sdf.Path]
    # Link whose prim is the parent of a link's prim; None for the geometry scope.
    link_parent: dict[str, str | None]
    visual: dict[str, tuple[Sdf.Path, ...]]  # Of a link's visuals, in their order.
    collision: dict[str, tuple[Sdf.Path, ...]]
    joint: dict[str, Sdf.Path]  # Of joints with a prim; frames of a body have none.
    anchor: Sdf.Path | None  # The added joint between world and root, if any.
    scene: Sdf.Path | None

    @property
    def colliders(self) -> list[Sdf.Path]:
        """Paths of all collision shapes, also of omitted ones."""
        return [path for paths in self.collision.values() for path in paths]


def place_prims(
    robot_name: str, tree: Tree, bodies: BodyAssignment, nesting: BodyNesting, *, scene: bool
) -> Prims:
    """Assign paths to all links, shapes and joints, and optionally a scene."""
    body_of = bodies.body_of
    parents: dict[str, str | None] = {}
    children: dict[str | None, list[str]] = {name: [] for name in (None, *tree.links)}
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        # A free body must not inherit the transform of its parent.
        apart = joint and (nesting is BodyNesting.FLAT or isinstance(joint.kind, Floating))
        is_top = joint is None or (apart and body_of[name] == name)
        parents[name] = None if joint is None or is_top else joint.parent
        children[parents[name]].append(name)
    joints = [tree.parent_joint[name] for name in tree.links[1:] if body_of[name] == name]
    joint_names = sibling_names([*(joint.name for joint in joints), ANCHOR, SCENE])
    robot = Sdf.Path.absoluteRootPath.AppendChild(legal_name(robot_name))
    geometry, physics, materials = map(robot.AppendChild, ("Geometry", "Physics", "Materials"))
    *joint_paths, anchor, scene_path = map(physics.AppendChild, joint_names)
    anchored = bodies.base == "fixed" and body_of[tree.root] is not None
    prims = Prims(
        tree=tree,
        bodies=bodies,
        robot=robot,
        geometry=geometry,
        physics=physics,
        materials=materials,
        link={},
        link_parent=parents,
        visual={},
        collision={},
        joint=dict(zip((joint.name for joint in joints), joint_paths, strict=True)),
        anchor=anchor if anchored else None,
        scene=scene_path if scene else None,
    )
    top = map(geometry.AppendChild, sibling_names(children[None]))
    prims.link.update(zip(children[None], top, strict=True))
    pending = children[None][::-1]
    while pending:
        name = pending.pop()
        link, below = tree.link[name], children[name]
        visuals = [shape.name or "visual" for shape in link.visuals]
        collisions = [shape.name or "collision" for shape in link.collisions]
        # Links first, so that they keep their names.
        names = sibling_names([*below, *visuals, *collisions])
        paths = tuple(map(prims.link[name].AppendChild, names))
        prims.link.update(zip(below, paths, strict=False))
        shapes = paths[len(below) :]
        prims.visual[name], prims.collision[name] = shapes[: len(visuals)], shapes[len(visuals) :]
        pending += below[::-1]
    return prims


def legal_name(name: str) -> str:
    """Return an ASCII identifier for a name.

    ASCII, because many DCC tools do not support the UTF-8 identifiers of newer USD. The
    original name is kept as ``displayName``.
    """
    legal = _ILLEGAL.sub("_", name)[:_LONGEST]
    return f"_{legal}" if not legal or legal[0].isdigit() else legal


def sibling_names(names: Iterable[str], taken: Iterable[str] = ()) -> tuple[str, ...]:
    """Return unique names for all children of a prim, in order.

    Valid names are kept; the others get a number if necessary. Only the numbers of
    equal names depend on their order.
    """
    given = tuple(names)
    used = set(taken)
    result: dict[int, str] = {}
    for index, name in enumerate(given):
        if legal_name(name) == name and name not in used:
            result[index] = name
            used.add(name)
    # Last number by stem, to continue the search there.
    numbers: dict[str, int] = {}
    for name, index in sorted((name, i) for i, name in enumerate(given) if i not in result):
        stem = candidate = legal_name(name)
        while candidate in used:
            numbers[stem] = numbers.get(stem, 0) + 1
            candidate = f"{stem}_{numbers[stem]}"
        result[index] = candidate
        used.add(candidate)
    return tuple(result[index] for index in range(len(given)))
