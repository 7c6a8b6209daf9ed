"""MJCF engine: MuJoCo's own reader and compiler, which decides what an MJCF states.

MJCF in the terms of an observation:

- The root link is the only body of the world body if it is fixed to it or free. Otherwise, as
  with a slide to the world or with two arms, it is a link ``world``.
- A body with several joints is a chain of links without mass, one for each joint but the last,
  named ``<body>_<joint>``. Their joints keep names, axes and anchors, in the order of the file.
  USD states such joints between the same two bodies (``newton:jointsAddMobility``), and
  ``openusd/reading.py`` reads them as the same chain.
- A body without a joint hangs on a fixed joint, and a free body besides the root on a floating
  one. Both, and what the file leaves unnamed, get names that are listed as made up.
- A position counts from the initial pose, as in USD: it is MuJoCo's less its ``ref``.

Everything is read from the compiled model, so that defaults, classes, includes, frames, units,
inertia from geometry and the compiler's corrections have their effect.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import mujoco
import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import mujoco_models as models
from urdf_usd.conformance.engines import protocol, statements
from urdf_usd.conformance.engines.mesh_materials import light
from urdf_usd.conformance.engines.statements import Array
from urdf_usd.conformance.engines.surfaces import ellipsoid_surface, mesh_surface, primitive_surface
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation import shapes as observed

NAME = "mujoco-mjcf"
WORLD = "world"
_TYPES = {
    int(mujoco.mjtJoint.mjJNT_FREE): obs.JointType.FLOATING,
    int(mujoco.mjtJoint.mjJNT_BALL): obs.JointType.SPHERICAL,
    int(mujoco.mjtJoint.mjJNT_SLIDE): obs.JointType.PRISMATIC,
    int(mujoco.mjtJoint.mjJNT_HINGE): obs.JointType.REVOLUTE,
}
# MuJoCo's sizes are half edges, radius and half length, radius.
_KINDS: Mapping[int, tuple[observed.ShapeKind, tuple[float, ...]]] = {
    int(mujoco.mjtGeom.mjGEOM_BOX): (observed.ShapeKind.BOX, (2.0, 2.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): (observed.ShapeKind.CYLINDER, (1.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): (observed.ShapeKind.CAPSULE, (1.0, 2.0)),
    int(mujoco.mjtGeom.mjGEOM_SPHERE): (observed.ShapeKind.SPHERE, (1.0,)),
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): (observed.ShapeKind.OTHER, ()),
    int(mujoco.mjtGeom.mjGEOM_MESH): (observed.ShapeKind.MESH, ()),
}
_OF_JOINTS = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
# Groups of geoms that MuJoCo's viewer shows by default.
_SHOWN = 3
_GRAVITY = (0.0, 0.0, -9.81)
_ROOT_FREEDOMS = 6
_IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)


class MjcfEngine(Struct, frozen=True):
    name: str = NAME
    side: protocol.Side = protocol.Side.MJCF

    def availability(self) -> protocol.Availability:
        return protocol.Available(mujoco.__version__)

    def observe(self, request: protocol.Request) -> obs.Observation:
        return observe_mjcf(request.path, request.configurations)


def observe_mjcf(
    path: str, configurations: obs.Configurations, *, shapes: bool = True
) -> obs.Observation:
    """State everything about an MJCF, unless MuJoCo refuses it (UnsupportedError)."""
    robot = kept_robot(path)
    model, links = robot.model, {link: (body, slice(0)) for link, body in robot.bodies.items()}
    starts = [*model.jnt_qposadr.tolist(), model.nq]
    for link, (body, joint) in robot.between.items():
        last = int(model.body_jntadr[body] + model.body_jntnum[body])
        links[link] = body, slice(starts[joint], starts[last])
    reading = structs.replace(
        robot.structure,
        frames=link_frames(robot.mechanism, links, configurations),
        shapes=tuple(_shapes(robot)) if shapes else (),
        dynamics=models.equations_of_motion(robot.mechanism, configurations),
    )
    return models.with_motion(reading, configurations, perturbed=configurations.rollout is not None)


def mjcf_joints(path: str) -> tuple[obs.JointObservation, ...]:
    return kept_robot(path).structure.joints


def mjcf_efforts(path: str) -> dict[str, float]:
    """Return the largest force of the only actuator of each joint that limits it [N or N m]."""
    robot = kept_robot(path)
    model, names = robot.model, {joint: place.name for joint, place in robot.places.items()}
    efforts: dict[str, list[float]] = {}
    for actuator in range(model.nu):
        joint = int(model.actuator_trnid[actuator, 0])
        if mujoco.mjtTrn(model.actuator_trntype[actuator]) not in _OF_JOINTS or joint not in names:
            continue
        least, most = -math.inf, math.inf
        if model.actuator_forcelimited[actuator]:
            least, most = model.actuator_forcerange[actuator].tolist()
        elif model.actuator_ctrllimited[actuator] and not model.actuator_biastype[actuator]:
            gain = model.actuator_gainprm[actuator, 0]
            least, most = (gain * model.actuator_ctrlrange[actuator]).tolist()
        force = most * abs(float(model.actuator_gear[actuator, 0]))
        efforts.setdefault(names[joint], []).append(force if least == -most else math.inf)
    only = {name: force for name, (force, *more) in efforts.items() if not more}
    return {name: force for name, force in only.items() if force < math.inf}


class MjcfRobot(Struct, frozen=True, eq=False):
    """A compiled MJCF, and which of its bodies and joints are links and joints."""

    model: mujoco.MjModel  # its root moves freely unless that is the world
    mechanism: models.Mechanism
    structure: obs.Observation  # all that depends on no configuration
    bodies: Mapping[str, int]  # by link, without the links between several joints of a body
    # by link between several joints: body and first of the joints that follow
    between: Mapping[str, tuple[int, int]]
    places: Mapping[int, models.JointPlace]  # by MuJoCo's number of the joint

    @property
    def links(self) -> dict[int, str]:
        return {body: link for link, body in self.bodies.items() if body}


def kept_robot(path: str) -> MjcfRobot:
    """Read a robot, or return it from the cache, as several steps read the same robot."""
    return _read(path, Path(path).stat().st_mtime_ns)


# Compiling takes seconds where meshes are large.
@lru_cache(maxsize=2)
def _read(path: str, changed: int) -> MjcfRobot:
    del changed
    try:
        with models.collected_warnings() as messages:
            spec = mujoco.MjSpec.from_file(path)
            top = list(spec.worldbody.bodies)
            if not top:
                raise protocol.UnsupportedError("the MJCF has no body")
            uncompared = {what: len(getattr(spec, name, ())) for what, name in _LISTS.items()}
            free = [_is_free(body) for body in top]
            root = top[0] if len(top) == 1 and (free[0] or not top[0].joints) else None
            model, held = _compiled(spec, root)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise protocol.UnsupportedError(f"MuJoCo refuses it: {reason}") from error
    up = statements.matrices(model.qpos0[3:7])[2] if root else np.eye(3)[2]
    # Subtract ``ref`` from positions and limits; leave out what is no rigid-body motion.
    for joint in range(model.njnt):
        if obs.COORDINATES[_TYPES[model.jnt_type[joint]]] == 1:
            address = model.jnt_qposadr[joint]
            model.jnt_range[joint] -= model.qpos0[address]
            model.qpos_spring[address] -= model.qpos0[address]
            model.qpos0[address] = 0.0
    model.opt.gravity = _GRAVITY
    model.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
    model.body_gravcomp[:] = 0.0
    uncompared.update(_uncompared_of_model(model, held))
    notes = tuple(f"MuJoCo warns: {' '.join(text.split())}" for text in dict.fromkeys(messages))
    # A root without mass is singular.
    with models.collected_warnings():
        base = obs.Base.FLOATING if all(free) else obs.Base.FIXED
        robot = _structure(spec, model, root is not None, base)
    counts, axis = tuple(x for x in uncompared.items() if x[1]), statements.vec3(up)
    stated = structs.replace(robot.structure, up=axis, uncompared=counts, notes=notes)
    return structs.replace(robot, structure=stated)


def _is_free(body: mujoco.MjsBody) -> bool:
    return any(joint.type == mujoco.mjtJoint.mjJNT_FREE for joint in body.joints)


def _compiled(spec: mujoco.MjSpec, root: mujoco.MjsBody | None) -> tuple[mujoco.MjModel, bool]:
    """Compile with a root that moves freely; return whether it was given a joint for that."""
    # Keyframes are removed, as they have a number for each position.
    spec.compiler.fusestatic = False
    spec.compiler.discardvisual = False
    for key in list(spec.keys):
        spec.delete(key)
    if root is None or _is_free(root):
        return models.compiled_quietly(spec), False
    fixed = spec.copy()
    # Their damping follows from the inertia that they move with the base as it is.
    sprung = any(np.any(joint.springdamper) for joint in spec.joints)
    held = models.compiled_quietly(fixed) if sprung else None
    root.mocap = False
    root.add_freejoint()
    try:
        model = models.compiled_quietly(spec)
    except ValueError as error:
        # A fixed body may lack mass or inertia.
        if "mass" not in str(error):
            raise
        held = held or models.compiled_quietly(fixed)
        root.explicitinertial = True
        root.mass, root.inertia, root.fullinertia = 1.0, [1.0] * 3, [math.nan] * 6
        model = models.compiled_quietly(spec)
        for name in ("body_mass", "body_inertia", "body_ipos", "body_iquat"):
            getattr(model, name)[1] = getattr(held, name)[1]
        mujoco.mj_setConst(model, mujoco.MjData(model))
    if held:
        model.dof_damping[_ROOT_FREEDOMS:] = held.dof_damping
        model.jnt_stiffness[1:] = held.jnt_stiffness
    return model, True


def _structure(
    spec: mujoco.MjSpec, model: mujoco.MjModel, rooted: bool, base: obs.Base
) -> MjcfRobot:
    names, joint_names = _names(model)
    made_up = {f"link {names[body]}" for body in range(1, model.nbody) if not model.body(body).name}
    bodies = {} if rooted else {WORLD: 0}
    made_up |= {f"link {world}" for world in bodies}
    bodies |= {names[body]: body for body in range(1, model.nbody)}
    # The first joint of a rooted model is that of the root.
    unnamed = (j for j in range(int(rooted), model.njnt) if not model.joint(j).name)
    made_up |= {f"joint {joint_names[joint]}" for joint in unnamed}
    mimics = read_mimics(model, joint_names)
    joints: list[obs.JointObservation] = []
    between: dict[str, tuple[int, int]] = {}
    places: dict[int, models.JointPlace] = {}
    for body in range(2 if rooted else 1, model.nbody):
        parent = names[model.body_parentid[body]]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if not count:
            name = _unused(f"{names[body]}_fixed", joint_names.values())
            made_up.add(f"joint {name}")
            joints.append(obs.JointObservation(name, obs.JointType.FIXED, parent, names[body]))
        for joint in range(first, first + count):
            child = names[body]
            if joint + 1 < first + count:
                child = _unused(f"{child}_{joint_names[joint]}", {**bodies, **between})
                made_up.add(f"link {child}")
                between[child] = body, joint + 1
            stated = read_joint(model, joint, joint_names[joint], (parent, child), mimics)
            if stated.type is obs.JointType.FLOATING:
                # USD has no joint for it.
                name = _unused(f"{child}_free", joint_names.values())
                stated = structs.replace(stated, name=name)
                made_up.add(f"joint {stated.name}")
            joints.append(stated)
            places[joint] = models.joint_place(model, stated, joint)
            parent = child
    links = [obs.LinkObservation(link, body_mass(model, body)) for link, body in bodies.items()]
    links += [obs.LinkObservation(link) for link in between]
    moving = [joint for joint in joints if obs.COORDINATES[joint.type]]
    observation = obs.Observation(
        engine=NAME,
        robot=spec.modelname or None,
        root=names[1] if rooted else WORLD,
        states=frozenset(obs.Quantity),
        links=tuple(links),
        joints=tuple(joints),
        joint_order=tuple(joint.name for joint in moving),
        made_up=tuple(sorted(made_up)),
        nondynamic=tuple(names[b] for b in range(1, model.nbody) if model.body_mocapid[b] >= 0),
        implied=tuple(_implied(spec, model, names, joint_names)),
        simulation=_simulation(model, names, joint_names),
        base=base if any(link.mass for link in links) else obs.Base.STATIC,
    )
    mechanism = models.Mechanism(model, tuple(places.values()), free_root=rooted)
    if rooted:
        model.qpos0[:7] = _IDENTITY
    # The inertia of motors is compared by itself.
    model.dof_armature[:] = 0.0
    # The inertia of bodies with slides alone is a constant of the model.
    mujoco.mj_setConst(model, mujoco.MjData(model))
    return MjcfRobot(model, mechanism, observation, bodies, between, places)


def _names(model: mujoco.MjModel) -> tuple[dict[int, str], dict[int, str]]:
    """Return the names of bodies and joints; what has none is numbered within its parent."""
    bodies, joints = {0: WORLD}, {}
    taken = {model.body(body).name for body in range(model.nbody)}
    unnamed: Counter[str] = Counter()
    for body in range(1, model.nbody):
        parent, name = bodies[model.body_parentid[body]], model.body(body).name
        while not name or (name in taken and not model.body(body).name):
            unnamed[parent] += 1
            name = f"{parent}_body{unnamed[parent]}"
        bodies[body] = name
    taken = {model.joint(joint).name for joint in range(model.njnt)}
    for joint in range(model.njnt):
        body = model.jnt_bodyid[joint]
        name = f"{bodies[body]}_joint{joint - model.body_jntadr[body] + 1}"
        joints[joint] = model.joint(joint).name or _unused(name, taken)
    return bodies, joints


def _unused(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def read_mimics(
    model: mujoco.MjModel, names: Mapping[int, str] | Sequence[str]
) -> dict[str, obs.MimicObservation]:
    """Return the linear couplings of two joints, which are relative to their initial positions."""
    mimics = {}
    for index in (index for index in range(model.neq) if _is_coupling(model, index)):
        offset, multiplier = model.eq_data[index, :2].tolist()
        mimic = obs.MimicObservation(names[model.eq_obj2id[index]], multiplier, offset)
        mimics[names[model.eq_obj1id[index]]] = mimic
    return mimics


def _is_coupling(model: mujoco.MjModel, index: int) -> bool:
    return bool(
        model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT
        and model.eq_obj2id[index] >= 0
        and model.eq_active0[index]
        and not model.eq_data[index, 2:5].any()
    )


def read_joint(
    model: mujoco.MjModel,
    joint: int,
    name: str,
    ends: tuple[str, str],
    mimics: Mapping[str, obs.MimicObservation],
) -> obs.JointObservation:
    """State a joint by its number; ``ends`` are its parent and child."""
    kind, dof = _TYPES[model.jnt_type[joint]], int(model.jnt_dofadr[joint])
    stated = obs.JointObservation(name, kind, *ends)
    if kind is not obs.JointType.FLOATING and model.jnt_pos[joint].any():
        stated = structs.replace(stated, anchor=statements.vec3(model.jnt_pos[joint]))
    if obs.COORDINATES[kind] > 1:
        return stated
    lower, upper = -math.inf, math.inf
    if model.jnt_limited[joint]:
        lower, upper = map(float, model.jnt_range[joint])
    if kind is obs.JointType.REVOLUTE and math.isinf(lower) and math.isinf(upper):
        kind = obs.JointType.CONTINUOUS
    effort = None
    if model.jnt_actfrclimited[joint]:
        least, most = model.jnt_actfrcrange[joint].tolist()
        # One number in USD.
        effort = most if least == -most else math.nan
    return structs.replace(
        stated,
        type=kind,
        lower=lower,
        upper=upper,
        effort=effort,
        damping=float(model.dof_damping[dof].flat[0]),
        friction=float(model.dof_frictionloss[dof]),
        mimic=mimics.get(name),
        axis=statements.vec3(model.jnt_axis[joint]),
    )


def body_mass(model: mujoco.MjModel, body: int) -> obs.MassProperties | None:
    turn = statements.matrices(model.body_iquat[body])
    tensor = statements.along_link(model.body_inertia[body], turn)
    return statements.mass_properties(model.body_mass[body], model.body_ipos[body], tensor)


def link_frames(
    mechanism: models.Mechanism, links: Mapping[str, tuple[int, slice]], chosen: obs.Configurations
) -> obs.Frames:
    """State poses relative to the first link.

    Of each link these are its body and, between several joints of that, the positions of those
    that follow: it is where the body is while they are at their start.
    """
    model, data = mechanism.model, mujoco.MjData(mechanism.model)
    qpos, _ = mechanism.states(chosen)

    def place(row: int) -> tuple[Array, Array]:
        poses: list[tuple[Array, Array]] = []
        for body, kept in links.values():
            # All bodies at once, and links between joints one by one.
            if not poses or kept.stop:
                data.qpos[:] = qpos[row]
                data.qpos[kept] = model.qpos0[kept]
                mujoco.mj_kinematics(model, data)
            poses.append((data.xpos[body].copy(), data.xmat[body].reshape(3, 3).copy()))
        origins, turns = zip(*poses, strict=True)
        return np.array(origins), np.array(turns)

    return statements.build_frames(tuple(links), chosen, place)


def draw_mjcf(path: str) -> tuple[observed.Drawing, ...]:
    robot = kept_robot(path)
    model, drawings = robot.model, list[observed.Drawing]()
    nothing = np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    for geom, link, kind, size, transform in _geoms(model, robot.links):
        points, triangles = _mesh(model, geom) if kind is observed.ShapeKind.MESH else nothing
        drawings += (
            observed.Drawing(f"geom {geom}", link, role, kind, size, transform, points, triangles)
            for role in _roles(model, geom)
        )
    return tuple(drawings)


def _geoms(
    model: mujoco.MjModel, links: Mapping[int, str]
) -> Iterator[tuple[int, str, observed.ShapeKind, tuple[float, ...], Array]]:
    """Yield number, link, kind, size and (4, 4) transform to the link of the geoms of links."""
    for geom in range(model.ngeom):
        link = links.get(int(model.geom_bodyid[geom]))
        if link is None or model.geom_type[geom] in _UNREAD_GEOMS:
            continue
        turn = statements.matrices(model.geom_quat[geom])
        transform = statements.transforms(turn, model.geom_pos[geom])
        kind, factors = _KINDS[int(model.geom_type[geom])]
        size = tuple((model.geom_size[geom, : len(factors)] * factors).tolist())
        yield geom, link, kind, size, transform


def _roles(model: mujoco.MjModel, geom: int) -> Iterator[observed.Role]:
    """Yield the roles of a geom: with contacts it collides, in a shown group it is a visual."""
    if _collides(model, geom):
        yield observed.Role.COLLISION
    if model.geom_group[geom] < _SHOWN:
        yield observed.Role.VISUAL


def geom_shapes(
    model: mujoco.MjModel, links: Mapping[int, str]
) -> Iterator[tuple[int, observed.ShapeObservation]]:
    """Yield the geoms of bodies that are links, with their numbers, as colliders."""
    # Most meshes are both visual and collider.
    surfaces: dict[tuple[int, bytes], observed.Surface | None] = {}
    for geom, link, kind, size, transform in _geoms(model, links):
        if kind is observed.ShapeKind.MESH:
            key = int(model.geom_dataid[geom]), transform.tobytes()
            if key not in surfaces:
                surface = mesh_surface(*_mesh(model, geom), transform)
                # The compiler leaves out degenerate triangles, so their number is not the file's.
                surfaces[key] = structs.replace(surface, triangles=0) if surface else None
            surface = surfaces[key]
        elif kind is observed.ShapeKind.OTHER:
            surface = ellipsoid_surface(model.geom_size[geom], transform)
        else:
            surface = primitive_surface(kind, size, transform)
        yield (
            geom,
            observed.ShapeObservation(
                link=link,
                role=observed.Role.COLLISION,
                source=f"geom {geom}",
                name=model.geom(geom).name or kind.value,
                kind=kind,
                size=size,
                position=statements.vec3(transform[:3, 3]),
                surface=surface,
                stated=surface is not None,
            ),
        )


def _shapes(robot: MjcfRobot) -> Iterator[observed.ShapeObservation]:
    for geom, shape in geom_shapes(robot.model, robot.links):
        for role in _roles(robot.model, geom):
            looks: tuple[observed.Appearance, ...] = ()
            if role is observed.Role.VISUAL and shape.surface:
                looks = (_appearance(robot.model, geom, shape.surface.area),)
            yield structs.replace(shape, role=role, appearances=looks)


_UNREAD_GEOMS = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): "planes",
    int(mujoco.mjtGeom.mjGEOM_HFIELD): "height fields",
    int(mujoco.mjtGeom.mjGEOM_SDF): "signed distance fields",
}


def _collides(model: mujoco.MjModel, geom: int) -> bool:
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _mesh(model: mujoco.MjModel, geom: int) -> tuple[Array, NDArray[np.int64]]:
    index = int(model.geom_dataid[geom])
    first, count = model.mesh_vertadr[index], model.mesh_vertnum[index]
    start, faces = model.mesh_faceadr[index], model.mesh_facenum[index]
    points = np.array(model.mesh_vert[first : first + count], np.float64)
    return points, np.array(model.mesh_face[start : start + faces], np.int64)


def _appearance(model: mujoco.MjModel, geom: int, area: float) -> observed.Appearance:
    """State colour and opacity, except for those of a textured material."""
    # Light that a material emits or reflects is computed in another way than USD's: what it states
    # of these is not compared.
    material, rgba = int(model.geom_matid[geom]), model.geom_rgba[geom]
    is_default = (rgba == (0.5, 0.5, 0.5, 1.0)).all()
    unread = {"ior", "roughness", "specularColor", "useSpecularWorkflow"}
    properties: tuple[tuple[str, tuple[float, ...]], ...] = ()
    # The default colour is not in the file.
    is_unstated = is_default
    if material >= 0:
        rgba = model.mat_rgba[material] if is_default else rgba
        is_unstated = (model.mat_texid[material] >= 0).any()
        if model.mat_emission[material] > 0:
            unread.add("emissiveColor")
        if model.mat_metallic[material] > 0:
            properties = (("metallic", (float(model.mat_metallic[material]),)),)
    if is_unstated:
        return observed.Appearance(area, color=None, opacity=None, unread=frozenset("*"))
    # MuJoCo's renderer shows the numbers as they are, as those of a URDF. Its float32 are read as
    # the shortest decimals, which are those of the file.
    *color, opacity = (float(str(value)) for value in rgba)
    look = observed.Appearance(area, light(color), opacity)
    return structs.replace(look, properties=properties, unread=frozenset(unread))


def _simulation(
    model: mujoco.MjModel, names: Mapping[int, str], joints: Mapping[int, str]
) -> obs.SimulationObservation:
    armatures = (
        (name, float(model.dof_armature[model.jnt_dofadr[joint]]))
        for joint, name in joints.items()
        if obs.COORDINATES[_TYPES[model.jnt_type[joint]]] == 1
    )
    excluded = model.exclude_signature.tolist()
    pairs = (sorted((names[bodies >> 16], names[bodies & 0xFFFF])) for bodies in excluded)
    frictions = {names[body]: _frictions(model, body) for body in range(1, model.nbody)}
    return obs.SimulationObservation(
        drives=(),
        positions=(),
        limit_stiffnesses=(),
        limit_dampings=(),
        armatures=tuple((name, value) for name, value in armatures if value),
        filtered_pairs=tuple(sorted((first, second) for first, second in pairs)),
        contact_materials=tuple(
            obs.ContactMaterialObservation(link, *found * 2)
            for link, found in frictions.items()
            if len(found) == 1
        ),
    )


def _frictions(model: mujoco.MjModel, body: int) -> tuple[float, ...]:
    """Return the different coefficients of sliding friction of a body's colliders."""
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    geoms = (geom for geom in range(first, first + count) if _collides(model, geom))
    return tuple(dict.fromkeys(float(model.geom_friction[geom, 0]) for geom in geoms))


