"""What MuJoCo reads in a URDF.

MuJoCo merges a root link called ``world`` into its own world body, names no fixed
joint, and calls the three joints of a planar one ``<name>_TX``, ``_TY`` and ``_RZ``.
Inertia that it refuses is replaced in its specification before it compiles, so that
one bad tensor does not silence it about the rest of the robot.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from scipy.spatial.transform import Rotation

from conformance.observation import (
    COORDINATES,
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    MimicObservation,
    Observation,
    Quantity,
)
from conformance.witness import (
    AbstentionError,
    Availability,
    Available,
    Side,
)
from conformance.witnesses.native_output import captured
from conformance.witnesses.statements import (
    blocked_note,
    links_in_reach,
    tensor_along_link,
    unreachable_joints,
    vec3,
)
from conformance.witnesses.urdf_text import (
    UrdfText,
    complete_inertials,
    keep_first_inertial,
    prepare,
    rename_inner_link,
    strip_shapes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from conformance.observation import Configurations
    from conformance.witness import Request

_WORLD = "world"
_STEPS = (
    strip_shapes,
    keep_first_inertial,
    complete_inertials,
    rename_inner_link(_WORLD),
)
_PLANAR_SUFFIXES = ("_TX", "_TY", "_RZ")
_STATES = frozenset(
    {
        Quantity.LINKS,
        Quantity.JOINTS,
        Quantity.JOINT_TYPES,
        Quantity.MIMIC,
        Quantity.FRAMES,
        Quantity.MASS,
        Quantity.LIMITS,
        Quantity.EFFORT,
        Quantity.DYNAMICS,
    }
)


@dataclass(frozen=True, slots=True)
class MujocoWitness:
    """Asks MuJoCo's URDF reader and compiler."""

    name: str = "mujoco"
    side: Side = Side.URDF

    def availability(self) -> Availability:
        """Say which version is installed."""
        return Available(mujoco.__version__)

    def observe(self, request: Request) -> Observation:
        """Read the file and state what it says.

        Raises:
            AbstentionError: MuJoCo refuses the file.
        """
        urdf = prepare(request.path, _STEPS)
        with captured() as printed:
            reading = _Reading.of(urdf)
            said = printed()
        joints = reading.joints()
        blocked = unreachable_joints(joints, request.configurations)
        links = links_in_reach(reading.root, joints, blocked)
        return Observation(
            witness=self.name,
            robot=reading.robot,
            root=reading.root,
            states=_STATES,
            links=reading.links(),
            joints=joints,
            frames=reading.frames(joints, links, request.configurations),
            notes=(
                *urdf.notes,
                *reading.notes,
                *blocked_note("MuJoCo", blocked),
                *_warnings(said),
            ),
        )


def _warnings(said: str) -> tuple[str, ...]:
    lines = [line.strip() for line in said.splitlines()]
    return tuple(dict.fromkeys(f"MuJoCo says: {line}" for line in lines if line))


