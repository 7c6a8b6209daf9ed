"""URDF engine: MuJoCo.

MuJoCo merges a root link called ``world`` into its own world body, names no fixed
joint, and calls the three joints of a planar one ``<name>_TX``, ``_TY`` and ``_RZ``.
Inertia that it rejects is replaced before compilation, so that one invalid tensor does
not prevent the rest of the robot from being compared. It moves every mesh to its centre
and rotates it to its principal axes; the pose of the geom compensates for both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import mujoco
import numpy as np
from lxml import etree
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import mujoco_models as models
from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.engines import protocol
from urdf_usd.conformance.engines.rotations import matrices, quats_wxyz
from urdf_usd.conformance.engines.statements import (
    OF_ANY_URDF,
    along_link,
    moving_joints,
    read_only,
    unreachable_joints,
    vec3,
    with_frames,
)
from urdf_usd.conformance.engines.surfaces import mesh_surface, primitive_surface
from urdf_usd.conformance.observation.robot import (
    Configurations,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MimicObservation,
    Observation,
    Quantity,
)
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation, Surface

# MuJoCo's own name for its world body, and for any URDF link of that name.
_WORLD = "world"
_STEPS = (
    prepared.strip_shapes,
    prepared.keep_first_inertial,
    prepared.complete_inertials,
    prepared.rename_link(_WORLD, inner_only=True),
)
_STATES = OF_ANY_URDF | {Quantity.MIMIC, Quantity.EFFORT, Quantity.MOTION, Quantity.ROLLOUT}
_PLANAR_SUFFIXES = ("_TX", "_TY", "_RZ")
_TYPES = {
    mujoco.mjtJoint.mjJNT_FREE: JointType.FLOATING,
    mujoco.mjtJoint.mjJNT_BALL: JointType.SPHERICAL,
    mujoco.mjtJoint.mjJNT_SLIDE: JointType.PRISMATIC,
    mujoco.mjtJoint.mjJNT_HINGE: JointType.REVOLUTE,
}
_UNNAMED = "MuJoCo has no names of fixed joints; this is the file's."
_UNLIMITED = "MuJoCo does not distinguish continuous and unlimited revolute joints."
_MESH_FORMATS = frozenset({".stl", ".obj"})
# The group that MuJoCo puts visuals of a URDF in.
_VISUAL_GROUP = 1
# MuJoCo's sizes are half edges, radius and half length, radius.
_PRIMITIVES = {
    int(mujoco.mjtGeom.mjGEOM_BOX): (ShapeKind.BOX, (2.0, 2.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): (ShapeKind.CYLINDER, (1.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): (ShapeKind.CAPSULE, (1.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_SPHERE): (ShapeKind.SPHERE, (1.0,)),
}


class MujocoEngine(Struct, frozen=True):
    """Reads a URDF with MuJoCo's reader and compiler."""

    name: str = "mujoco"
    side: protocol.Side = protocol.Side.URDF

    def availability(self) -> protocol.Availability:
        """Return the installed version."""
        return protocol.Available(mujoco.__version__)

    def observe(self, request: protocol.Request) -> Observation:
        """Read the file and state its quantities.

        Raises:
            UnsupportedError: MuJoCo refuses the file.
        """
        urdf = prepared.prepare(request.path, _STEPS)
        robot = _compile(urdf)
        joints = _joints(robot)
        mechanism = models.Mechanism(
            robot.model,
            tuple(
                models.joint_place(robot.model, joint, robot.bodies[joint.child])
                for joint in joints
                if joint.type is not JointType.FIXED
            ),
            free_root=robot.bodies[robot.root] != 0,
            unknown=models.joints_moving(joints, robot.unknown),
        )
        first_dof = {joint.name: joint.dofs.start for joint in mechanism.joints}
        links, axes = [], matrices(robot.model.body_iquat)
        for link, index in robot.bodies.items():
            stated, moments = None, robot.model.body_inertia[index]
            if (mass := float(robot.model.body_mass[index])) or moments.any():
                center, tensor = robot.model.body_ipos[index], along_link(moments, axes[index])
                stated = urdf.stated_mass([link], mass, center, tensor)
            links.append(LinkObservation(link, stated))
        shapes, notes = _shapes(request)
        reading = Observation(
            engine=self.name,
            robot=robot.name,
            root=robot.root,
            joints=joints,
            joint_order=tuple(sorted(moving_joints(joints), key=first_dof.__getitem__)),
            notes=robot.notes,
            states=_STATES if shapes is None else _STATES | {Quantity.COLLISION, Quantity.VISUAL},
            links=tuple(links),
            shapes=shapes or (),
        )

        def frames(links: tuple[str, ...]) -> Frames:
            return _frames(robot, mechanism, links, request.configurations)

        reading = with_frames(reading, "MuJoCo", urdf, request, frames)
        reading = structs.replace(reading, notes=(*reading.notes, *notes))
        if unreachable_joints(joints, request.configurations):
            return reading
        try:
            robot.model.body_inertia[list(robot.weightless)] = 0.0
            # Derived constants depend on the inertia of merged bodies.
            with models.collected_warnings():
                mujoco.mj_setConst(robot.model, mujoco.MjData(robot.model))
        # Such as for a link without mass behind a prismatic joint of a fixed link.
        except mujoco.FatalError as error:
            note = f"MuJoCo cannot simulate it: {_refusal(error)}"
            return structs.replace(reading, notes=(*reading.notes, note))
        return structs.replace(
            reading,
            dynamics=models.equations_of_motion(mechanism, request.configurations),
            rollout=models.roll_out(mechanism, request.configurations),
        )


