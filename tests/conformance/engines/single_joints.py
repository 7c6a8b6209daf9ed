"""Stages of one or two joints between bodies, and observations of the last joint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.engines.usd_observations import (
    body,
    joint,
    joint_named,
    observe_stage,
    stage,
)
from urdf_usd.conformance.observation.robot import JointObservation

REVOLUTE, PRISMATIC = "PhysicsRevoluteJoint", "PhysicsPrismaticJoint"
SI = "metersPerUnit = 1"
LIMITED = "float physics:lowerLimit = -90\nfloat physics:upperLimit = 45\n"


def only_joint(
    folder: Path,
    kind: str,
    content: str,
    header: str = SI,
    schemas: Sequence[str] = (),
) -> JointObservation:
    """Return the observation of a joint between two bodies."""
    text = body("a") + body("b") + joint(kind, "it", content, schemas=schemas)
    return joint_named(observe_stage(stage(folder, text, header)), "it")


def following_joint(
    folder: Path,
    content: str,
    schemas: Sequence[str] = (),
    *,
    kinds: tuple[str, str] = (REVOLUTE, REVOLUTE),
    leader: str = LIMITED,
    leader_schemas: Sequence[str] = (),
) -> JointObservation:
    """Return the observation of a joint ``it`` that follows a joint ``lead``.

    Args:
        folder: Receives the stage.
        content: Attributes of ``it``.
        schemas: Schemas of ``it``.
        kinds: Types of ``lead`` and ``it``.
        leader: Attributes of ``lead``.
        leader_schemas: Schemas of ``lead``.
    """
    bodies = body("a") + body("b") + body("c")
    lead = joint(kinds[0], "lead", leader, schemas=leader_schemas)
    it = joint(kinds[1], "it", content, ("a", "c"), schemas)
    return joint_named(observe_stage(stage(folder, bodies + lead + it)), "it")
