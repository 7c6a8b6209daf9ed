"""Compares the values that a case expects with what engines report of a USD.

Mass properties of welded links are added up here, from formulas of this module alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, assert_never

import numpy as np
from msgspec import UNSET, Struct, UnsetType, field, structs
from numpy.typing import NDArray

from urdf_usd.conformance.engines.protocol import (
    Abstained,
    Crashed,
    Observed,
    Outcome,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    JointObservation,
    JointType,
    MassProperties,
    Observation,
    Quantity,
)
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Role,
    ShapeKind,
    ShapeObservation,
    merge_appearances,
)
from urdf_usd.reports.records.suite_case import (
    AppearanceValues,
    BodyValues,
    CaseFailureRecord,
    CaseReadingRecord,
    Expected,
    FrameValues,
    JointValues,
    MimicValues,
    ShapeValues,
)

Array: TypeAlias = NDArray[np.float64]

# Tolerances: USD stores float32, and angles in degrees.
RELATIVE = 1e-5
"""Of masses, limits, inertia (by its norm), sizes, areas and volumes."""
POSITION = 1e-5
"""Of positions [m]."""
ROTATION = 1e-5
"""Of rotations [rad] and directions."""
COLOR = 1e-3
"""Of linear colour components and opacities."""
_SMALLEST = 1e-12
# Permutations of more shapes than these are not tried.
_MANY = 6


def compare_readings(
    expected: Expected, outcomes: Mapping[str, Outcome]
) -> tuple[CaseReadingRecord, ...]:
    """Compare the expected values with every engine's observation of the USD.

    Args:
        expected: The values.
        outcomes: By name of the engine.
    """
    readings = []
    for name, outcome in outcomes.items():
        match outcome:
            case Observed(observation):
                readings.append(compare_case(expected, observation))
            case Abstained(reason) | Crashed(reason=reason):
                readings.append(CaseReadingRecord(engine=name, reason=reason))
            case _:
                assert_never(outcome)
    return tuple(readings)


def compare_case(expected: Expected, observation: Observation) -> CaseReadingRecord:
    """Compare the expected values with those that an engine reports.

    Args:
        expected: The values.
        observation: Of the USD, at the configurations of the case, see
            :func:`~urdf_usd.conformance.expectations.poses.configurations_of`.
    """
    comparison = _Comparison(expected, observation)
    comparison.compare()
    return CaseReadingRecord(
        engine=observation.engine,
        compared=comparison.compared,
        failures=tuple(comparison.failures),
    )


class _Comparison(Struct):
    """Collects failures.

    Attributes:
        expected: The values.
        observation: The USD.
        compared: Number of values.
        failures: Those that differ.
    """

    expected: Expected
    observation: Observation
    compared: int = 0
    failures: list[CaseFailureRecord] = field(default_factory=list)

    def compare(self) -> None:
        """Compare everything that the case states and the engine reports."""
        expected, states = self.expected, self.observation.states
        if expected.name is not UNSET and Quantity.LINKS in states:
            self._equal("robot", "name", expected.name, self.observation.robot)
        if expected.base is not UNSET and Quantity.BASE in states:
            self._equal("robot", "base", expected.base, self.observation.base)
        roots = self.observation.articulation_roots
        if expected.articulation_roots is not UNSET and roots is not None:
            wanted = expected.articulation_roots
            self._equal("robot", "articulation roots", wanted, roots)
        if expected.links is not UNSET and Quantity.LINKS in states:
            names = {link.name for link in self.observation.links}
            for name in expected.links:
                self._equal(f"link {name}", "existence", True, name in names)
        self._joints()
        if Quantity.MASS in states:
            self._masses()
        if Quantity.FRAMES in states:
            self._poses()
        if Quantity.COLLISION in states:
            self._shapes(Role.COLLISION)
        if Quantity.VISUAL in states:
            self._shapes(Role.VISUAL)

    def _equal(self, subject: str, quantity: str, wanted: object, found: object) -> None:
        self._agree(subject, quantity, wanted, found, agrees=wanted == found)

    def _agree(
        self,
        subject: str,
        quantity: str,
        wanted: object,
        found: object,
        *,
        agrees: bool,
    ) -> None:
        self.compared += 1
        if not agrees:
            failure = CaseFailureRecord(
                subject=subject,
                quantity=quantity,
                expected=_text(wanted),
                actual=_text(found),
            )
            self.failures.append(failure)

    def _joints(self) -> None:
        states = self.observation.states
        complete = Quantity.JOINTS in states
        found = {joint.name: joint for joint in self.observation.joints}
        typed = complete and Quantity.JOINT_TYPES in states
        if self.expected.dofs is not UNSET and typed:
            moving = sorted(joint.name for joint in found.values() if COORDINATES[joint.type])
            self._equal("robot", "joints that move", sorted(self.expected.dofs), moving)
        for name, values in self.expected.joints.items():
            joint = found.get(name)
            if joint is None and complete:
                self._equal(f"joint {name}", "existence", True, False)
            elif joint is not None:
                self._joint(f"joint {name}", values, joint)

    def _joint(self, subject: str, values: JointValues, joint: JointObservation) -> None:
        states = self.observation.states
        if Quantity.JOINT_TYPES in states and values.type is not UNSET:
            self._equal(subject, "type", values.type, joint.type)
        # Simulators may merge welded links.
        complete = Quantity.JOINTS in states
        for name in ("parent", "child"):
            wanted = getattr(values, name)
            if wanted is not UNSET and complete:
                self._equal(subject, name, wanted, getattr(joint, name))
        for name, quantity in _NUMBERS:
            wanted = getattr(values, name)
            if wanted is not UNSET and quantity in states:
                self._number(subject, name, wanted, getattr(joint, name))
        if values.mimic is not UNSET and Quantity.MIMIC in states:
            self._mimic(subject, values.mimic, joint)
        if values.axis is not UNSET and joint.axis is not None and complete:
            agrees = math.dist(values.axis, joint.axis) <= ROTATION
            self._agree(subject, "axis", values.axis, joint.axis, agrees=agrees)

    def _number(
        self, subject: str, name: str, wanted: float | str | None, found: float | None
    ) -> None:
        number = None if wanted is None else float(wanted)
        if name in _ABSENT:
            # An absent value and this one are equal.
            number = _ABSENT[name] if number is None else number
            found = _ABSENT[name] if found is None else found
        agrees = number == found or (
            number is not None and found is not None and _near(number, found)
        )
        self._agree(subject, name, wanted, found, agrees=agrees)

    def _mimic(self, subject: str, wanted: MimicValues | None, joint: JointObservation) -> None:
        mimic = joint.mimic
        if wanted is None or mimic is None:
            agrees = wanted is None and mimic is None
        else:
            agrees = (
                wanted.joint == mimic.leader
                and _near(wanted.multiplier, mimic.multiplier)
                and _near(wanted.offset, mimic.offset)
            )
        stated = wanted and (wanted.joint, wanted.multiplier, wanted.offset)
        found = mimic and (mimic.leader, mimic.multiplier, mimic.offset)
        self._agree(subject, "mimic", stated, found, agrees=agrees)

    def _masses(self) -> None:
        masses = {link.name: link.mass for link in self.observation.links}
        if self.expected.total_mass is not UNSET:
            total = math.fsum(mass.mass for mass in masses.values() if mass)
            wanted = self.expected.total_mass
            # A regularised link adds less than a millionth.
            agrees = _near(wanted, total)
            self._agree("robot", "total mass", wanted, total, agrees=agrees)
        for body in self.expected.bodies:
            missing = [name for name in body.links if name not in masses]
            subject = f"link {' + '.join(body.links)}"
            if missing:
                self._equal(subject, "existence of links", [], missing)
            else:
                self._body(subject, body)

    def _body(self, subject: str, body: BodyValues) -> None:
        found = self._lumped(body.links)
        mass = found.mass if found else None
        if body.mass is not UNSET:
            agrees = mass is not None and _near(body.mass, mass)
            self._agree(subject, "mass", body.mass, mass, agrees=agrees)
        if body.mass_below is not UNSET:
            agrees = mass is not None and 0 < mass < body.mass_below
            wanted = f"positive, below {body.mass_below:g}"
            self._agree(subject, "mass", wanted, mass, agrees=agrees)
        if body.com is not UNSET:
            center = found.center if found else None
            agrees = center is not None and math.dist(body.com, center) <= POSITION
            self._agree(subject, "centre of mass", body.com, center, agrees=agrees)
        if body.inertia is not UNSET:
            tensor = found.inertia if found else None
            agrees = tensor is not None and _near_tensors(body.inertia, tensor)
            self._agree(subject, "inertia", body.inertia, tensor, agrees=agrees)

    def _lumped(self, links: Sequence[str]) -> MassProperties | None:
        """Add the mass properties of links, in the frame of the first of them."""
        own = {link.name: link.mass for link in self.observation.links}
        present = [name for name in links if own[name]]
        if present == [links[0]]:
            return own[links[0]]
        frames = self.observation.frames
        if frames is None or not present or not {*links} <= {*frames.links}:
            return None
        first = frames.links.index(links[0])
        turn, origin = frames.rotations[0, first].T, frames.positions[0, first]
        parts: list[tuple[float, Array, Array]] = []
        for name in present:
            mass = own[name]
            if mass is None or mass.inertia is None:
                return None
            index = frames.links.index(name)
            rotation = turn @ frames.rotations[0, index]
            offset = turn @ (frames.positions[0, index] - origin)
            center = offset + rotation @ np.array(mass.center)
            tensor = rotation @ _matrix(mass.inertia) @ rotation.T
            parts.append((mass.mass, center, tensor))
        total = math.fsum(mass for mass, _, _ in parts)
        center = sum((m * c for m, c, _ in parts), np.zeros(3)) / total
        inertia = np.zeros((3, 3))
        for mass_of_part, at, tensor in parts:
            arm = at - center
            inertia += tensor
            inertia += mass_of_part * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        x, y, z = map(float, center)
        upper = inertia[np.triu_indices(3)]
        ixx, ixy, ixz, iyy, iyz, izz = map(float, upper)
        return MassProperties(total, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz))

    def _poses(self) -> None:
        frames = self.observation.frames
        if frames is None:
            return
        # An engine may omit frames that it cannot set the joints for.
        known = {link.name for link in self.observation.links}
        for number, pose in enumerate(self.expected.poses, start=1):
            at = ", ".join(f"{name} = {_text(value)}" for name, value in pose.q.items())
            for name, wanted in pose.links.items():
                subject = f"link {name}" + (f" at {at}" if at else "")
                if name not in frames.links:
                    if name not in known:
                        self._equal(subject, "existence", True, False)
                    continue
                index = frames.links.index(name)
                position = frames.positions[number, index]
                self._frame(subject, wanted, position, frames.rotations[number, index])

    def _frame(self, subject: str, wanted: FrameValues, position: Array, rotation: Array) -> None:
        if wanted.position is not UNSET:
            place = tuple(map(float, position))
            agrees = math.dist(wanted.position, place) <= POSITION
            self._agree(subject, "position", wanted.position, place, agrees=agrees)
        if wanted.rotation_wxyz is not UNSET:
            found = _quaternion(rotation)
            # The angle between two unit quaternions; q and -q are one rotation.
            near, far = (
                math.dist(wanted.rotation_wxyz, [sign * part for part in found])
                for sign in (1.0, -1.0)
            )
            agrees = 2 * min(near, far) <= ROTATION
            shown = found if near <= far else tuple(-part for part in found)
            self._agree(subject, "rotation wxyz", wanted.rotation_wxyz, shown, agrees=agrees)

    def _shapes(self, role: Role) -> None:
        collides = role is Role.COLLISION
        wanted = self.expected.colliders if collides else self.expected.visuals
        noun = "colliders" if collides else "visuals"
        for link, values in wanted.items():
            found = [
                shape
                for shape in self.observation.shapes
                if shape.link == link and shape.role is role
            ]
            subject = f"link {link}"
            if not collides and len(values) == 1 < len(found):
                found = _merged(values[0], found)
            if len(found) != len(values):
                self._equal(subject, f"number of {noun}", len(values), len(found))
                continue
            self._equal(subject, f"number of {noun}", len(values), len(found))
            self._best_pairing(f"{subject}, {role.value}", values, found)

    def _best_pairing(
        self,
        subject: str,
        values: Sequence[ShapeValues],
        found: Sequence[ShapeObservation],
    ) -> None:
        """Compare shapes in the order with the fewest differences."""
        orders: Iterable[tuple[ShapeObservation, ...]] = (
            itertools.permutations(found) if len(found) <= _MANY else [tuple(found)]
        )
        best: _Comparison | None = None
        for order in orders:
            trial = _Comparison(self.expected, self.observation)
            for number, (wanted, shape) in enumerate(zip(values, order, strict=True)):
                name = f"{subject} {number + 1}" if len(values) > 1 else subject
                trial._shape(name, wanted, shape)
            if best is None or len(trial.failures) < len(best.failures):
                best = trial
        if best is not None:
            self.compared += best.compared
            self.failures += best.failures

    def _shape(self, subject: str, wanted: ShapeValues, shape: ShapeObservation) -> None:
        if wanted.kind is not UNSET:
            self._equal(subject, "kind", wanted.kind, shape.kind)
        if wanted.size is not UNSET:
            size = wanted.size
            agrees = len(size) == len(shape.size) and all(map(_near, size, shape.size))
            self._agree(subject, "size", size, shape.size, agrees=agrees)
        if wanted.position is not UNSET:
            agrees = math.dist(wanted.position, shape.position) <= POSITION
            self._agree(subject, "position", wanted.position, shape.position, agrees=agrees)
        surface = shape.surface
        for name in ("lower", "upper"):
            bound = getattr(wanted, name)
            if bound is not UNSET:
                actual = getattr(surface, name) if surface else None
                agrees = actual is not None and math.dist(bound, actual) <= POSITION
                self._agree(subject, f"{name} bound", bound, actual, agrees=agrees)
        for name in ("volume", "area"):
            number = getattr(wanted, name)
            if number is not UNSET:
                measure = getattr(surface, name) if surface else None
                agrees = measure is not None and _near(number, measure)
                self._agree(subject, name, number, measure, agrees=agrees)
        if wanted.appearances is not UNSET:
            self._appearances(subject, wanted.appearances, shape.appearances)

    def _appearances(
        self,
        subject: str,
        wanted: Sequence[AppearanceValues],
        found: Sequence[Appearance],
    ) -> None:
        if len(wanted) != len(found):
            self._equal(subject, "number of appearances", len(wanted), len(found))
            return
        for values in wanted:
            nearest = min(found, key=lambda one: _misfit(values, one))
            for name, agrees in _appearance_terms(values, nearest):
                expected, actual = getattr(values, name), getattr(nearest, name)
                self._agree(subject, name, expected, actual, agrees=agrees)


_NUMBERS = (
    ("lower", Quantity.LIMITS),
    ("upper", Quantity.LIMITS),
    ("effort", Quantity.EFFORT),
    ("velocity", Quantity.VELOCITY),
    ("damping", Quantity.DYNAMICS),
    ("friction", Quantity.DYNAMICS),
)


_ABSENT = {"lower": -math.inf, "upper": math.inf, "damping": 0.0, "friction": 0.0}


def _merged(wanted: ShapeValues, found: Sequence[ShapeObservation]) -> list[ShapeObservation]:
    """Merge the parts into which a USD splits one visual, unless it is a primitive."""
    surfaces = [shape.surface for shape in found if shape.surface]
    is_mesh = wanted.kind in {UNSET, ShapeKind.MESH.value}
    if not is_mesh or len(surfaces) < len(found):
        return list(found)
    supports = zip(*(one.support for one in surfaces), strict=True)
    surface = structs.replace(
        surfaces[0],
        support=tuple(map(max, supports)),
        area=math.fsum(one.area for one in surfaces),
        volume=math.fsum(one.volume for one in surfaces),
    )
    parts = (part for shape in found for part in shape.appearances)
    appearances = merge_appearances(parts)
    return [structs.replace(found[0], surface=surface, appearances=appearances)]


def _misfit(values: AppearanceValues, found: Appearance) -> int:
    return sum(not agrees for _, agrees in _appearance_terms(values, found))


def _appearance_terms(values: AppearanceValues, found: Appearance) -> Iterator[tuple[str, bool]]:
    """Yield the names of the properties that a case states, and whether they agree."""
    if values.area is not UNSET:
        yield "area", _near(values.area, found.area)
    if values.color is not UNSET:
        yield "color", _near_colors(values.color, found.color)
    if values.opacity is not UNSET:
        known = found.opacity is not None
        yield "opacity", known and abs(values.opacity - (found.opacity or 0)) <= COLOR
    if values.texture is not UNSET:
        # Cases state the file, from which converters copy a PNG or JPEG.
        yield "texture", values.texture == found.image_sha256


def _near_colors(
    wanted: tuple[float, float, float] | None,
    found: tuple[float, float, float] | None,
) -> bool:
    if wanted is None or found is None:
        return wanted is found
    return all(abs(a - b) <= COLOR for a, b in zip(wanted, found, strict=True))


def _near(wanted: float, found: float) -> bool:
    if not math.isfinite(wanted) or not math.isfinite(found):
        return wanted == found
    return abs(wanted - found) <= RELATIVE * abs(wanted) + _SMALLEST


def _near_tensors(wanted: Sequence[float], found: Sequence[float]) -> bool:
    return math.dist(wanted, found) <= RELATIVE * math.hypot(*wanted) + _SMALLEST


def _matrix(tensor: Sequence[float]) -> Array:
    ixx, ixy, ixz, iyy, iyz, izz = tensor
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def _quaternion(rotation: Array) -> tuple[float, float, float, float]:
    """Return the unit quaternion wxyz of a rotation matrix.

    The largest component is computed from the diagonal, the others from it, as in
    S. W. Shepperd, Quaternion from Rotation Matrix (1978).
    """
    m = [[float(value) for value in row] for row in rotation]
    trace = m[0][0] + m[1][1] + m[2][2]
    i = max(range(3), key=lambda axis: m[axis][axis])
    if trace >= m[i][i]:
        w = math.sqrt(max(0.0, 1 + trace)) / 2
        s = 0.25 / w
        return (
            w,
            (m[2][1] - m[1][2]) * s,
            (m[0][2] - m[2][0]) * s,
            (m[1][0] - m[0][1]) * s,
        )
    j, k = (i + 1) % 3, (i + 2) % 3
    own = math.sqrt(max(0.0, 1 + 2 * m[i][i] - trace)) / 2
    s = 0.25 / own
    vector = [0.0, 0.0, 0.0]
    vector[i] = own
    vector[j] = (m[j][i] + m[i][j]) * s
    vector[k] = (m[k][i] + m[i][k]) * s
    return ((m[k][j] - m[j][k]) * s, vector[0], vector[1], vector[2])


def _text(value: object) -> str:
    """Format a value for a message, with six significant digits."""
    match value:
        case None | UnsetType():
            return "none"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case JointType() | str():
            return str(value)
        case tuple() | list():
            return " ".join(map(_text, value)) or "none"
        case _:
            return str(value)