class _Robot(Struct, frozen=True, eq=False):
    """A compiled model, whose root moves freely, and the URDF names of its parts."""

    model: mujoco.MjModel
    name: str | None
    root: str  # a link ``world`` is MuJoCo's world body, which does not move
    bodies: Mapping[str, int]  # by link
    joint_of_child: Mapping[str, str]  # name in the file, by link
    unknown: frozenset[str]  # links whose mass properties in the model are not the file's
    weightless: tuple[int, ...]  # bodies whose moments the compiler rejects for lack of mass
    notes: tuple[str, ...]


def _compile(urdf: prepared.UrdfCopy) -> _Robot:
    """Read and compile a prepared copy.

    Mass and inertia that the compiler rejects are replaced, marked in the copy as unknown, and
    in the model as MuJoCo reads them.
    """
    try:
        with models.collected_warnings() as messages:
            spec = mujoco.MjSpec.from_string(urdf.text.decode())
            spec.compiler.fusestatic = False
            bodies = [body for body in spec.bodies if body.joints or body.explicitinertial]
            refused = [] if _accepted(bodies) else [b for b in bodies if not _accepted([b])]
            stated = {body.name: _inertial(body) for body in refused}
            mass, inertia = _replace_inertia(refused)
            roots = spec.worldbody.bodies
            if _WORLD not in urdf.links and len(roots) == 1:
                (root,) = roots
                root.add_freejoint()
                # A fixed body may lack mass.
                if root.name not in stated and not _accepted([root]):
                    stated[root.name] = _inertial(root)
                    _replace_inertia([root])
            for name, (_, _, quat_wxyz) in stated.items():
                spec.body(name).iquat = quat_wxyz
            model = models.compiled_quietly(spec)
    except ValueError as error:
        raise protocol.UnsupportedError(_refusal(error)) from error
    unknown = set(urdf.mass_unknown | urdf.inertia_unknown)
    for name, (value, moments, _) in stated.items():
        index = model.body(name).id
        if value < 0:
            unknown.add(urdf.original(name))
        model.body_mass[index], model.body_inertia[index] = value, moments
    urdf.mass_unknown |= set(map(urdf.original, mass))
    urdf.inertia_unknown |= set(map(urdf.original, inertia))
    index_of = {
        urdf.original(model.body(index).name): index
        for index in range(model.nbody)
        if index or _WORLD in urdf.links
    }
    # The world body is its own parent, and a link only if the file has one ``world``.
    tops = [link for link, index in index_of.items() if index == 0]
    tops = tops or [link for link, i in index_of.items() if model.body_parentid[i] == 0]
    if len(tops) != 1:
        raise protocol.UnsupportedError(f"MuJoCo finds {len(tops)} root links")
    notes = [f"MuJoCo warns: {text.strip()}" for text in dict.fromkeys(messages)]
    if replaced := ", ".join(map(urdf.original, sorted(mass | inertia))):
        notes.insert(
            0,
            "MuJoCo rejects mass or inertia of some links, which were replaced by"
            f" placeholders and are not stated: {replaced}.",
        )
    return _Robot(
        model=model,
        name=spec.modelname or None,
        root=tops[0],
        bodies=index_of,
        joint_of_child={urdf.original(link): joint for link, joint in urdf.joint_of_child.items()},
        unknown=frozenset(unknown),
        weightless=tuple(model.body(name).id for name, (value, *_) in stated.items() if not value),
        notes=tuple(notes),
    )


