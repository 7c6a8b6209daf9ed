"""Faults in settings that URDF does not have, most of which simulators alone show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

from urdf_usd.conformance.mutation.fault import EXTRA_PRIM, Fault, Seed, on_prim
from urdf_usd.conformance.mutation.good_asset import BodySite, GoodAsset, JointSite
from urdf_usd.conformance.mutation.shapes.shape_faults import (
    ShapeSite,
    is_any,
    is_mesh,
    of_shapes,
    shape_sites,
)
from urdf_usd.conformance.observation.robot import COORDINATES
from urdf_usd.conformance.observation.shapes import Role

_INITIAL = ("structure.initial",)
_SCENE = ("structure.scene",)
_DRIVES = ("dynamics.drives",)
_JOINTS = ("dynamics.joints",)
_BODIES = ("dynamics.bodies",)
_FILTERS = ("collision.filters",)
_SHAPES = ("collision.approximation",)
_MATERIALS = ("collision.materials",)
_SMOOTH = ("visual.subdivision",)
_ROOTS = ("structure.articulation",)

_TYPES = Sdf.ValueTypeNames
# Purpose of the binding of a contact material.
_PHYSICS = "physics"
_FORCE = 10.0


def _author(
    prim: Usd.Prim, name: str, kind: Sdf.ValueTypeName, value: object, *schemas: str
) -> None:
    """Author an attribute of a schema that may not be registered."""
    for schema in schemas:
        prim.AddAppliedSchema(schema)
    prim.CreateAttribute(name, kind, custom=False).Set(value)


def _authoring(
    name: str, kind: Sdf.ValueTypeName, value: object, *schemas: str
) -> Callable[[Usd.Prim], None]:
    """Return the edit of a prim that authors an attribute and applies its schemas."""

    def edit(prim: Usd.Prim) -> None:
        _author(prim, name, kind, value, *schemas)

    return edit


def _of_bodies(edit: Callable[[Usd.Prim], None], asset: GoodAsset) -> Iterator[Seed]:
    for body in asset.bodies:
        yield Seed(body.subject, on_prim(body.path, edit))


def _moving(asset: GoodAsset) -> Iterator[JointSite]:
    """Yield joints with one coordinate and a type of their own."""
    for site in asset.joints:
        if COORDINATES[site.stated.type] == 1 and _instance(site):
            yield site


def _instance(site: JointSite) -> str:
    if site.prim.IsA(UsdPhysics.RevoluteJoint):
        return "angular"
    return "linear" if site.prim.IsA(UsdPhysics.PrismaticJoint) else ""


def _of_joints(edit: Callable[[str, Usd.Prim], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit joints, given the instance of schemas for their degree of freedom."""
    for site in _moving(asset):
        yield Seed(site.subject, on_prim(site.path, partial(edit, _instance(site))))


def _of_any_joint(edit: Callable[[Usd.Prim], None], asset: GoodAsset) -> Iterator[Seed]:
    for site in asset.joints:
        yield Seed(site.subject, on_prim(site.path, edit))


def _drive(name: str, value: float, instance: str, prim: Usd.Prim) -> None:
    drive = UsdPhysics.DriveAPI.Apply(prim, instance)
    {"stiffness": drive.CreateStiffnessAttr, "damping": drive.CreateDampingAttr}[name](value)
    drive.CreateTargetPositionAttr(_FORCE)


def _axis_armature(instance: str, prim: Usd.Prim) -> None:
    _author(
        prim,
        f"physxJointAxis:{instance}:armature",
        _TYPES.Float,
        0.5,
        f"PhysxJointAxisAPI:{instance}",
    )


def _limit_spring(instance: str, prim: Usd.Prim) -> None:
    schema = f"PhysxLimitAPI:{instance}"
    for name in ("stiffness", "damping"):
        _author(prim, f"physxLimit:{instance}:{name}", _TYPES.Float, 2.0, schema)


def _soft_limit(_: str, prim: Usd.Prim) -> None:
    soft = Vt.DoubleArray([2.0, 1.0])
    _author(prim, "mjc:solreflimit", _TYPES.DoubleArray, soft, "MjcJointAPI")