# Settings of a USD that describe what every MJCF has and no observation: MuJoCo's own schemas,
# contact stiffness and damping, and sites.
_MUJOCO_WORDS = (
    *("Mjc", "is a site of Newton", "newton:contact"),
    *("newton:torsionalFriction", "newton:rollingFriction", "newton:massModel"),
)
# Attributes of MuJoCo's schemas, by the elements and attributes of MJCF that state them: where no
# element does, a USD should not either.
_OWN_ATTRIBUTES = {
    "mjc:armature": ("joint armature", "tendon armature"),
    "mjc:condim": ("geom condim",),
    "mjc:margin": ("joint margin", "geom margin", "tendon margin"),
    "mjc:maxhullvert": ("mesh maxhullvert",),
    "mjc:ref": ("joint ref",),
    "mjc:solimplimit": ("joint solimp_limit", "tendon solimp_limit"),
    "mjc:solreflimit": ("joint solref_limit", "tendon solref_limit"),
    "mjc:springdamper": ("joint springdamper",),
    "mjc:stiffness": ("joint stiffness", "tendon stiffness"),
}


def _implied(
    spec: mujoco.MjSpec, model: mujoco.MjModel, bodies: Mapping[int, str], joints: Mapping[int, str]
) -> Iterator[obs.Implied]:
    yield from (obs.Implied(words=words) for words in _MUJOCO_WORDS)
    lists = {"joint": spec.joints, "geom": spec.geoms, "mesh": spec.meshes, "tendon": spec.tendons}
    blank, unstated = mujoco.MjSpec().default, {*_OWN_ATTRIBUTES}
    for attribute, sources in _OWN_ATTRIBUTES.items():
        for kind, name in map(str.split, sources):
            default = getattr(getattr(blank, kind), name)
            if any(np.any(getattr(element, name) != default) for element in lists[kind]):
                unstated.discard(attribute)
    yield obs.Implied(words="mjc:", besides=frozenset(unstated))
    disabled = spec.option.disableflags & mujoco.mjtDisableBit.mjDSBL_GRAVITY
    if disabled or tuple(spec.option.gravity) != _GRAVITY:
        yield obs.Implied(obs.SettingKind.SCENE, words="gravity")
    if model.body_geomnum[0]:
        # Such as a floor.
        yield obs.Implied(obs.SettingKind.SCENE, words="belongs to no link")
        yield obs.Implied(obs.SettingKind.MATERIAL, "robot")
    for body in range(1, model.nbody):
        if model.body_mocapid[body] >= 0 or model.body_gravcomp[body]:
            yield obs.Implied(obs.SettingKind.BODY, f"link {bodies[body]}")
    for body in range(model.nbody):
        if len(_frictions(model, body)) > 1:
            yield obs.Implied(obs.SettingKind.MATERIAL, f"link {bodies[body]}")
    driven = {
        joint
        for kind, joint in zip(model.actuator_trntype, model.actuator_trnid[:, 0], strict=True)
        if mujoco.mjtTrn(kind) in _OF_JOINTS
    }
    for joint, name in joints.items():
        if joint in driven or model.jnt_stiffness[joint].any():
            yield obs.Implied(obs.SettingKind.DRIVE, f"joint {name}")


