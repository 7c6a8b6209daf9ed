"""Faults in values over time, types, unusable values, instances, and further prims."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from pxr import Gf, Sdf, Ts, Usd, UsdGeom, UsdLux, UsdPhysics

from urdf_usd.conformance.mutation.fault import (
    EXTRA_PRIM,
    REFUSED,
    Fault,
    Seed,
    StageEdit,
    block,
    on_prim,
    set_value,
)
from urdf_usd.conformance.mutation.generated.seeds import make_instanceable
from urdf_usd.conformance.mutation.good_asset import GoodAsset
from urdf_usd.conformance.mutation.shapes.mesh_faults import visual_fault
from urdf_usd.conformance.mutation.shapes.shape_faults import is_mesh

_TIME = ("structure.animation",)
_VALUES = ("structure.values", REFUSED)
_SCENE = ("structure.scene",)
_SHAPES = ("visual.shapes",)
_GEOMETRY = ("visual.geometry",)
_WORDS = ("structure.words",)
# Beginnings of attributes with numbers of a URDF that no schema has.
_KEPT = ("urdf:safety_controller:", "urdf:calibration:", "urdf:limit:acceleration")
_TYPES = Sdf.ValueTypeNames
_TOKENS = UsdGeom.Tokens
_NAN = math.nan

PrimEdit = Callable[[Usd.Prim], None]


def _of_bodies(edit: PrimEdit, asset: GoodAsset) -> Iterator[Seed]:
    for body in asset.bodies:
        yield Seed(body.subject, on_prim(body.path, edit))


def _of_joints(edit: PrimEdit, asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints:
        yield Seed(site.subject, on_prim(site.path, edit))


def _once(edit: Callable[[str, Usd.Stage], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the stage, given a free path below the default prim."""
    if asset.bodies:
        path = f"{asset.root}/{EXTRA_PRIM}"
        yield Seed("robot", lambda stage, _: edit(path, stage))