def _margin(_: str, prim: Usd.Prim) -> None:
    _author(prim, "mjc:margin", _TYPES.Double, 0.5, "MjcJointAPI")


def _joint_state(instance: str, prim: Usd.Prim) -> None:
    name = f"state:{instance}:physics:position"
    _author(prim, name, _TYPES.Float, 0.1, f"PhysicsJointStateAPI:{instance}")


def _powerless(asset: GoodAsset) -> Iterator[Seed]:
    """Set the largest force of drives to zero."""
    for site in _moving(asset):
        name = f"drive:{_instance(site)}:physics:maxForce"
        if site.value(name):
            edit = _authoring(name, _TYPES.Float, 0.0)
            yield Seed(site.subject, on_prim(site.path, edit))


def _once(edit: Callable[[str, Usd.Stage, float], None], asset: GoodAsset) -> Iterator[Seed]:
    """Edit the stage, given a free path below the default prim."""
    if asset.bodies:
        yield Seed("robot", partial(edit, f"{asset.root}/{EXTRA_PRIM}"))


def _sideways(path: str, stage: Usd.Stage, _: float) -> None:
    scene = UsdPhysics.Scene.Define(stage, path)
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0.6, 0.0, -0.8))


def _lunar(path: str, stage: Usd.Stage, _: float) -> None:
    UsdPhysics.Scene.Define(stage, path).CreateGravityMagnitudeAttr(1.62)


def _weightless(path: str, stage: Usd.Stage, _: float) -> None:
    prim = UsdPhysics.Scene.Define(stage, path).GetPrim()
    _author(prim, "newton:gravityEnabled", _TYPES.Bool, value=False)
    prim.AddAppliedSchema("NewtonSceneAPI")


def _stopped(path: str, stage: Usd.Stage, _: float) -> None:
    prim = UsdPhysics.Scene.Define(stage, path).GetPrim()
    name = "physxScene:updateType"
    _author(prim, name, _TYPES.Token, "Disabled", "PhysxSceneAPI")


def _ground(path: str, stage: Usd.Stage, _: float) -> None:
    plane = UsdGeom.Plane.Define(stage, path)
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())


def _ornament(path: str, stage: Usd.Stage, _: float) -> None:
    UsdGeom.Cube.Define(stage, path)


def _unowned(prim: Usd.Prim) -> None:
    """Let a body belong to a scene that is not on the stage."""
    owner = UsdPhysics.RigidBodyAPI(prim).CreateSimulationOwnerRel()
    owner.SetTargets([prim.GetPath().GetPrefixes()[0].AppendChild(EXTRA_PRIM)])


def _colliding(asset: GoodAsset) -> dict[str, BodySite]:
    """Return the bodies with colliders, by path."""
    found = {}
    for site in shape_sites(asset, Role.COLLISION):
        prim = site.prim
        while prim and not (body := asset.body_at(str(prim.GetPath()))):
            prim = prim.GetParent()
        if prim and body:
            found[body.path] = body
    return found


def _ends(site: JointSite) -> set[str]:
    joint = UsdPhysics.Joint(site.prim)
    return {
        str(path) for end in (joint.GetBody0Rel(), joint.GetBody1Rel()) for path in end.GetTargets()
    }


def _neighbours_collide(asset: GoodAsset) -> Iterator[Seed]:
    """Let the links of joints collide with each other."""
    colliding = _colliding(asset)
    for site in asset.joints:
        ends = _ends(site)
        enabled = UsdPhysics.Joint(site.prim).GetJointEnabledAttr().Get()
        if enabled and len(ends) > 1 and colliding.keys() >= ends:
            yield Seed(site.subject, on_prim(site.path, _collide))


def _collide(prim: Usd.Prim) -> None:
    UsdPhysics.Joint(prim).CreateCollisionEnabledAttr(True)


