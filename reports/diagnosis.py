"""Why a robot does not conform: where, by how much, whose fault, where to look, remedy."""

from __future__ import annotations

from msgspec import Struct

from urdf_usd.reports.records import record as r
from urdf_usd.reports.summary import statement
from urdf_usd.reports.text import of_formats, plain, quantity, value_text

_ROUND_TRIP = "round-trip."
_JOINT_FRAMES = "physics:axis, physics:localPos0/1 and physics:localRot0/1 of the joint"
_SIZE = "the size and the xformOps of the shape, the scale of its mesh, and metersPerUnit"
_CENTER = "physics:centerOfMass of the body"
_INERTIA = "physics:diagonalInertia and physics:principalAxes of the body"
# Where to look in the USD, by prefix of the check's id; the longest match counts.
_PLACES = {
    "structure": "the prim that the message names, which has to be active below the default prim",
    "structure.types": "the type of the joint's prim, and limits that lock a PhysicsJoint",
    "structure.parents": "physics:body0 and physics:body1 of the joint",
    "structure.mimic": "the coupling of the joint: urdf:mimic, NewtonMimicAPI, PhysxMimicJointAPI",
    "structure.articulation": "PhysicsArticulationRootAPI, which one prim has to have",
    "structure.world": "physics:body0 and physics:body1 of the joint: both have to be rigid bodies",
    "structure.bodies": "physics:rigidBodyEnabled and physics:kinematicEnabled of the body",
    "structure.scene": "the physics scene: gravity, simulation owners, prims besides the robot",
    "structure.initial": "velocities and startsAsleep of the body, and the state of the joint",
    "structure.animation": "time samples and splines of the attribute",
    "structure.values": "the value of the attribute",
    "structure.words": "attributes and Scopes below urdf: that belong to the part",
    "structure.base": "the fixed joint between the world and the base, which --base chooses",
    "kinematics": _JOINT_FRAMES,
    "kinematics.position": f"metersPerUnit, scales and transforms of the bodies, {_JOINT_FRAMES}",
    "kinematics.up": "upAxis of the stage, and the xformOps of the default prim",
    "kinematics.assembly": f"the transforms of the two bodies, and {_JOINT_FRAMES} between them",
    "mass": "physics:mass of the body, and kilogramsPerUnit of the stage",
    "mass.stated": "PhysicsMassAPI of the body: physics:mass has to be above zero",
    "mass.link.center": _CENTER,
    "mass.group.center": _CENTER,
    "mass.link.inertia": _INERTIA,
    "mass.link.agreement": _INERTIA,
    "mass.group.inertia": _INERTIA,
    "limits.lower": "physics:lowerLimit of the joint, in degrees for revolute joints",
    "limits.upper": "physics:upperLimit of the joint, in degrees for revolute joints",
    "limits.effort": "urdf:limit:effort of the joint, or maxForce of its drive",
    "limits.velocity": "urdf:limit:velocity of the joint, or that of the profile",
    "dynamics": "the other failing checks first: forces depend on joints and masses",
    "dynamics.damping": "urdf:dynamics:damping of the joint, or that of the profile",
    "dynamics.friction": "urdf:dynamics:friction of the joint, or that of the profile",
    "dynamics.drives": "stiffness and damping of the joint's drive, which belong to a controller",
    "dynamics.joints": "the attribute of the joint that the message names",
    "dynamics.bodies": "the attribute of the body that the message names",
    "simulation": "the attribute that docs/simulation.md names, in Simulation.usda",
    "simulation.gains": "stiffness, damping and type of the drive; per degree for revolute joints",
    "simulation.targets": "targetPosition and targetVelocity of the joint's drive",
    "collision": _SIZE,
    "collision.filters": "filtered pairs, collision groups and physics:collisionEnabled of joints",
    "collision.approximation": "physics:approximation of the mesh, and contact offsets",
    "collision.materials": "the physics material that is bound to the collider",
    "collision.shapes": "prims with PhysicsCollisionAPI below the link",
    "visual": _SIZE,
    "visual.normals": "primvars:normals, or normals, of the mesh",
    "visual.mapping": "the primvar that the texture's primvar reader names, and UsdTransform2d",
    "visual.material": "inputs of the material's shaders, and the bindings of the visual",
    "visual.geometry": "the attribute of the visual that the message names",
    "visual.subdivision": "subdivisionScheme of the mesh, which has to be none",
    "visual.shapes": "visible shapes below the link, of purpose default or render",
    "visual.colour": "inputs:diffuseColor (linear) of the bound material, or displayColor",
    "visual.opacity": "inputs:opacity of the bound material",
    "visual.texture": "the asset path of the UsdUVTexture, and that file",
}
# Checks of quantities that are computed from others, and the checks of these, by
# prefixes of identifiers.
_COMPUTED = (
    ("mass.group.", ("mass.link.", "mass.stated", "structure.")),
    ("mass.total", ("mass.link.", "mass.group.", "mass.stated", "structure.")),
    ("dynamics.inertia_matrix", ("mass.", "kinematics.", "structure.")),
    ("dynamics.bias", ("mass.", "kinematics.", "structure.", "dynamics.inertia")),
    ("dynamics.rollout", ("mass.", "kinematics.", "structure.", "dynamics.", "limits.")),
)
_FRAMES = ("kinematics.position", "kinematics.rotation")
_LIMITS = ("limits.lower", "limits.upper")
# What several checks of a shape measure.
_MEASURES = ("shapes", "support", "area", "volume", "triangles")
# Links and joints that fail these have nothing else to compare.
_ABSENT = ("structure.links", "structure.joints", "structure.parents")
# Reasons of crashes by a limit.
_LIMIT_WORDS = ("no answer after", "memory limit")
_MOST_NAMED = 3
# Fault and remedy where no check decides the verdict, by reason, rule or verdict.
_UNDECIDED = {
    r.ANOTHER_ROBOT: (
        "none: most names of the URDF are unknown in the USD",
        "compare the USD with the URDF that it was made from",
    ),
    "limit": ("none: a time or memory limit was exceeded", "raise --timeout or --memory"),
    "refused": (
        "USD: a simulator that it is made for refuses it",
        "correct what the simulator names, or the converter that wrote it",
    ),
    "variant-required": (
        "none: no variant of the USD with the robot is selected",
        "select a variant with --variant, or author a selection",
    ),
    "asset-outside-refused": (
        "USD: it refers to files outside its folder",
        "copy the files into the folder, or omit --strict",
    ),
    r.Verdict.NOT_AVAILABLE: (
        "none: the files are not available",
        "make the robot available, and run again",
    ),
    r.Verdict.CRASHED: (
        "converter or engine that crashed",
        "run it alone to see its output; see also the engines below",
    ),
    r.Verdict.FAILS: (
        "USD: it has values that no simulator can use",
        "correct these values, or the converter that wrote them",
    ),
}
_UNREADABLE_USD = (
    "converter: its output cannot be read as a robot",
    "see the messages of the converter and the USD engine below",
)
_BY_GRADE = {
    r.Grade.DISPUTED: (
        "undecided: the URDF engines disagree, so there is no value to compare the USD with",
        "make the URDF unambiguous; if one engine is wrong, add its deviation to the known ones",
    ),
    r.Grade.CLOSE: (
        "none: the difference exceeds float32 rounding, but not the tolerance",
        "look for other rounding, such as angles written with few digits",
    ),
}