def _in_link(edit: Callable[[str, Usd.Stage], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the stage, given a free path below a body."""
    for body in asset.bodies:
        yield Seed(body.subject, _at(f"{body.path}/{EXTRA_PRIM}", edit))


def _at(path: str, edit: Callable[[str, Usd.Stage], None]) -> StageEdit:
    def apply(stage: Usd.Stage, _: float) -> None:
        edit(path, stage)

    return apply


# Values over time.


def _drift(prim: Usd.Prim) -> None:
    """Let a prim move from its place."""
    attribute = prim.GetAttribute("xformOp:translate")
    if not attribute:
        attribute = UsdGeom.Xformable(prim).AddTranslateOp().GetAttr()
    place = attribute.Get()
    if place is None:
        place = type(attribute.GetTypeName().defaultValue)(0.0, 0.0, 0.0)
        attribute.Set(place)
    attribute.Set(place, 0.0)
    attribute.Set(place + type(place)(0.0, 0.0, 0.5), 24.0)


def _moves_to(prim: Usd.Prim) -> None:
    """State another mass at one time."""
    mass = UsdPhysics.MassAPI(prim).GetMassAttr()
    mass.Set(2.0 * (mass.Get() or 1.0), 0.0)


def _curve(prim: Usd.Prim) -> None:
    """Let the mass follow a spline."""
    spline = Ts.Spline("float")
    for time, value in ((0.0, 1.0), (10.0, 2.0)):
        spline.SetKnot(Ts.Knot(typeName="float", time=time, value=value))
    UsdPhysics.MassAPI(prim).GetMassAttr().SetSpline(spline)


def _blink(prim: Usd.Prim) -> None:
    visibility = UsdGeom.Imageable(prim).CreateVisibilityAttr()
    visibility.Set(_TOKENS.inherited)
    visibility.Set(_TOKENS.invisible, 0.0)


def _timed_limit(prim: Usd.Prim) -> None:
    anchor = UsdPhysics.Joint(prim).CreateLocalPos1Attr()
    anchor.Set((anchor.Get() or Gf.Vec3f(0.0)) + Gf.Vec3f(0.1, 0.0, 0.0), 5.0)


# Unusable values.


def _turned_by(name: str, quaternion: Gf.Quatf) -> PrimEdit:
    def edit(prim: Usd.Prim) -> None:
        prim.CreateAttribute(name, _TYPES.Quatf, custom=False).Set(quaternion)

    return edit


def _turn_by_zero(prim: Usd.Prim) -> None:
    """Add an orientation of zero to the transform of a shape."""
    attribute = prim.GetAttribute("xformOp:orient")
    if not attribute:
        op = UsdGeom.Xformable(prim).AddOrientOp(UsdGeom.XformOp.PrecisionFloat)
        attribute = op.GetAttr()
    attribute.Set(type(attribute.GetTypeName().defaultValue)(0.0, 0.0, 0.0, 0.0))


def _lose_point(prim: Usd.Prim) -> None:
    points = UsdGeom.Mesh(prim).GetPointsAttr()
    values = list(points.Get())
    values[0] = Gf.Vec3f(_NAN, 0.0, 0.0)
    points.Set(values)


def _show_nan(prim: Usd.Prim) -> None:
    UsdGeom.Gprim(prim).CreateDisplayColorAttr([Gf.Vec3f(_NAN, 0.0, 0.0)])


# Types of values.


def _retyped(name: str, kind: Sdf.ValueTypeName, asset: GoodAsset) -> Iterator[Seed]:
    """Author an attribute again as another type, with the same value."""

    def edit(prim: Usd.Prim) -> None:
        value = prim.GetAttribute(name).Get()
        if kind.isArray:
            value = [type(kind.scalarType.defaultValue)(one) for one in value]
        elif isinstance(value, Sdf.AssetPath):
            value = value.path
        elif kind == _TYPES.Color4f:
            value = Gf.Vec4f(*value, 1.0)
        else:
            value = type(kind.defaultValue)(value)
        # A stage authors the type of the schema, whatever is asked for.
        layer = prim.GetStage().GetRootLayer()
        over = Sdf.CreatePrimInLayer(layer, prim.GetPath())
        Sdf.AttributeSpec(over, name, kind).default = value

    yield from _where_authored(name, edit, asset)


def _where_authored(name: str, edit: PrimEdit, asset: GoodAsset) -> Iterator[Seed]:
    for prim in asset.stage.Traverse():
        # Without its schema an attribute is not read.
        known = name.startswith("inputs:") or name in (prim.GetPrimDefinition().GetPropertyNames())
        if known and prim.GetAttribute(name).HasAuthoredValue():
            yield Seed(f"prim {prim.GetPath()}", on_prim(str(prim.GetPath()), edit))


def _typed(identifier: str, name: str, kind: Sdf.ValueTypeName) -> Fault:
    seeds = partial(_retyped, name, kind)
    return Fault(f"type.{identifier}", f"{kind} {name}", (REFUSED,), seeds)


def _blocked(identifier: str, name: str) -> Fault:
    seeds = partial(_where_authored, name, block(name))
    return Fault(identifier, f"{name} blocked", (REFUSED,), seeds)


# Instances, and what is outside of the robot.


def _instanceable(asset: GoodAsset) -> Iterator[Seed]:
    """Make the default prim, which references the robot, an instance."""
    if asset.bodies:
        yield Seed("robot", on_prim(asset.root, make_instanceable))


def _reference_an_instance(path: str, stage: Usd.Stage) -> None:
    """Make the default prim one with an instance of the robot below it."""
    robot = stage.GetDefaultPrim()
    held = stage.DefinePrim(f"/{Sdf.Path(path).name}/robot")
    held.GetReferences().AddInternalReference(robot.GetPath())
    held.SetInstanceable(True)
    robot.SetSpecifier(Sdf.SpecifierClass)
    stage.SetDefaultPrim(held.GetParent())


def _pin(asset: GoodAsset) -> Iterator[Seed]:
    """Fix a body to the world by a joint outside of the default prim."""
    for body in asset.bodies:
        yield Seed(body.subject, _at(body.path, _fix_to_world))


def _fix_to_world(path: str, stage: Usd.Stage) -> None:
    joint = UsdPhysics.FixedJoint.Define(stage, f"/{EXTRA_PRIM}")
    joint.CreateBody1Rel().SetTargets([path])


def _lock(asset: GoodAsset) -> Iterator[Seed]:
    """Lock a joint by another one outside of the default prim."""
    for site in asset.joints:
        yield Seed(site.subject, _at(site.path, _lock_joint))


def _lock_joint(path: str, stage: Usd.Stage) -> None:
    locked = UsdPhysics.Joint(stage.GetPrimAtPath(path))
    joint = UsdPhysics.FixedJoint.Define(stage, f"/{EXTRA_PRIM}")
    joint.CreateBody0Rel().SetTargets(locked.GetBody0Rel().GetTargets())
    joint.CreateBody1Rel().SetTargets(locked.GetBody1Rel().GetTargets())


# Prims of no robot.


def _light(path: str, stage: Usd.Stage) -> None:
    UsdLux.DistantLight.Define(stage, path).CreateIntensityAttr(500.0)


def _glow(prim: Usd.Prim) -> None:
    UsdLux.LightAPI.Apply(prim)


def _camera(path: str, stage: Usd.Stage) -> None:
    UsdGeom.Camera.Define(stage, path)


def _instances(path: str, stage: Usd.Stage) -> None:
    instancer = UsdGeom.PointInstancer.Define(stage, path)
    cube = UsdGeom.Cube.Define(stage, f"{path}/cube")
    instancer.CreatePrototypesRel().SetTargets([cube.GetPath()])
    instancer.CreateProtoIndicesAttr([0, 0])
    instancer.CreatePositionsAttr([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])


def _points(path: str, stage: Usd.Stage) -> None:
    cloud = UsdGeom.Points.Define(stage, path)
    cloud.CreatePointsAttr([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
    cloud.CreateWidthsAttr([0.1, 0.1])


def _curves(path: str, stage: Usd.Stage) -> None:
    curves = UsdGeom.BasisCurves.Define(stage, path)
    curves.CreateTypeAttr(_TOKENS.linear)
    curves.CreateCurveVertexCountsAttr([2])
    curves.CreatePointsAttr([(0.0, 0.0, 0.0), (0.1, 0.0, 0.0)])
    curves.CreateWidthsAttr([0.1])


def _show_cards(path: str, stage: Usd.Stage) -> None:
    del path
    api = UsdGeom.ModelAPI.Apply(stage.GetDefaultPrim())
    api.CreateModelDrawModeAttr(_TOKENS.bounds)
    api.CreateModelApplyDrawModeAttr(True)


def _body(identifier: str, title: str, aims: tuple[str, ...], edit: PrimEdit) -> Fault:
    return Fault(identifier, title, aims, partial(_of_bodies, edit))


def _joint(identifier: str, title: str, aims: tuple[str, ...], edit: PrimEdit) -> Fault:
    return Fault(identifier, title, aims, partial(_of_joints, edit))


def _extra(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[str, Usd.Stage], None],
) -> Fault:
    return Fault(identifier, title, aims, partial(_once, edit))


# Words of a URDF that no schema has.


def _numbers(edit: Callable[[Usd.Attribute], object], asset: GoodAsset) -> Iterator[Seed]:
    for prim in asset.stage.Traverse():
        for attribute in prim.GetAuthoredAttributes():
            if attribute.GetName().startswith(_KEPT):
                yield Seed(str(attribute.GetPath()), _on_attribute(attribute, edit))


def _on_attribute(attribute: Usd.Attribute, edit: Callable[[Usd.Attribute], object]) -> StageEdit:
    path = attribute.GetPath()

    def apply(stage: Usd.Stage, _: float) -> None:
        edit(stage.GetAttributeAtPath(path))

    return apply


def _double(attribute: Usd.Attribute) -> None:
    attribute.Set(2.0 * attribute.Get() + 1e-3)


def _elements(edit: PrimEdit, asset: GoodAsset) -> Iterator[Seed]:
    """Edit elements that belong to the robot, a link or a joint."""
    for prim in asset.stage.Traverse():
        of_shape = prim.GetParent().IsA(UsdGeom.Gprim)
        if prim.GetAttribute("urdf:within").HasAuthoredValue() and not of_shape:
            yield Seed(str(prim.GetPath()), on_prim(str(prim.GetPath()), edit))


def _reword(prim: Usd.Prim) -> None:
    """Change the text of an element, or of an element inside."""
    for inside in Usd.PrimRange(prim):
        text = inside.GetAttribute("urdf:text")
        if text:
            text.Set(f"{text.Get()}2")
            return
    prim.CreateAttribute("urdf:text", _TYPES.String).Set("2")


def _rename_element(prim: Usd.Prim) -> None:
    prim.SetDisplayName(EXTRA_PRIM)


AUTHORED_FAULTS = (
    _body("time.body", "body moved at time samples", _TIME, _drift),
    visual_fault("time.visual", "visual moved at time samples", (*_TIME, REFUSED), _drift),
    _body("time.mass", "mass at a time sample", _TIME, _moves_to),
    _body("time.spline", "mass as a spline", (*_TIME, REFUSED), _curve),
    _joint("time.anchor", "joint frame at a time sample", (*_TIME, REFUSED), _timed_limit),
    visual_fault("time.visibility", "visual hidden at a time sample", _TIME, _blink),
    _body(
        "value.center",
        "NaN in a centre of mass",
        _VALUES,
        set_value("physics:centerOfMass", Gf.Vec3f(0.0, _NAN, 0.0)),
    ),
    _body(
        "value.mass",
        "infinite mass",
        _VALUES,
        set_value("physics:mass", math.inf),
    ),
    _body(
        "value.inertia",
        "NaN in an inertia",
        _VALUES,
        set_value("physics:diagonalInertia", Gf.Vec3f(_NAN, 1.0, 1.0)),
    ),
    _joint(
        "value.anchor",
        "NaN in a joint frame",
        _VALUES,
        set_value("physics:localPos0", Gf.Vec3f(_NAN, 0.0, 0.0)),
    ),
    _joint(
        "value.rotation",
        "zero quaternion in a joint frame",
        _VALUES,
        _turned_by("physics:localRot0", Gf.Quatf(0.0, 0.0, 0.0, 0.0)),
    ),
    _joint(
        "value.length",
        "quaternion of length two in a joint frame",
        _VALUES,
        _turned_by("physics:localRot1", Gf.Quatf(0.0, 2.0, 0.0, 0.0)),
    ),
    _body(
        "value.axes",
        "principal axes as a quaternion of length two",
        _VALUES,
        _turned_by("physics:principalAxes", Gf.Quatf(2.0, 0.0, 0.0, 0.0)),
    ),
    visual_fault("value.orient", "zero quaternion of a visual", _VALUES, _turn_by_zero),
    visual_fault(
        "value.points",
        "NaN in points of a visual",
        (*_VALUES, *_SHAPES),
        _lose_point,
        is_mesh,
    ),
    visual_fault("value.color", "NaN in a displayed colour", _VALUES, _show_nan),
    _typed("mass", "physics:mass", _TYPES.Double),
    _typed("inertia", "physics:diagonalInertia", _TYPES.Double3),
    _typed("axes", "physics:principalAxes", _TYPES.Quatd),
    _typed("effort", "drive:angular:physics:maxForce", _TYPES.Double),
    _typed("points", "points", _TYPES.Point3dArray),
    _typed("indices", "faceVertexIndices", _TYPES.Int64Array),
    _typed("approximation", "physics:approximation", _TYPES.String),
    _typed("colour", "inputs:diffuseColor", _TYPES.Color4f),
    _typed("texture", "inputs:file", _TYPES.String),
    _blocked("value.radius", "radius"),
    Fault("instance.default", "robot made an instance", _SCENE, _instanceable),
    _extra(
        "instance.reference",
        "robot referenced as an instance",
        _SCENE,
        _reference_an_instance,
    ),
    Fault("outside.pin", "joint outside that fixes a body", _SCENE, _pin),
    Fault("outside.lock", "joint outside that locks another", _SCENE, _lock),
    _extra("scene.light", "light added", _SCENE, _light),
    visual_fault("scene.glow", "visual made a light", _SCENE, _glow, is_mesh),
    _extra("scene.camera", "camera added", _SCENE, _camera),
    _extra("scene.instances", "instances added", _SCENE, _instances),
    Fault("scene.points", "points added", _SHAPES, partial(_in_link, _points)),
    Fault("scene.curves", "curves added", _SHAPES, partial(_in_link, _curves)),
    _extra("geometry.cards", "robot drawn as its bounds", _GEOMETRY, _show_cards),
    Fault(
        "words.number",
        "number without a schema doubled",
        _WORDS,
        partial(_numbers, _double),
    ),
    Fault(
        "words.lost",
        "number without a schema dropped",
        _WORDS,
        partial(_numbers, Usd.Attribute.Block),
    ),
    Fault(
        "words.text",
        "text of a custom element changed",
        _WORDS,
        partial(_elements, _reword),
    ),
    Fault(
        "words.tag",
        "custom element renamed",
        _WORDS,
        partial(_elements, _rename_element),
    ),
)