def _apart(asset: GoodAsset) -> Iterator[tuple[BodySite, BodySite]]:
    """Yield pairs of bodies with colliders that no chain of joints welds, or joins."""
    bodies = list(_colliding(asset).values())
    joined = [_ends(site) for site in asset.joints]
    welded = [_ends(site) for site in asset.joints if not COORDINATES[site.stated.type]]
    for at, one in enumerate(bodies):
        group = {one.path}
        for _ in welded:
            group = group.union(*(ends for ends in welded if ends & group))
        for other in bodies[at + 1 :]:
            if other.path not in group and {one.path, other.path} not in joined:
                yield one, other


def _filtered(asset: GoodAsset) -> Iterator[Seed]:
    for one, other in _apart(asset):
        yield Seed(one.subject, partial(_filter, one.path, other.path))


def _filter(one: str, other: str, stage: Usd.Stage, _: float) -> None:
    api = UsdPhysics.FilteredPairsAPI.Apply(stage.GetPrimAtPath(one))
    api.CreateFilteredPairsRel().SetTargets([other])


def _grouped(asset: GoodAsset) -> Iterator[Seed]:
    """Put the colliders of the robot in a group that does not collide with itself."""
    if any(True for _ in _apart(asset)):
        yield Seed("robot", partial(_group, f"{asset.root}/{EXTRA_PRIM}"))


def _group(path: str, stage: Usd.Stage, _: float) -> None:
    group = UsdPhysics.CollisionGroup.Define(stage, path)
    group.CreateFilteredGroupsRel().SetTargets([path])
    members = group.GetCollidersCollectionAPI()
    members.CreateIncludesRel().SetTargets([Sdf.Path(path).GetParentPath()])


def _ghostly(name: str, schema: str, asset: GoodAsset) -> Iterator[Seed]:
    """Switch collisions of an articulation with itself off."""
    roots = [
        str(prim.GetPath())
        for prim in asset.stage.Traverse()
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    if roots and any(True for _ in _apart(asset)):
        edit = _authoring(name, _TYPES.Bool, False, schema)
        yield Seed("robot", on_prim(roots[0], edit))


def _without_articulation(asset: GoodAsset) -> Iterator[Seed]:
    for prim in asset.stage.Traverse():
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            edit = _authoring(
                "physxArticulation:articulationEnabled",
                _TYPES.Bool,
                False,
                "PhysxArticulationAPI",
            )
            yield Seed("robot", on_prim(str(prim.GetPath()), edit))


def _sleepy(asset: GoodAsset) -> Iterator[Seed]:
    """Let PhysX put the articulation to sleep while it falls slowly."""
    for prim in asset.stage.Traverse():
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI):
            name = "physxArticulation:sleepThreshold"
            edit = _authoring(name, _TYPES.Float, 1000.0, "PhysxArticulationAPI")
            yield Seed("robot", on_prim(str(prim.GetPath()), edit))


def _misplaced_root(asset: GoodAsset) -> Iterator[Seed]:
    """Move the articulation root to a body that a joint moves."""
    roots = [
        str(prim.GetPath())
        for prim in asset.stage.Traverse()
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    moved = {site.stated.child: site for site in asset.joints if site.positions.any()}
    for body in asset.bodies:
        if len(roots) == 1 and body.stated.name in moved:
            yield Seed(body.subject, partial(_move_root, roots[0], body.path))


def _move_root(path: str, target: str, stage: Usd.Stage, _: float) -> None:
    stage.GetPrimAtPath(path).RemoveAPI(UsdPhysics.ArticulationRootAPI)
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(target))


def _misspell(prim: Usd.Prim) -> None:
    UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("convexhull")


def _make_trigger(prim: Usd.Prim) -> None:
    prim.AddAppliedSchema("PhysxTriggerAPI")


def _make_slippery(prim: Usd.Prim) -> None:
    path = prim.GetPath().GetPrefixes()[0].AppendChild(EXTRA_PRIM)
    material = UsdShade.Material.Define(prim.GetStage(), path)
    api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
    api.CreateDynamicFrictionAttr(0.01)
    api.CreateRestitutionAttr(0.9)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose=_PHYSICS)


def _smooth(prim: Usd.Prim) -> None:
    mesh = UsdGeom.Mesh(prim)
    mesh.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.catmullClark)


