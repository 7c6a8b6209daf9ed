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
from collections.abc import Iterable, Iterator, Mapping

import mujoco
import numpy as np
from lxml import etree
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines import mjcf, protocol, statements
from urdf_usd.conformance.engines import mujoco_models as models
from urdf_usd.conformance.engines import prepared_urdf as prepared
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation

# MuJoCo's own name for its world body, and for any URDF link of that name.
_WORLD = "world"
_STEPS = (*prepared.WITHOUT_SHAPES, prepared.rename_link(_WORLD, inner_only=True))
_STATES = statements.OF_ANY_URDF | {
    obs.Quantity.MIMIC,
    obs.Quantity.EFFORT,
    obs.Quantity.MOTION,
    obs.Quantity.ROLLOUT,
}
_PLANAR_SUFFIXES = ("_TX", "_TY", "_RZ")
_UNNAMED = "MuJoCo has no names of fixed joints; this is the file's."
_UNLIMITED = "MuJoCo does not distinguish continuous and unlimited revolute joints."
_MESH_FORMATS = frozenset({".stl", ".obj"})
# The group that MuJoCo puts visuals of a URDF in.
_VISUAL_GROUP = 1


class MujocoEngine(Struct, frozen=True):
    name: str = "mujoco"
    side: protocol.Side = protocol.Side.URDF

    def availability(self) -> protocol.Availability:
        return protocol.Available(mujoco.__version__)

    def observe(self, request: protocol.Request) -> obs.Observation:
        urdf = prepared.prepare(request.path, _STEPS)
        model, name, unknown, weightless, warnings = _compile(urdf)
        bodies = {
            urdf.original(model.body(index).name): index
            for index in range(model.nbody)
            if index or _WORLD in urdf.links
        }
        # The world body, its own parent, is a link and the root only if the file has one ``world``.
        roots = [link for link, index in bodies.items() if index == 0]
        roots = roots or [link for link, i in bodies.items() if model.body_parentid[i] == 0]
        if len(roots) != 1:
            raise protocol.UnsupportedError(f"MuJoCo finds {len(roots)} root links")
        joints = tuple(_joints(urdf, model, bodies, *roots))
        mechanism = models.Mechanism(
            model,
            tuple(
                models.joint_place(model, joint, int(model.body_jntadr[bodies[joint.child]]))
                for joint in joints
                if joint.type is not obs.JointType.FIXED
            ),
            free_root=bodies[roots[0]] != 0,
            unknown=models.joints_moving(joints, unknown),
        )
        first_dof = {joint.name: joint.dofs.start for joint in mechanism.joints}
        shapes, notes = _shapes(request)
        reading = obs.Observation(
            engine=self.name,
            robot=name,
            root=roots[0],
            joints=joints,
            joint_order=tuple(sorted(statements.moving_joints(joints), key=first_dof.__getitem__)),
            notes=tuple(warnings),
            states=_STATES
            if shapes is None
            else _STATES | {obs.Quantity.COLLISION, obs.Quantity.VISUAL},
            links=tuple(
                obs.LinkObservation(link, urdf.known([link], mjcf.body_mass(model, body)))
                for link, body in bodies.items()
            ),
            shapes=shapes or (),
        )

        def frames(links: tuple[str, ...]) -> obs.Frames:
            of = {link: (bodies[link], slice(0)) for link in links}
            return mjcf.link_frames(mechanism, of, request.configurations)

        reading = statements.with_frames(reading, "MuJoCo", urdf, request, frames)
        reading = structs.replace(reading, notes=(*reading.notes, *notes))
        if statements.unreachable_joints(joints, request.configurations):
            return reading
        try:
            model.body_inertia[weightless] = 0.0
            # Derived constants depend on the inertia of merged bodies.
            with models.collected_warnings():
                mujoco.mj_setConst(model, mujoco.MjData(model))
        # Such as for a link without mass behind a prismatic joint of a fixed link.
        except mujoco.FatalError as error:
            note = f"MuJoCo cannot simulate it: {_refusal(error)}"
            return structs.replace(reading, notes=(*reading.notes, note))
        return structs.replace(
            reading,
            dynamics=models.equations_of_motion(mechanism, request.configurations),
            rollout=models.roll_out(mechanism, request.configurations),
        )


def _compile(
    urdf: prepared.UrdfCopy,
) -> tuple[mujoco.MjModel, str | None, set[str], list[int], list[str]]:
    """Read and compile a prepared copy.

    Returns model and name of the robot, whose root moves freely; links whose mass properties in the
    model are not the file's; bodies whose moments the compiler rejects for lack of mass; notes.
    """
    # Mass and inertia that the compiler rejects are replaced, marked in the copy as unknown, and
    # in the model as MuJoCo reads them.
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
    notes = [f"MuJoCo warns: {text.strip()}" for text in dict.fromkeys(messages)]
    if replaced := ", ".join(map(urdf.original, sorted(mass | inertia))):
        notes.insert(
            0,
            "MuJoCo rejects mass or inertia of some links, which were replaced by"
            f" placeholders and are not stated: {replaced}.",
        )
    weightless = [model.body(name).id for name, (value, *_) in stated.items() if not value]
    return model, spec.modelname or None, unknown, weightless, notes


def _refusal(error: Exception) -> str:
    # Numbers would be those of the prepared copy.
    text = re.sub(r", (line|id) \d+", "", str(error))
    return "; ".join(filter(None, text.splitlines()))


def _replace_inertia(refused: Iterable[mujoco.MjsBody]) -> tuple[set[str], set[str]]:
    """Put placeholders where the compiler would reject mass or inertia; name their bodies."""
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
    return float(body.mass), moments, statements.quats_wxyz(statements.matrices(body.iquat) @ axes)


def _joints(
    urdf: prepared.UrdfCopy, model: mujoco.MjModel, bodies: Mapping[str, int], root: str
) -> Iterator[obs.JointObservation]:
    link_of = {index: link for link, index in bodies.items()}
    joint_of = {urdf.original(child): joint for child, joint in urdf.joint_of_child.items()}
    mimics = mjcf.read_mimics(model, [model.joint(joint).name for joint in range(model.njnt)])
    for link, body in bodies.items():
        if link == root:
            continue
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        ends = link_of[model.body_parentid[body]], link
        if count == 0:
            yield obs.JointObservation(joint_of[link], obs.JointType.FIXED, *ends, note=_UNNAMED)
            continue
        name = model.joint(first).name
        if not name:
            raise protocol.UnsupportedError(f"MuJoCo drops the name of the joint of link {link}")
        if count == len(_PLANAR_SUFFIXES):
            name, axis = (
                name.removesuffix(_PLANAR_SUFFIXES[0]),
                statements.vec3(model.jnt_axis[first + 2]),
            )
            yield obs.JointObservation(name, obs.JointType.PLANAR, *ends, axis=axis)
            continue
        joint = mjcf.read_joint(model, first, name, ends, mimics)
        unlimited = joint.type is obs.JointType.CONTINUOUS
        yield structs.replace(joint, note=_UNLIMITED) if unlimited else joint


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
            links = {
                body: copy.original(model.body(body).name)
                for body in range(model.nbody)
                if body or _WORLD in copy.links
            }
            shapes = (
                structs.replace(shape, role=Role.VISUAL)
                if model.geom_group[geom] == _VISUAL_GROUP
                else shape
                for geom, shape in mjcf.geom_shapes(model, links)
            )
            return (*shapes, *unread), tuple(refusals)
    return None, ()