# Lists of a specification that no observation has, by the words for them.
_LISTS = {
    "actuators": "actuators",
    "tendons": "tendons",
    "sites": "sites",
    "cameras": "cameras",
    "lights": "lights",
    "keyframes": "keys",
    "sensors": "sensors",
    "contact pairs": "pairs",
    "flexible bodies": "flexes",
    "skins": "skins",
    "plugins": "plugins",
}


def _uncompared_of_model(model: mujoco.MjModel, held: bool) -> dict[str, int]:
    """Count what no observation has, in the compiled model."""
    joints = range(int(held), model.njnt)
    counts = {
        "equality constraints": sum(not _is_coupling(model, i) for i in range(model.neq)),
        "joint springs": sum(bool(np.any(model.jnt_stiffness[joint])) for joint in joints),
        "bodies with gravity compensation": model.ngravcomp,
        "limits of ball joints": sum(
            bool(model.jnt_limited[joint])
            for joint in joints
            if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_BALL
        ),
        "mocap bodies": model.nmocap,
        "textured materials": int((model.mat_texid >= 0).any(axis=1).sum()),
    }
    kinds, of_world = np.array(model.geom_type), np.array(model.geom_bodyid) == 0
    counts |= {what: int((kinds == kind).sum()) for kind, what in _UNREAD_GEOMS.items()}
    counts["geoms of the world"] = int((of_world & ~np.isin(kinds, [*_UNREAD_GEOMS])).sum())
    return counts