def _lose_scheme(prim: Usd.Prim) -> None:
    """Leave the subdivision to the fallback, which is Catmull-Clark."""
    UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Block()


def _body(
    identifier: str, title: str, aims: tuple[str, ...], edit: Callable[[Usd.Prim], None]
) -> Fault:
    return Fault(f"setting.{identifier}", title, aims, partial(_of_bodies, edit), simulated=True)


def _physx_body(
    identifier: str, title: str, name: str, kind: Sdf.ValueTypeName, value: object
) -> Fault:
    edit = _authoring(f"physxRigidBody:{name}", kind, value, "PhysxRigidBodyAPI")
    return _body(identifier, title, _BODIES, edit)


def _joint(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[str, Usd.Prim], None],
) -> Fault:
    return Fault(f"setting.{identifier}", title, aims, partial(_of_joints, edit), simulated=True)


def _plain_joint(identifier: str, title: str, name: str, value: float, *schemas: str) -> Fault:
    edit = _authoring(name, _TYPES.Float, value, *schemas)
    return Fault(
        f"setting.{identifier}",
        title,
        _JOINTS,
        partial(_of_any_joint, edit),
        simulated=True,
    )


def _stage(identifier: str, title: str, edit: Callable[[str, Usd.Stage, float], None]) -> Fault:
    return Fault(f"setting.{identifier}", title, _SCENE, partial(_once, edit), simulated=True)


def _shape(
    identifier: str,
    title: str,
    aims: tuple[str, ...],
    edit: Callable[[Usd.Prim], None],
    applies: Callable[[ShapeSite], bool] = is_any,
    role: Role = Role.COLLISION,
) -> Fault:
    return Fault(
        f"setting.{identifier}",
        title,
        aims,
        partial(of_shapes, edit, role, applies),
        simulated=role is Role.COLLISION,
    )