class Diagnosis(Struct, frozen=True):
    subject: str  # link, joint or other part; empty for the whole robot
    statement: str
    fault: str  # of URDF, USD or converter, and by which evidence
    remedy: str
    check: r.CheckRecord | None = None  # that found it
    finding: r.Difference | None = None  # its worst
    likewise: tuple[str, ...] = ()  # further subjects with findings of the same check
    more_likewise: int = 0
    further: int = 0  # further checks with the same grade


def diagnose(robot: r.RobotRecord) -> Diagnosis | None:
    """Return why a robot does not conform; None if it does."""
    if robot.verdict.conforms or (robot.formats and "usd" not in robot.formats):
        # Of two descriptions neither is wrong.
        return None
    incomplete = robot.verdict is r.Verdict.INCOMPLETE
    grade = "not comparable" if incomplete else robot.verdict.value
    deciding = [check for check in robot.checks if check.grade.value == grade]
    if not deciding:
        return Diagnosis("", robot.reason, *_without_check(robot))
    first, further = deciding[0], len(deciding) - 1
    if robot.reason.startswith(r.ANOTHER_ROBOT):
        return Diagnosis("", robot.reason, *_UNDECIDED[r.ANOTHER_ROBOT], further=further)
    findings = [one for one in first.findings if one.grade is first.grade]
    others = list(dict.fromkeys(one.subject for one in findings[1:]))
    finding = findings[0] if findings else None
    subject = finding.subject if finding else ""
    said = statement(finding) if finding else first.reason or first.title
    fault, remedy = fault_and_remedy(first, finding)
    return Diagnosis(
        subject=subject,
        statement=said.removeprefix(f"{subject} ") if subject else said,
        fault=fault,
        remedy=remedy,
        check=first,
        finding=finding,
        likewise=tuple(others[:_MOST_NAMED]),
        more_likewise=len(others[_MOST_NAMED:]),
        further=further,
    )