def _refusal(error: ValueError) -> AbstentionError:
    # Line numbers would be those of the prepared copy.
    text = re.sub(r", line \d+", "", str(error))
    return AbstentionError("; ".join(filter(None, text.splitlines())))


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A compiled model with what is needed to name its parts as the URDF does.

    Attributes:
        model: The compiled ``mujoco.MjModel``.
        bodies: Body index of each link, by URDF name.
        mass_unknown: Links whose mass properties were put in.
        inertia_unknown: Links whose inertia tensor was put in.
    """

    model: Any
    robot: str | None
    root: str
    bodies: Mapping[str, int]
    joint_of_child: Mapping[str, str]
    mass_unknown: frozenset[str]
    inertia_unknown: frozenset[str]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, urdf: UrdfText) -> _Reading:
        """Let MuJoCo read and compile a prepared copy.

        Raises:
            AbstentionError: It refuses.
        """
        try:
            spec = mujoco.MjSpec.from_string(urdf.text.decode())
            spec.compiler.fusestatic = False
            mass, inertia = _replace_refused_inertia(spec)
            model = spec.compile()
        except ValueError as error:
            raise _refusal(error) from error
        indices = {
            urdf.original(model.body(index).name): index
            for index in range(model.nbody)
            if index or _WORLD in urdf.links
        }
        roots = [
            link
            for link, index in indices.items()
            if not index or (not model.body_parentid[index] and _WORLD not in indices)
        ]
        if len(roots) != 1:
            raise AbstentionError(f"MuJoCo finds {len(roots)} root links")
        replaced = sorted(map(urdf.original, mass | inertia))
        note = (
            "MuJoCo refuses the mass or inertia of some links; they got placeholders"
            f" while it read, and are not stated: {', '.join(replaced)}."
        )
        return cls(
            model=model,
            robot=spec.modelname or None,
            root=roots[0],
            bodies=indices,
            joint_of_child={
                urdf.original(child): joint
                for child, joint in urdf.joint_of_child.items()
            },
            mass_unknown=frozenset(map(urdf.original, mass)) | urdf.mass_unknown,
            inertia_unknown=frozenset(map(urdf.original, inertia))
            | urdf.inertia_unknown,
            notes=(note,) if replaced else (),
        )

    def links(self) -> tuple[LinkObservation, ...]:
        """State every link with its own mass."""
        return tuple(
            LinkObservation(link, mass=self._mass(link, index))
            for link, index in self.bodies.items()
        )

    def _mass(self, link: str, index: int) -> MassProperties | None:
        mass = float(self.model.body_mass[index])
        moments = self.model.body_inertia[index]
        if link in self.mass_unknown or (mass == 0 and not moments.any()):
            return None
        rotation = Rotation.from_quat(self.model.body_iquat[index], scalar_first=True)
        return MassProperties(
            mass=mass,
            center=vec3(self.model.body_ipos[index]),
            inertia=None
            if link in self.inertia_unknown
            else tensor_along_link(moments, rotation.as_matrix()),
        )

    def joints(self) -> tuple[JointObservation, ...]:
        """State every joint; fixed ones by the name that the file gives them."""
        link_of_body = {index: link for link, index in self.bodies.items()}
        mimics = self._mimics()
        return tuple(
            self._joint(link, link_of_body[self.model.body_parentid[index]], mimics)
            for link, index in self.bodies.items()
            if link != self.root
        )

    def _joint(
        self, link: str, parent: str, mimics: Mapping[str, MimicObservation]
    ) -> JointObservation:
        model, body = self.model, self.bodies[link]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        if count == 0:
            return JointObservation(
                self.joint_of_child[link],
                JointType.FIXED,
                parent,
                link,
                note="MuJoCo does not name fixed joints; the name is the file's.",
            )
        name = model.joint(first).name
        if not name:
            raise AbstentionError(f"MuJoCo drops the name of the joint of link {link}")
        if count == len(_PLANAR_SUFFIXES):
            return JointObservation(
                name.removesuffix(_PLANAR_SUFFIXES[0]),
                JointType.PLANAR,
                parent,
                link,
                axis=vec3(model.jnt_axis[first + 2]),
            )
        kind = _joint_type(model, first)
        if kind in {JointType.FLOATING, JointType.SPHERICAL}:
            return JointObservation(name, kind, parent, link)
        lower, upper = _limits(model, first)
        freedom = model.jnt_dofadr[first]
        # Polynomial damping is beyond URDF; the linear part is what was read.
        return JointObservation(
            name,
            kind,
            parent,
            link,
            lower=lower,
            upper=upper,
            effort=float(model.jnt_actfrcrange[first, 1])
            if model.jnt_actfrclimited[first]
            else None,
            damping=float(model.dof_damping[freedom]),
            friction=float(model.dof_frictionloss[freedom]),
            mimic=mimics.get(name),
            axis=vec3(model.jnt_axis[first]),
            note="MuJoCo does not tell an unlimited revolute joint from a continuous"
            " one."
            if kind is JointType.CONTINUOUS
            else None,
        )

    def _mimics(self) -> dict[str, MimicObservation]:
        model = self.model
        return {
            model.joint(model.eq_obj1id[index]).name: MimicObservation(
                leader=model.joint(model.eq_obj2id[index]).name,
                multiplier=float(model.eq_data[index, 1]),
                offset=float(model.eq_data[index, 0]),
            )
            for index in range(model.neq)
            if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT
        }

    def frames(
        self,
        joints: tuple[JointObservation, ...],
        links: tuple[str, ...],
        configurations: Configurations,
    ) -> Frames:
        """State poses relative to the root link, shapes (K, L, 3) and (K, L, 3, 3)."""
        positions = np.empty((configurations.count, len(links), 3))
        rotations = np.empty((configurations.count, len(links), 3, 3))
        bodies = [self.bodies[link] for link in links]
        base = self.bodies[self.root]
        data = mujoco.MjData(self.model)
        for row, qpos in enumerate(self._qpos(joints, configurations)):
            data.qpos[:] = qpos
            mujoco.mj_kinematics(self.model, data)
            to_root = data.xmat[base].reshape(3, 3).T
            positions[row] = (data.xpos[bodies] - data.xpos[base]) @ to_root.T
            rotations[row] = to_root @ data.xmat[bodies].reshape(-1, 3, 3)
        for array in (positions, rotations):
            array.flags.writeable = False
        return Frames(links, positions, rotations, configurations.labels)

    def _qpos(
        self, joints: tuple[JointObservation, ...], configurations: Configurations
    ) -> NDArray[np.float64]:
        """Positions in MuJoCo's own order and form, (K, nq)."""
        qpos = np.tile(self.model.qpos0, (configurations.count, 1))
        types = {joint.name: joint.type for joint in joints}
        told = zip(configurations.joints, configurations.positions, strict=True)
        for name, values in told:
            if COORDINATES.get(types.get(name)) != values.shape[1]:
                continue
            start, value = self._coordinates(name, types[name], values)
            qpos[:, start : start + value.shape[1]] = value
        return qpos

    def _coordinates(
        self, name: str, kind: JointType, values: NDArray[np.float64]
    ) -> tuple[int, NDArray[np.float64]]:
        """First index into ``qpos`` and the values that belong there."""
        model = self.model
        match kind:
            case JointType.PLANAR:
                slides = [model.joint(name + end).id for end in _PLANAR_SUFFIXES[:2]]
                along = np.linalg.lstsq(
                    model.jnt_axis[slides].T, values[:, :3].T, rcond=None
                )[0].T
                start = int(model.jnt_qposadr[slides[0]])
                return start, np.column_stack([along, values[:, 3]])
            case JointType.FLOATING:
                start = int(model.jnt_qposadr[model.joint(name).id])
                origin = model.qpos0[start : start + 7]
                turn = Rotation.from_quat(origin[3:], scalar_first=True)
                turned = turn * Rotation.from_quat(values[:, 3:], scalar_first=True)
                return start, np.column_stack(
                    [
                        origin[:3] + turn.apply(values[:, :3]),
                        turned.as_quat(scalar_first=True),
                    ]
                )
            case _:
                return int(model.jnt_qposadr[model.joint(name).id]), values


