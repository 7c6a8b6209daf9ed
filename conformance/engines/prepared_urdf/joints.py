"""Changes to the joints of a URDF that some engines need.

Each is a step of :func:`urdf_usd.conformance.engines.prepared_urdf.text.prepare`: an
engine that would reject the whole file, or crash on it, can read the rest.
"""

from __future__ import annotations

from lxml import etree

from urdf_usd.conformance.engines.prepared_urdf.text import Change, Step, UrdfElement


def leave_out(tag: str, reason: str) -> Step:
    """Make a step that leaves out one kind of element of joints.

    Args:
        tag: Tag of the element.
        reason: Why it is left out, as a clause: ``the engine refuses ...``.
    """

    def leave(robot: UrdfElement) -> Change | None:
        found = [
            (joint, element) for joint in robot.iterfind("joint") for element in joint.findall(tag)
        ]
        for joint, element in found:
            joint.remove(element)
        if not found:
            return None
        return Change(f"<{tag}> of joints was left out: {reason}.")

    return leave


_COUPLED = frozenset({"revolute", "continuous", "prismatic"})


def leave_out_idle_couplings(robot: UrdfElement) -> Change | None:
    """Leave out couplings of or to a joint that has not exactly one coordinate."""
    types = {joint.get("name", ""): joint.get("type") for joint in robot.iterfind("joint")}
    idle = [
        (joint, mimic)
        for joint in robot.iterfind("joint")
        for mimic in joint.findall("mimic")
        if {joint.get("type"), types.get(mimic.get("joint", ""), "revolute")} - _COUPLED
    ]
    for joint, mimic in idle:
        joint.remove(mimic)
    if not idle:
        return None
    names = sorted({joint.get("name", "") for joint, _ in idle})
    return Change(f"<mimic> of or to a joint without one coordinate left out: {', '.join(names)}.")


def leave_out_empty_dynamics(robot: UrdfElement) -> Change | None:
    """Leave out ``<dynamics>`` that states neither damping nor friction."""
    empty = [
        (joint, element)
        for joint in robot.iterfind("joint")
        for element in joint.findall("dynamics")
        if element.get("damping") is None and element.get("friction") is None
    ]
    for joint, element in empty:
        joint.remove(element)
    if not empty:
        return None
    return Change("Empty <dynamics> was left out.")


def complete_limits(robot: UrdfElement) -> Change | None:
    """Add missing effort and velocity to limits, and missing limits to joints."""
    effort: set[str] = set()
    velocity: set[str] = set()
    limits: set[str] = set()
    for joint in robot.iterfind("joint"):
        name = joint.get("name", "")
        bounded = joint.get("type") in {"revolute", "prismatic"}
        limit = joint.find("limit")
        if limit is None and bounded:
            limit = etree.SubElement(joint, "limit")
            limits.add(name)
        if limit is None:
            continue
        for attribute, lacking in (("effort", effort), ("velocity", velocity)):
            if limit.get(attribute) is None:
                limit.set(attribute, "0")
                lacking.add(name)
    filled = effort | velocity
    if not filled:
        return None
    return Change(
        "A missing <limit>, or its missing effort and velocity, were added, and are not"
        f" stated: {', '.join(sorted(filled))}.",
        limits=frozenset(limits),
        effort=frozenset(effort),
        velocity=frozenset(velocity),
    )


def leave_out_reversed_bounds(robot: UrdfElement) -> Change | None:
    """Leave out bounds if the lower one is above the upper one."""
    changed = set()
    for joint in robot.iterfind("joint"):
        for limit in joint.iterfind("limit"):
            if _reversed(limit):
                del limit.attrib["lower"], limit.attrib["upper"]
                changed.add(joint.get("name", ""))
    if not changed:
        return None
    return Change(f"Bounds with lower above upper were left out: {', '.join(sorted(changed))}.")


def _reversed(limit: UrdfElement) -> bool:
    lower, upper = limit.get("lower"), limit.get("upper")
    if lower is None or upper is None:
        return False
    try:
        return float(lower) > float(upper)
    except ValueError:
        # The engine reports what is not a number.
        return False