def fault_and_remedy(check: r.CheckRecord, finding: r.Difference | None) -> tuple[str, str]:
    """Return what is wrong by the worst finding of a check, and what to do."""
    if check.grade in _BY_GRADE:
        return _BY_GRADE[check.grade]
    if check.grade is r.Grade.NOT_COMPARABLE:
        remedy = "supply the file, and convert again; everything that could be compared is below"
        if finding is None:
            return f"undecided: {check.reason or 'there is no value to compare'}", remedy
        # It names the file that cannot be used, and the reason.
        return f"none in the USD: {statement(finding).removesuffix('; not compared')}", remedy
    location = place_to_look(check.id)
    hint = f"in the USD, check {location}; " if location else ""
    remedy = f"{hint}correct the USD, or the converter that wrote it"
    differing = [one for one in check.differences if one.unequal]
    of_urdf = [one.engine for one in differing if one.side == "urdf"]
    names = of_urdf or [one.engine for one in differing]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    if differing and not of_urdf:
        fault = f"OpenUSD reads the value of the URDF, and {listed} computes another from it"
    elif len(of_urdf) > 1:
        fault = f"{listed} agree on the URDF, and the USD differs"
    else:
        fault = "it differs from the URDF, on which no other engine disagrees"
    return f"USD: {fault}", remedy


def _without_check(robot: r.RobotRecord) -> tuple[str, str]:
    if robot.verdict is r.Verdict.UNREADABLE:
        error = next((one for one in robot.diagnostics if one.severity == "error"), None)
        where = f" at {error.file}:{error.line}" if error and error.file else ""
        return "URDF", f"correct the URDF{where}; urdf-usd lint lists all findings"
    causes: list[str] = [robot.verdict]
    if robot.verdict is r.Verdict.CRASHED and any(word in robot.reason for word in _LIMIT_WORDS):
        causes = ["limit"]
    elif robot.verdict is r.Verdict.FAILS and robot.checks:
        causes = ["refused"]
    elif robot.verdict is r.Verdict.NOT_COMPARABLE:
        causes = [one.rule for one in robot.diagnostics]
    return next((_UNDECIDED[one] for one in causes if one in _UNDECIDED), _UNREADABLE_USD)