def _joint_type(model: Any, joint: int) -> JointType:  # noqa: ANN401  untyped engine
    kinds = mujoco.mjtJoint
    match model.jnt_type[joint]:
        case kinds.mjJNT_FREE:
            return JointType.FLOATING
        case kinds.mjJNT_BALL:
            return JointType.SPHERICAL
        case kinds.mjJNT_SLIDE:
            return JointType.PRISMATIC
    unlimited = all(map(math.isinf, _limits(model, joint)))
    return JointType.CONTINUOUS if unlimited else JointType.REVOLUTE


def _limits(model: Any, joint: int) -> tuple[float, float]:  # noqa: ANN401  likewise
    if not model.jnt_limited[joint]:
        return -math.inf, math.inf
    lower, upper = map(float, model.jnt_range[joint])
    return lower, upper


def _replace_refused_inertia(spec: Any) -> tuple[set[str], set[str]]:  # noqa: ANN401
    """Put placeholders where the compiler would refuse mass or inertia.

    Returns:
        Bodies whose mass properties were put in, and those whose tensor alone was.
    """
    mass, inertia = set(), set()
    for body in spec.bodies:
        moving = bool(body.joints)
        if not (moving or body.explicitinertial) or _accepted(body, moving=moving):
            continue
        body.explicitinertial = True
        body.fullinertia = [math.nan, 0, 0, 0, 0, 0]
        body.inertia = [1, 1, 1]
        if _accepted(body, moving=moving):
            inertia.add(body.name)
        else:
            body.mass = 1
            mass.add(body.name)
    return mass, inertia


def _accepted(body: Any, *, moving: bool) -> bool:  # noqa: ANN401  likewise
    """Ask the compiler itself, with this body alone."""
    trial = mujoco.MjSpec()
    alone = trial.worldbody.add_body(
        explicitinertial=body.explicitinertial,
        mass=body.mass,
        ipos=body.ipos,
        iquat=body.iquat,
        inertia=body.inertia,
        fullinertia=body.fullinertia,
    )
    if moving:
        alone.add_joint()
    try:
        trial.compile()
    except ValueError:
        return False
    return True