SETTING_FAULTS = (
    _body(
        "velocity",
        "body starts with a velocity",
        _INITIAL,
        _authoring("physics:velocity", _TYPES.Vector3f, Gf.Vec3f(0.3, -0.2, 0.5)),
    ),
    _body(
        "spin",
        "body starts with a rotation",
        _INITIAL,
        _authoring("physics:angularVelocity", _TYPES.Vector3f, Gf.Vec3f(30, 20, 50)),
    ),
    _body(
        "asleep",
        "body starts asleep",
        _INITIAL,
        _authoring("physics:startsAsleep", _TYPES.Bool, value=True),
    ),
    _joint("state", "PhysX: joint starts elsewhere", _INITIAL, _joint_state),
    _physx_body(
        "gravity-off",
        "PhysX: body without gravity",
        "disableGravity",
        _TYPES.Bool,
        True,
    ),
    _physx_body("locked-position", "PhysX: body locked in place", "lockedPosAxis", _TYPES.Int, 7),
    _physx_body(
        "locked-rotation",
        "PhysX: body locked against rotation",
        "lockedRotAxis",
        _TYPES.Int,
        7,
    ),
    _physx_body("damped", "PhysX: body damped", "linearDamping", _TYPES.Float, 5.0),
    _physx_body("spin-damped", "PhysX: rotation damped", "angularDamping", _TYPES.Float, 5.0),
    _physx_body(
        "slowed",
        "PhysX: speed of body limited",
        "maxLinearVelocity",
        _TYPES.Float,
        0.01,
    ),
    _body("unowned", "body of a missing scene", _SCENE, _unowned),
    _stage("gravity-tilted", "gravity tilted", _sideways),
    _stage("gravity-lunar", "gravity of the Moon", _lunar),
    _stage("weightless", "Newton: gravity off", _weightless),
    _stage("stopped", "PhysX: scene not simulated", _stopped),
    _stage("ground", "ground plane added", _ground),
    _stage("ornament", "visual added that is part of no link", _ornament),
    _joint("stiff", "drive with stiffness", _DRIVES, partial(_drive, "stiffness", 100.0)),
    _joint("viscous", "drive with damping", _DRIVES, partial(_drive, "damping", 100.0)),
    Fault(
        "setting.powerless",
        "drive without force",
        ("limits.effort",),
        _powerless,
        simulated=True,
    ),
    _plain_joint("breaks", "joint breaks at a force", "physics:breakForce", _FORCE),
    _plain_joint("bends", "joint breaks at a torque", "physics:breakTorque", _FORCE),
    _joint(
        "armature",
        "Newton: armature added",
        _JOINTS,
        lambda _, prim: _author(prim, "newton:armature", _TYPES.Float, 0.5, "NewtonJointAPI"),
    ),
    _joint(
        "limit-spring",
        "Newton: limit made a spring",
        _JOINTS,
        lambda _, prim: _author(prim, "newton:limitStiffness", _TYPES.Float, 2.0, "NewtonJointAPI"),
    ),
    _joint("axis-armature", "PhysX: armature added", _JOINTS, _axis_armature),
    _joint("axis-limit", "PhysX: limit made a spring", _JOINTS, _limit_spring),
    _joint("limit-soft", "MuJoCo: limit made soft", _JOINTS, _soft_limit),
    _joint("limit-margin", "MuJoCo: limit acts before it is reached", _JOINTS, _margin),
    Fault(
        "setting.neighbours",
        "links of a joint collide with each other",
        _FILTERS,
        _neighbours_collide,
        simulated=True,
    ),
    Fault("setting.filtered", "pair of links filtered", _FILTERS, _filtered),
    Fault("setting.grouped", "links in a filtered group", _FILTERS, _grouped),
    Fault(
        "setting.self-collision",
        "Newton: self-collision off",
        _FILTERS,
        partial(_ghostly, "newton:selfCollisionEnabled", "NewtonArticulationRootAPI"),
    ),
    Fault(
        "setting.articulation-collision",
        "PhysX: self-collision off",
        _FILTERS,
        partial(_ghostly, "physxArticulation:enabledSelfCollisions", "PhysxArticulationAPI"),
    ),
    Fault(
        "setting.articulation-off",
        "PhysX: articulation disabled",
        _ROOTS,
        _without_articulation,
        simulated=True,
    ),
    Fault("setting.sleep", "PhysX: articulation falls asleep", _ROOTS, _sleepy),
    Fault(
        "setting.root-moved",
        "articulation root on another body",
        _ROOTS,
        _misplaced_root,
        simulated=True,
    ),
    _shape("trigger", "PhysX: collider made a trigger", _FILTERS, _make_trigger),
    _shape("slippery", "collider with a contact material", _MATERIALS, _make_slippery),
    _shape("misspelt", "approximation misspelt", _SHAPES, _misspell, is_mesh),
    _shape(
        "margin",
        "Newton: contact margin added",
        _SHAPES,
        _authoring("newton:contactMargin", _TYPES.Float, 0.05, "NewtonCollisionAPI"),
    ),
    *(
        _shape(identifier, title, _SHAPES, _authoring(name, *typed, schema), is_mesh)
        for identifier, title, name, typed, schema in (
            (
                "hull-newton",
                "Newton: hull of few vertices",
                "newton:maxHullVertices",
                (_TYPES.Int, 8),
                "NewtonMeshCollisionAPI",
            ),
            (
                "hull-mujoco",
                "MuJoCo: hull of few vertices",
                "mjc:maxhullvert",
                (_TYPES.Int, 8),
                "MjcMeshCollisionAPI",
            ),
            (
                "hull-thick",
                "PhysX: hull made thick",
                "physxConvexHullCollision:minThickness",
                (_TYPES.Float, 0.1),
                "PhysxConvexHullCollisionAPI",
            ),
            (
                "pieces",
                "PhysX: one convex piece",
                "physxConvexDecompositionCollision:maxConvexHulls",
                (_TYPES.Int, 1),
                "PhysxConvexDecompositionCollisionAPI",
            ),
        )
    ),
    _shape("smoothed", "visual subdivided", _SMOOTH, _smooth, is_mesh, Role.VISUAL),
    _shape(
        "schemeless",
        "subdivision scheme lost",
        _SMOOTH,
        _lose_scheme,
        is_mesh,
        Role.VISUAL,
    ),
)