def _refusal(error: Exception) -> str:
    # Numbers would be those of the prepared copy.
    text = re.sub(r", (line|id) \d+", "", str(error))
    return "; ".join(filter(None, text.splitlines()))


def _replace_inertia(refused: Iterable[mujoco.MjsBody]) -> tuple[set[str], set[str]]:
    """Put placeholders where the compiler would reject mass or inertia.

    Returns:
        Bodies with placeholder mass properties, and those with a placeholder tensor.
    """
    mass: set[str] = set()
    inertia: set[str] = set()
    for body in refused:
        body.explicitinertial = True
        body.fullinertia = [math.nan, 0, 0, 0, 0, 0]
        body.inertia = [1, 1, 1]
        if _accepted([body]):
            inertia.add(body.name)
        else:
            body.mass = 1
            mass.add(body.name)
    return mass, inertia


def _accepted(bodies: Iterable[mujoco.MjsBody]) -> bool:
    """Whether the compiler accepts these bodies, alone and unconnected."""
    trial = mujoco.MjSpec()
    for body in bodies:
        alone = trial.worldbody.add_body(
            explicitinertial=body.explicitinertial,
            mass=body.mass,
            ipos=body.ipos,
            iquat=body.iquat,
            inertia=body.inertia,
            fullinertia=body.fullinertia,
        )
        if body.joints:
            alone.add_joint()
    try:
        trial.compile()
    except ValueError:
        return False
    return True


