"""Compilation of a prepared URDF to a MuJoCo model, with its URDF names."""

from __future__ import annotations

import contextlib
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping

import mujoco
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.prepared_urdf import UrdfText
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.engines.rotations import matrices, quats_wxyz

# MuJoCo's own name for its world body, and for any URDF link of that name.
WORLD = "world"


class Compiled(Struct, frozen=True, eq=False):
    """A compiled model, and the URDF names of its parts.

    Attributes:
        model: The ``mujoco.MjModel``.
        robot: Name of the robot.
        root: URDF name of the root link.
        bodies: Body index of each link, by URDF name.
        joint_of_child: Name of each joint in the file, by its child link.
        refused: Names of bodies whose mass or inertia MuJoCo rejects.
        mass_unknown: Links whose mass properties in the model are placeholders.
        inertia_unknown: Links whose inertia tensor in the model is a placeholder.
        notes: On placeholders, and MuJoCo's warnings.
    """

    model: mujoco.MjModel
    robot: str | None
    root: str
    bodies: Mapping[str, int]
    joint_of_child: Mapping[str, str]
    refused: frozenset[str]
    mass_unknown: frozenset[str]
    inertia_unknown: frozenset[str]
    notes: tuple[str, ...]


def compile_urdf(urdf: UrdfText) -> Compiled:
    """Read and compile a prepared copy.

    Raises:
        AbstentionError: It refuses.
    """
    try:
        with collected_warnings() as messages:
            spec = _read(urdf)
            refused = _refused(spec)
            mass, inertia = _replace_inertia(refused)
            model = spec.compile()
    except ValueError as error:
        raise _refusal(error) from error
    bodies = {
        urdf.original(model.body(index).name): index
        for index in range(model.nbody)
        if index or WORLD in urdf.links
    }
    return Compiled(
        model=model,
        robot=spec.modelname or None,
        root=_root(model, bodies),
        bodies=bodies,
        joint_of_child={
            urdf.original(child): joint for child, joint in urdf.joint_of_child.items()
        },
        refused=frozenset(body.name for body in refused),
        mass_unknown=urdf.mass_unknown | frozenset(map(urdf.original, mass)),
        inertia_unknown=urdf.inertia_unknown | frozenset(map(urdf.original, inertia)),
        notes=(
            *_placeholder_note(map(urdf.original, sorted(mass | inertia))),
            *(f"MuJoCo warns: {text.strip()}" for text in dict.fromkeys(messages)),
        ),
    )


def compile_freed(urdf: UrdfText, held: Compiled) -> tuple[mujoco.MjModel, frozenset[str]]:
    """Compile a copy again, with a root that moves freely.

    Mass and inertia that the compiler rejects are in the model as MuJoCo read them. A
    root that is MuJoCo's world body stays fixed.

    Args:
        urdf: The copy.
        held: The result of :func:`compile_urdf`.

    Returns:
        The model, and the links whose mass properties in it are not the file's.

    Raises:
        AbstentionError: It cannot simulate a link without mass, such as one behind a
            prismatic joint of a fixed link.
    """
    unknown = set(urdf.mass_unknown | urdf.inertia_unknown)
    with collected_warnings():
        spec = _read(urdf)
        refused = [body for body in spec.bodies if body.name in held.refused]
        if held.root != WORLD:
            root = spec.worldbody.first_body()
            root.add_freejoint()
            # A fixed body may lack mass.
            if root.name not in held.refused and not _accepted([root]):
                refused.append(root)
        stated = {body.name: _inertial(body) for body in refused}
        mass, inertia = _replace_inertia(refused)
        for name in mass | inertia:
            spec.body(name).iquat = stated[name].quat_wxyz
        model = compiled_quietly(spec)
        for name in mass | inertia:
            own, index = stated[name], model.body(name).id
            if own.mass < 0:
                unknown.add(urdf.original(name))
            # Moments of a body without mass are ignored.
            model.body_mass[index] = own.mass
            model.body_inertia[index] = own.moments if own.mass else 0.0
        # Derived constants depend on the inertia of merged bodies.
        try:
            mujoco.mj_setConst(model, mujoco.MjData(model))
        except mujoco.FatalError as error:
            raise _refusal(error) from error
    return model, frozenset(unknown)


def compiled_quietly(spec: mujoco.MjSpec) -> mujoco.MjModel:
    """Compile without warnings about placeholder inertia.

    Raises:
        ValueError: The compiler refuses.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return spec.compile()


class _Inertial(Struct, frozen=True, eq=False):
    """The ``<inertial>`` as MuJoCo reads it, before compilation.

    Attributes:
        mass: [kg]; zero if there is none.
        moments: (3) principal moments [kg m^2].
        quat_wxyz: Rotation that turns vectors along their axes into the body's frame.
    """

    mass: float
    moments: NDArray[np.float64]
    quat_wxyz: NDArray[np.float64]


def _inertial(body: mujoco.MjsBody) -> _Inertial:
    if not body.explicitinertial:
        return _Inertial(0.0, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
    moments, axes = np.array(body.inertia), np.eye(3)
    if np.isfinite(body.fullinertia).all():
        xx, yy, zz, xy, xz, yz = body.fullinertia
        moments, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        axes = axes * np.linalg.det(axes)
    turned = matrices(body.iquat) @ axes
    return _Inertial(float(body.mass), moments, quats_wxyz(turned))


def _read(urdf: UrdfText) -> mujoco.MjSpec:
    spec = mujoco.MjSpec.from_string(urdf.text.decode())
    spec.compiler.fusestatic = False
    return spec


@contextlib.contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect warnings, which MuJoCo would write to a file in the working directory."""
    previous = mujoco.get_mju_user_warning()
    messages: list[str] = []
    mujoco.set_mju_user_warning(messages.append)
    try:
        yield messages
    finally:
        mujoco.set_mju_user_warning(previous)


def _refusal(error: Exception) -> AbstentionError:
    # Line numbers would be those of the prepared copy.
    text = re.sub(r", line \d+", "", str(error))
    return AbstentionError("; ".join(filter(None, text.splitlines())))


def _root(model: mujoco.MjModel, bodies: Mapping[str, int]) -> str:
    # The world body is its own parent, and a link only if the file has one ``world``.
    worlds = [link for link, index in bodies.items() if index == 0]
    roots = worlds or [link for link, index in bodies.items() if model.body_parentid[index] == 0]
    if len(roots) != 1:
        raise AbstentionError(f"MuJoCo finds {len(roots)} root links")
    return roots[0]


def _placeholder_note(links: Iterable[str]) -> tuple[str, ...]:
    listed = ", ".join(links)
    if not listed:
        return ()
    note = (
        "MuJoCo rejects mass or inertia of some links, which were replaced by"
        f" placeholders and are not stated: {listed}."
    )
    return (note,)


def _refused(spec: mujoco.MjSpec) -> list[mujoco.MjsBody]:
    """Return the bodies whose mass or inertia the compiler would refuse, in order."""
    bodies = [body for body in spec.bodies if body.joints or body.explicitinertial]
    return [] if _accepted(bodies) else _refused_among(bodies)


def _refused_among(bodies: list[mujoco.MjsBody]) -> list[mujoco.MjsBody]:
    """Return the rejected ones of bodies, of which at least one is, in order."""
    if len(bodies) == 1:
        return bodies
    # Bisection: most are accepted.
    middle = len(bodies) // 2
    first, second = bodies[:middle], bodies[middle:]
    if _accepted(first):
        return _refused_among(second)
    return _refused_among(first) + ([] if _accepted(second) else _refused_among(second))


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
