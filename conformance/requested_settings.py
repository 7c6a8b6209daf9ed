"""What a simulation settings file requests of the USD of a robot.

The converter resolves the file and elements of the URDF to settings of joints and links. Which
colliders overlap is computed by MuJoCo. The settings are compared with those of the USD by the
checks of :mod:`urdf_usd.conformance.checks.simulation`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import convert

from urdf_usd.conformance.engines.mujoco_models import link_distances
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Solid
from urdf_usd.conformance.observation.simulation import (
    ContactMaterialObservation,
    DriveObservation,
    SimulationObservation,
)
from urdf_usd.conformance.tolerance.model import rigid_groups
from urdf_usd.converter.simulation.resolution import Simulation, resolve
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.urdf.parse import parse

_TOUCHING = 1e-4  # distance of colliders that touch [m]
# Overlap from which a pair has to be filtered, and distance up to which it may be [m].
_DEEP = 1e-3


def requested_settings(
    description: SettingsFile, urdf: str, expected: Observation, solids: Sequence[Solid] = ()
) -> SimulationObservation:
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
    return SimulationObservation(
        drives=convert(settings.drives, tuple[DriveObservation, ...], from_attributes=True),
        armatures=settings.armatures,
        limit_stiffnesses=settings.limit_stiffnesses,
        limit_dampings=settings.limit_dampings,
        positions=settings.positions,
        filtered_pairs=_sorted(filtered),
        tolerated_pairs=_sorted(tolerated),
        self_collision=settings.self_collision,
        contact_materials=convert(
            settings.contact_materials, tuple[ContactMaterialObservation, ...], from_attributes=True
        ),
        sources=tuple(_summary(settings, len(filtered))),
    )


def _sorted(pairs: Iterable[frozenset[str]]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((min(pair), max(pair)) for pair in pairs if len(pair) > 1))


def _summary(settings: Simulation, filtered: int) -> Iterator[str]:
    """Yield what is requested, for the record."""
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


def touching_links(expected: Observation, solids: Sequence[Solid]) -> dict[tuple[str, str], float]:
    """Return the distances of links that touch at rest, and may collide, the least first [m]."""
    distances, _ = link_distances(solids)
    return {
        links: distance
        for links, distance in sorted(distances.items(), key=lambda item: item[1])
        if distance < _TOUCHING and not _of_one_joint(frozenset(links), expected)
    }


def _of_one_joint(pair: frozenset[str], expected: Observation) -> bool:
    """Whether two links are of one rigid group, or a joint connects their groups."""
    groups = rigid_groups([link.name for link in expected.links], expected.joints)
    head = {name: group[0] for group in groups for name in group}
    ends = {head[name] for name in pair}
    return len(ends) == 1 or any(
        {head[joint.parent], head[joint.child]} == ends for joint in expected.joints
    )