def _inertial(body: mujoco.MjsBody) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return mass, (3) principal moments and the quaternion of their axes, before compilation."""
    if not body.explicitinertial:
        return 0.0, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    moments, axes = np.array(body.inertia), np.eye(3)
    if np.isfinite(body.fullinertia).all():
        xx, yy, zz, xy, xz, yz = body.fullinertia
        moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        axes = axes * np.linalg.det(axes)
    return float(body.mass), moments, quats_wxyz(matrices(body.iquat) @ axes)


def _joints(robot: _Robot) -> tuple[JointObservation, ...]:
    model = robot.model
    link_of = {index: link for link, index in robot.bodies.items()}
    mimics = {
        model.joint(model.eq_obj1id[index]).name: MimicObservation(
            leader=model.joint(model.eq_obj2id[index]).name,
            multiplier=float(model.eq_data[index, 1]),
            offset=float(model.eq_data[index, 0]),
        )
        for index in range(model.neq)
        if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT
    }
    return tuple(
        _joint(robot, link, link_of[model.body_parentid[index]], mimics)
        for link, index in robot.bodies.items()
        if link != robot.root
    )


def _joint(
    robot: _Robot, link: str, parent: str, mimics: Mapping[str, MimicObservation]
) -> JointObservation:
    """State the joint that carries ``link``."""
    model, body = robot.model, robot.bodies[link]
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    if count == 0:
        name = robot.joint_of_child[link]
        return JointObservation(name, JointType.FIXED, parent, link, note=_UNNAMED)
    name = model.joint(first).name
    if not name:
        raise protocol.UnsupportedError(f"MuJoCo drops the name of the joint of link {link}")
    if count == len(_PLANAR_SUFFIXES):
        name, axis = name.removesuffix(_PLANAR_SUFFIXES[0]), vec3(model.jnt_axis[first + 2])
        return JointObservation(name, JointType.PLANAR, parent, link, axis=axis)
    kind = _TYPES[mujoco.mjtJoint(model.jnt_type[first])]
    if kind in {JointType.FLOATING, JointType.SPHERICAL}:
        return JointObservation(name, kind, parent, link)
    limited = model.jnt_limited[first]
    lower, upper = map(float, model.jnt_range[first]) if limited else (-math.inf, math.inf)
    if kind is JointType.REVOLUTE and math.isinf(lower) and math.isinf(upper):
        kind = JointType.CONTINUOUS
    freedom = model.jnt_dofadr[first]
    return JointObservation(
        name,
        kind,
        parent,
        link,
        lower=lower,
        upper=upper,
        effort=float(model.jnt_actfrcrange[first, 1]) if model.jnt_actfrclimited[first] else None,
        damping=float(model.dof_damping[freedom]),
        friction=float(model.dof_frictionloss[freedom]),
        mimic=mimics.get(name),
        axis=vec3(model.jnt_axis[first]),
        note=_UNLIMITED if kind is JointType.CONTINUOUS else None,
    )


def _frames(
    robot: _Robot,
    mechanism: models.Mechanism,
    links: tuple[str, ...],
    configurations: Configurations,
) -> Frames:
    """Poses relative to the root link."""
    model = robot.model
    bodies = [robot.bodies[link] for link in links]
    base = robot.bodies[robot.root]
    data = mujoco.MjData(model)
    origins = np.empty((configurations.count, *data.xpos.shape))
    turns = np.empty((configurations.count, *data.xmat.shape))
    qpos, _ = mechanism.states(configurations)
    for row in range(configurations.count):
        data.qpos[:] = qpos[row]
        mujoco.mj_kinematics(model, data)
        origins[row], turns[row] = data.xpos, data.xmat
    axes = turns.reshape(*origins.shape, 3)
    positions = (origins[:, bodies] - origins[:, [base]]) @ axes[:, base]
    rotations = np.swapaxes(axes[:, [base]], -1, -2) @ axes[:, bodies]
    return Frames(links, read_only(positions), read_only(rotations), configurations.labels)


def _shapes(
    request: protocol.Request,
) -> tuple[tuple[ShapeObservation, ...] | None, tuple[str, ...]]:
    """State primitives, and the meshes that MuJoCo loads, with notes.

    The shapes are None if MuJoCo rejects the primitives as well.
    """
    refusals: list[str] = []
    for loads in (lambda _, file: file.suffix.lower() in _MESH_FORMATS, lambda *_: False):
        rename = prepared.rename_link(_WORLD, inner_only=True)
        copy, unread = prepared.prepare_shapes(request, loads, rename)
        # Visuals, paths of meshes and fixed links are kept.
        kept = dict.fromkeys(("discardvisual", "fusestatic", "strippath"), "false")
        etree.SubElement(etree.SubElement(copy.robot, "mujoco"), "compiler", kept)
        try:
            with models.collected_warnings():
                spec = mujoco.MjSpec.from_string(copy.text.decode())
                for mesh in spec.meshes:
                    # A mesh without volume is rejected, unless its inertia is that of a shell.
                    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
                for geom in spec.geoms:
                    # Convex hulls of colliding geoms would take nine tenths of the time.
                    geom.contype = geom.conaffinity = 0
                model = models.compiled_quietly(spec)
        except ValueError as error:
            refusals.append(f"MuJoCo rejects shapes: {str(error).splitlines()[0]}")
        else:
            return (*_geoms(copy, model), *unread), tuple(refusals)
    return None, ()


def _geoms(urdf: prepared.UrdfCopy, model: mujoco.MjModel) -> list[ShapeObservation]:
    # Most meshes are both visual and collider.
    measured: dict[tuple[int, bytes], Surface | None] = {}
    placed = np.tile(np.eye(4), (model.ngeom, 1, 1))
    placed[:, :3, :3], placed[:, :3, 3] = matrices(model.geom_quat), model.geom_pos
    shapes = []
    for index in range(model.ngeom):
        body, transform = model.geom_bodyid[index], placed[index]
        if body == 0 and _WORLD not in urdf.links:
            continue
        kind, size = ShapeKind.MESH, tuple[float, ...]()
        if model.geom_type[index] == mujoco.mjtGeom.mjGEOM_MESH:
            mesh = int(model.geom_dataid[index])
            place = mesh, transform.tobytes()
            if place not in measured:
                first, start = model.mesh_vertadr[mesh], model.mesh_faceadr[mesh]
                points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]]
                faces = model.mesh_face[start : start + model.mesh_facenum[mesh]]
                points, faces = np.array(points, np.float64), np.array(faces, np.int64)
                surface = mesh_surface(points, faces, transform)
                # It leaves out degenerate triangles, so their number is not the file's.
                measured[place] = structs.replace(surface, triangles=0) if surface else None
            surface = measured[place]
        else:
            kind, factors = _PRIMITIVES[int(model.geom_type[index])]
            size = tuple((model.geom_size[index, : len(factors)] * factors).tolist())
            surface = primitive_surface(kind, size, transform)
        visual = model.geom_group[index] == _VISUAL_GROUP
        shapes.append(
            ShapeObservation(
                link=urdf.original(model.body(body).name),
                role=Role.VISUAL if visual else Role.COLLISION,
                source=f"geom {index}",
                name=kind.value,
                kind=kind,
                size=size,
                position=vec3(model.geom_pos[index]),
                surface=surface,
                stated=surface is not None,
            )
        )
    return shapes
