"""What a USD should state besides the URDF: by a case of the feature suite, or a settings file.

The values of a case are put into a copy of an engine's observation of the USD. The checks compare
both, so that they find what differs of the stated values, and nothing else. What no check compares
is compared here: the name of the robot, the number of articulation roots and shapes, axes, sizes of
primitives, and an upper bound of a mass.

The converter resolves a simulation settings file and elements of the URDF to settings of joints and
links. Which colliders overlap is computed by MuJoCo. The checks of
:mod:`urdf_usd.conformance.checks.simulation` compare these settings with those of the USD.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import UNSET, convert, structs

from urdf_usd.conformance import tolerance
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.checks.check import Compared, compare, equality
from urdf_usd.conformance.checks.shapes import combined_surface
from urdf_usd.conformance.engines.mujoco_models import link_distances
from urdf_usd.conformance.engines.protocol import Observed, Outcome
from urdf_usd.conformance.engines.statements import matrices, vec3, vec6
from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.observation import shapes as observed
from urdf_usd.conformance.observation.shapes import Role, ShapeKind, ShapeObservation
from urdf_usd.converter.simulation.resolution import Simulation, resolve
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.reports.records.record import CaseOutcome, CaseReadingRecord, Difference, Grade, Value
from urdf_usd.reports.records.suite_case import Expected, ShapeValues
from urdf_usd.reports.text import value_text

# The engine that decides; simulators may have deviations of their own.
_DECISIVE = "openusd"
_MOST_SHOWN = 3
_TOLERANCE = tolerance.Tolerance(mass=1e-5, inertia=1e-5, limit=1e-6, force=1e-5, shape=1e-6)
_CHECKS = tuple(check for check in CHECKS if not check.usd_alone and check.id != "mass.total")
_TOTAL = tuple(check for check in CHECKS if check.id == "mass.total")
_SIZE = 1e-5  # of the size of a primitive [m]
_TOUCHING = 1e-4  # distance of colliders that touch [m]
# Overlap from which a pair has to be filtered, and distance up to which it may be [m].
_DEEP = 1e-3


def judge_case(
    expected: Expected,
    readings: Sequence[CaseReadingRecord],
    *,
    refusal: str | None,
    written: bool,
    crash: str,
    rules: Collection[str] | None,
) -> tuple[CaseOutcome, str]:
    """Return the outcome of a case, and why it does not pass."""
    if not written and refusal is None:
        return CaseOutcome.CRASHED, crash
    if not written and not expected.refused:
        return CaseOutcome.REFUSED_WRONGLY, refusal or ""
    reasons = []
    if expected.refused and written:
        reasons = ["a USD was written of a file that must be refused"]
    elif written:
        reading = next((one for one in readings if one.engine == _DECISIVE), None)
        if reading is None or reading.reason is not None:
            why = reading.reason if reading else "nothing was compared"
            return CaseOutcome.CRASHED, f"the USD cannot be read: {why}"
        reasons = [one.message for one in reading.failures]
    missing = [] if rules is None else sorted({*expected.diagnostics} - {*rules})
    if missing and not (expected.refused and written):
        reasons.append(f"not reported: {', '.join(missing)}")
    if not reasons:
        return CaseOutcome.REFUSED if expected.refused else CaseOutcome.PASS, ""
    more = len(reasons) - _MOST_SHOWN
    text = "; ".join(reasons[:_MOST_SHOWN])
    return CaseOutcome.FAIL, f"{text}; and {more} more" if more > 0 else text


def configurations_of(expected: Expected) -> obs.Configurations:
    """Return the configurations of the poses of a case, preceded by zero."""
    neutral = {1: (0.0,), 4: (0.0,) * 4, 7: (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)}
    names = sorted({name for pose in expected.poses for name in pose.q})
    positions = []
    for name in names:
        given = [np.atleast_1d(pose.q.get(name, ())) for pose in expected.poses]
        zero = neutral[max(map(len, given))]
        positions.append(np.array([zero, *(row if len(row) else zero for row in given)], float))
    return obs.Configurations(
        joints=tuple(names),
        positions=tuple(positions),
        labels=("zero", *(f"pose {number}" for number in range(len(expected.poses)))),
        root=expected.root,
    )


def compare_readings(
    expected: Expected, outcomes: Mapping[str, Outcome]
) -> tuple[CaseReadingRecord, ...]:
    readings = []
    for name, outcome in outcomes.items():
        reason = "no frame of the root"
        if not isinstance(outcome, Observed):
            reason = outcome.reason
        elif (frames := outcome.observation.frames) and outcome.observation.root in frames.links:
            readings.append(compare_case(expected, outcome.observation))
            continue
        readings.append(CaseReadingRecord(engine=name, reason=reason))
    return tuple(readings)


def compare_case(case: Expected, actual: obs.Observation) -> CaseReadingRecord:
    actual = structs.replace(actual, dynamics=None, rollout=None)
    reached = {actual.root: actual.root}  # with frames, by joints that close no loop
    for joint in actual.joints:
        if joint.parent in reached and actual.frames and joint.child in actual.frames.links:
            reached.setdefault(joint.child, joint.name)
    links = tuple(link for link in actual.links if link.name in reached)
    joints = tuple(joint for joint in actual.joints if reached.get(joint.child) == joint.name)
    tree = structs.replace(actual, links=links, joints=joints)
    expected = _with_joints(case, _with_links(case, tree, actual))
    expected, actual, differences = _with_shapes(case, expected, actual)
    groups = [body.links for body in case.bodies]
    welded = {name for links in groups for name in links}
    groups += [(link.name,) for link in expected.links if link.name not in welded]
    model = tolerance.derive_tolerance_model(tree, _TOLERANCE)
    model = structs.replace(model, groups=tuple(groups))
    results = [compare(check, expected, actual, model) for check in _CHECKS]
    if case.total_mass is not UNSET:
        whole = obs.MassProperties(case.total_mass, (0.0, 0.0, 0.0), None)
        robot = structs.replace(expected, links=(obs.LinkObservation(actual.root, whole),))
        results += [compare(check, robot, actual, model) for check in _TOTAL]
    differences += _unchecked(case, actual)
    for result in results:
        differences += result.shown if isinstance(result, Compared) else ()
    failures = [
        structs.replace(one, assigned=Grade.FAILS)
        for one in differences
        if one.grade is Grade.FAILS or (math.isnan(one.amount) and not one.unknown)
    ]
    count = len(differences)
    return CaseReadingRecord(engine=actual.engine, compared=count, failures=tuple(failures))


def _unchecked(case: Expected, actual: obs.Observation) -> Iterator[Difference]:
    if obs.Quantity.LINKS in actual.states and case.name is not UNSET:
        yield _equal("robot", "name", case.name, actual.robot)
    if actual.articulation_roots is not None and case.articulation_roots is not UNSET:
        roots = case.articulation_roots, actual.articulation_roots
        yield _equal("robot", "number of articulation roots", *roots)
    for joint in actual.joints if obs.Quantity.JOINTS in actual.states else ():
        values = case.joints.get(joint.name)
        if joint.axis and values and values.axis is not UNSET:
            near = math.dist(joint.axis, values.axis) <= _TOLERANCE.rotation
            yield _equal(f"joint {joint.name}", "axis", values.axis, joint.axis, near)
    masses = tolerance.masses_of(actual) if obs.Quantity.MASS in actual.states else {}
    for body in case.bodies if masses else ():
        if body.mass_below is not UNSET:
            mass = math.fsum(own.mass for name in body.links if (own := masses.get(name)))
            below = f"positive, below {body.mass_below:g}"
            yield _equal(f"link {body.links[0]}", "mass", below, mass, 0 < mass < body.mass_below)


def _equal(
    subject: str, what: str, expected: Value, actual: Value | None, same: bool | None = None
) -> Difference:
    same = expected == actual if same is None else same
    message = f"{subject}: {what} is {value_text(actual)}, not {value_text(expected)}"
    return equality(subject, same, message, expected, actual, item=f"{subject} {what}")


def _stated(values: Any) -> dict[str, Any]:  # noqa: ANN401  a part of a case
    return {name: value for name, value in structs.asdict(values).items() if value is not UNSET}


def _with_links(case: Expected, tree: obs.Observation, actual: obs.Observation) -> obs.Observation:
    bodies = [body.links for body in case.bodies]
    stated = [*(case.links or ()), *case.colliders, *case.visuals]
    stated += [name for links in (*bodies, *(pose.links for pose in case.poses)) for name in links]
    masses = {**dict.fromkeys(stated), **tolerance.masses_of(actual)}
    groups = tolerance.group_masses(actual, bodies, tree.joints)
    for body, found in zip(case.bodies, groups, strict=True):
        # The mass of welded links counts as that of the first.
        masses |= dict.fromkeys(body.links)
        own: dict[str, Any] = {"mass": 0.0, "com": np.zeros(3), "inertia": None}
        if found:
            own = {"mass": found.mass, "com": found.center, "inertia": vec6(found.tensor)}
        own |= _stated(body)
        center = vec3(own["com"])
        masses[body.links[0]] = obs.MassProperties(own["mass"], center, own["inertia"])
    bodies_of = {link.name: link.body for link in actual.links}
    links = (obs.LinkObservation(name, mass, bodies_of.get(name)) for name, mass in masses.items())
    frames = actual.frames
    if frames is not None and case.poses:
        positions, rotations = frames.positions.copy(), frames.rotations.copy()
        for row, pose in enumerate(case.poses, start=1):
            for name in pose.links.keys() & {*frames.links}:
                at, values = (row, frames.links.index(name)), _stated(pose.links[name])
                positions[at] = values.get("position", positions[at])
                if "rotation_wxyz" in values:
                    rotations[at] = matrices(values["rotation_wxyz"])
        frames = structs.replace(frames, positions=positions, rotations=rotations)
    base = actual.base if case.base is UNSET else obs.Base(case.base)
    return structs.replace(actual, links=tuple(links), base=base, frames=frames)


def _with_joints(case: Expected, actual: obs.Observation) -> obs.Observation:
    joints = {joint.name: joint for joint in actual.joints}
    for name in {**case.joints, **dict.fromkeys(case.dofs or ())}:
        joints.setdefault(name, obs.JointObservation(name, obs.JointType.REVOLUTE, "", ""))
    for name, joint in joints.items() if case.dofs is not UNSET else ():
        if (moves := obs.COORDINATES[joint.type] > 0) is not (name in (case.dofs or ())):
            other = obs.JointType.FIXED if moves else obs.JointType.REVOLUTE
            joints[name] = structs.replace(joint, type=other)
    for name, values in case.joints.items():
        fields = _stated(values)
        fields |= {key: float(fields[key]) for key in ("lower", "upper") if key in fields}
        fields |= {key: obs.JointType(fields[key]) for key in ("type",) if key in fields}
        if mimic := fields.get("mimic"):
            fields["mimic"] = obs.MimicObservation(mimic.joint, mimic.multiplier, mimic.offset)
        joints[name] = structs.replace(joints[name], **fields)
    return structs.replace(actual, joints=tuple(joints.values()))


def _with_shapes(
    case: Expected, expected: obs.Observation, actual: obs.Observation
) -> tuple[obs.Observation, obs.Observation, list[Difference]]:
    """Put in shapes, without those of other links; numbers, kinds and sizes are compared here."""
    made: list[ShapeObservation] = []
    found: list[ShapeObservation] = []
    differences = []
    roles = ((Role.COLLISION, case.colliders), (Role.VISUAL, case.visuals))
    for role, link, values in ((role, *one) for role, of in roles for one in of.items()):
        if obs.Quantity(f"{role} shapes") not in actual.states:
            continue
        # A shape may be that of several links.
        own = [
            structs.replace(shape, source=f"{link} {shape.source}")
            for shape in actual.shapes
            if (shape.link, shape.role) == (link, role)
        ]
        readable = all(shape.surface for shape in own)
        kinds = {values[0].kind} if len(values) == 1 and role is Role.VISUAL else {None}
        whole = _merged(own) if kinds <= {UNSET, ShapeKind.MESH.value} and readable else own
        numbers = len(values), len(whole) if readable else "some that are unreadable"
        differences.append(_equal(f"link {link}", f"number of {role} shapes", *numbers))
        if numbers[0] != numbers[1]:
            continue
        found += own
        for stated in values:
            shape = min(whole, key=partial(_unlike, stated))
            whole = [one for one in whole if one is not shape]
            made.append(_with_shape(stated, shape))
            name, size = f"link {link}, {shape.name}", shape.size
            if stated.kind is not UNSET:
                differences.append(_equal(name, "kind", stated.kind, shape.kind.value))
            if stated.size is not UNSET:
                near = len(size) == len(stated.size) and math.dist(size, stated.size) <= _SIZE
                differences.append(_equal(name, "size", stated.size, size, near))
            if stated.appearances is not UNSET:
                looks = len(stated.appearances), len(shape.appearances)
                differences.append(_equal(name, "number of appearances", *looks))
    expected = structs.replace(expected, shapes=tuple(made))
    return expected, structs.replace(actual, shapes=tuple(found)), differences


def _unlike(values: ShapeValues, shape: ShapeObservation) -> float:
    """Return how far a shape is from stated values [m]; a shape of another kind is far away."""
    pairs = [(values.position, shape.position)]
    if shape.surface:
        pairs += [(values.lower, shape.surface.lower), (values.upper, shape.surface.upper)]
    apart = math.fsum(math.dist(one, other) for one, other in pairs if one is not UNSET)
    return apart + 1e3 * (values.kind not in {UNSET, shape.kind.value})


def _merged(shapes: list[ShapeObservation]) -> list[ShapeObservation]:
    if len(shapes) < 2:
        return shapes
    whole = combined_surface(tuple(shapes))
    surface = observed.Surface(
        support=tuple(whole.reach.tolist()),
        area=whole.area,
        edges=whole.edges,
        oriented_area=vec3(whole.oriented),
        volume=whole.volume,
        center=vec3(whole.center),
        triangles=whole.triangles,
    )
    looks = observed.merge_appearances(part for shape in shapes for part in shape.appearances)
    return [structs.replace(shapes[0], surface=surface, appearances=looks)]


def _with_shape(values: ShapeValues, shape: ShapeObservation) -> ShapeObservation:
    """Put values into a shape that has a surface."""
    stated, surface = _stated(values), shape.surface
    assert surface is not None  # noqa: S101  # as the caller knows
    shift = np.subtract(stated.get("position", shape.position), shape.position)
    support = np.array(surface.support) + np.array(observed.DIRECTIONS) @ shift
    support[:3] = stated.get("upper", support[:3])
    support[3:6] = np.negative(stated.get("lower", -support[3:6]))
    looks = stated.get("appearances", ())
    areas = [look.area for look in looks if look.area is not UNSET]
    area = stated.get("area", math.fsum(areas) if areas else surface.area)
    volume = stated.get("volume", surface.volume)
    parts = []
    for look in looks:
        given = _stated(look)
        # Cases state the file, from which converters copy a PNG or JPEG.
        files = {one.image_sha256: one.texture for one in shape.appearances}
        texture = given.get("texture")
        unread = {"color"} - given.keys()
        unread |= set() if given.keys() & {"color", "texture"} else {"*"}
        parts.append(
            observed.Appearance(
                area=given.get("area", area / len(looks)),
                color=given.get("color"),
                opacity=given.get("opacity"),
                texture=texture and files.get(texture, texture),
                unread=frozenset(unread),
            )
        )
    return structs.replace(
        shape,
        kind=ShapeKind(stated.get("kind", shape.kind)),
        surface=structs.replace(surface, support=tuple(support.tolist()), area=area, volume=volume),
        appearances=tuple(parts) if "appearances" in stated else shape.appearances,
    )


def requested_settings(
    description: SettingsFile,
    urdf: str,
    expected: obs.Observation,
    solids: Sequence[observed.Solid] = (),
) -> obs.SimulationObservation:
    """Return what a settings file requests of the USD of a robot."""
    robot = parse(urdf).robot
    settings = resolve(description, robot, robot, [])
    filtered, tolerated = set(map(frozenset, settings.filtered_pairs)), set()
    if settings.filter_overlaps:
        distances, thin = link_distances(solids)
        joined = {frozenset((joint.parent, joint.child)) for joint in expected.joints}
        every = {frozenset(pair): apart for pair, apart in distances.items()}
        free = {pair: apart for pair, apart in every.items() if pair not in joined}
        # Rigid groups are bodies in the USD, and joints connect these.
        filtered |= {
            pair
            for pair, apart in free.items()
            if apart < -_DEEP and not _of_one_joint(pair, expected)
        }
        tolerated = {pair for pair, apart in free.items() if apart < _DEEP}
        tolerated |= {frozenset((one, link.name)) for one in thin for link in expected.links}
    return structs.replace(
        convert(settings, obs.SimulationObservation, from_attributes=True),
        filtered_pairs=_sorted(filtered),
        tolerated_pairs=_sorted(tolerated),
        sources=tuple(_summary(settings, len(filtered))),
    )


def _sorted(pairs: Iterable[frozenset[str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in pairs if len(pair) > 1))


def _summary(settings: Simulation, filtered: int) -> Iterator[str]:
    materials = settings.contact_materials
    names = {
        "drive": [drive.joint for drive in settings.drives],
        "armature": dict(settings.armatures),
        "limit stiffness": dict(settings.limit_stiffnesses),
        "limit damping": dict(settings.limit_dampings),
        "initial position": dict(settings.positions),
        "friction": [material.link for material in materials],
        "restitution": [material.link for material in materials if material.restitution],
    }
    yield from (f"{what}: {', '.join(listed)}" for what, listed in names.items() if listed)
    if filtered:
        yield f"filtered pairs: {filtered}"
    if settings.self_collision is not None:
        yield f"self-collision: {'on' if settings.self_collision else 'off'}"


def touching_links(
    expected: obs.Observation, solids: Sequence[observed.Solid]
) -> dict[tuple[str, str], float]:
    """Return the distances of links that touch at rest, and may collide, the least first [m]."""
    distances, _ = link_distances(solids)
    ordered = sorted(distances.items(), key=lambda item: item[1])
    touching = (item for item in ordered if item[1] < _TOUCHING)
    return {x: apart for x, apart in touching if not _of_one_joint(frozenset(x), expected)}


def _of_one_joint(pair: frozenset[str], expected: obs.Observation) -> bool:
    """Whether two links are of one rigid group, or a joint connects their groups."""
    groups = tolerance.rigid_groups([link.name for link in expected.links], expected.joints)
    head = {name: group[0] for group in groups for name in group}
    ends = {head[name] for name in pair}
    return len(ends) == 1 or any(
        {head[joint.parent], head[joint.child]} == ends for joint in expected.joints
    )