def explanation(check: r.CheckRecord, robot: r.RobotRecord, most: int) -> list[str]:
    """Return the findings with the grade of a check of a robot, fault and remedy, as lines."""
    source, usd = (f"({of_formats(side, robot.formats)}):" for side in ("URDF", "USD"))
    lines = [f"{check.title} ({check.group}): {check.grade}"]
    if check.reason:
        lines.append(check.reason)
    findings = [one for one in check.findings if one.grade is check.grade]
    for finding in findings[:most]:
        lines += ["", f"{finding.subject}: {statement(finding)}"]
        if finding.expected is not None:
            lines.append(f"  expected {source} {value_text(finding.expected, finding.unit)}")
        if finding.actual is not None:
            lines.append(f"  actual {usd:<8}  {value_text(finding.actual, finding.unit)}")
        if check.unit and finding.measured is not None:
            tolerance = quantity(finding.tolerance, check.unit)
            amount = quantity(finding.measured, check.unit)
            lines.append(f"  difference:      {amount} (tolerance {tolerance})")
        if finding.configuration is not None:
            lines.append(f"  configuration:   {finding.configuration}")
    if (more := len(findings) - most) > 0:
        lines += ["", f"{more} more are in the JSON record."]
    fault, remedy = fault_and_remedy(check, findings[0] if findings else None)
    advice = (f"Fault: {fault}", f"Remedy: {remedy}")
    lines += ["", *(of_formats(line, robot.formats) for line in advice)]
    return [plain(line) for line in lines]


class Fault(Struct, frozen=True):
    subjects: tuple[str, ...]  # links, joints and other parts; the worst one first
    check: r.CheckRecord  # the first that fails
    finding: r.Difference | None  # its worst
    checks: tuple[r.CheckRecord, ...]  # all that fail for these parts


def independent_faults(robot: r.RobotRecord) -> tuple[Fault, ...]:
    """Return the faults of a USD, in the order of the checks.

    Checks of the round trip and of computed quantities are left out if checks fail of which they
    are consequences. What fails at one link or joint, or at several in the same way, is one fault.
    """
    failing = [check for check in robot.checks if check.grade is r.Grade.FAILS]
    direct = [one for one in failing if not one.id.startswith(_ROUND_TRIP)] or failing
    found: dict[str, list[tuple[r.CheckRecord, r.Difference | None]]] = {}
    for check in direct:
        causes = next((known for own, known in _COMPUTED if check.id.startswith(own)), ())
        if any(one.id.startswith(causes) for one in direct if one.id != check.id):
            continue
        findings = [one for one in check.findings if one.grade is r.Grade.FAILS]
        for finding in findings or (None,):
            found.setdefault(finding.subject if finding else "", []).append((check, finding))
    alike: dict[frozenset[str], list[str]] = {}
    for subject, pairs in found.items():
        properties = frozenset(_property(*pair) for pair in pairs)
        absent = properties.intersection(_ABSENT)
        alike.setdefault(frozenset(_ABSENT) if absent else properties, []).append(subject)
    return tuple(
        Fault(
            subjects=tuple(filter(None, subjects)),
            check=found[subjects[0]][0][0],
            finding=found[subjects[0]][0][1],
            checks=tuple({check.id: check for one in subjects for check, _ in found[one]}.values()),
        )
        for subjects in alike.values()
    )


def _property(check: r.CheckRecord, finding: r.Difference | None) -> str:
    if check.id in _FRAMES:
        # What is wrong with a joint; the link and its error follow.
        if finding and finding.subject.startswith("joint "):
            return statement(finding).partition(";")[0]
        return "frames"
    if check.id in _LIMITS:
        return "limits"
    group, _, name = check.id.partition(".")
    # Extents, area, volume and triangles of one shape.
    return group if name in _MEASURES else check.id


def place_to_look(check: str) -> str:
    """Return where to look in a USD that does not pass a check; empty if unknown."""
    words = check.removeprefix(_ROUND_TRIP).split(".")
    beginnings = (".".join(words[:n]) for n in range(len(words), 0, -1))
    return next((_PLACES[one] for one in beginnings if one in _PLACES), "")
