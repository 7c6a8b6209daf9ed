"""Stages of one joint or two, between bodies, with what is said about the last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.conformance.engines.usd_readings import ask, body, joint, joint_named, stage
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
    """Return the reading of a joint between two bodies."""
    text = body("a") + body("b") + joint(kind, "it", content, schemas=schemas)
    return joint_named(ask(stage(folder, text, header)), "it")


def led_joint(
    folder: Path,
    content: str,
    schemas: Sequence[str] = (),
    *,
    kinds: tuple[str, str] = (REVOLUTE, REVOLUTE),
    leader: str = LIMITED,
    leader_schemas: Sequence[str] = (),
) -> JointObservation:
    """Return the reading of a joint ``it`` beside a joint ``lead``.

    Args:
        folder: Receives the stage.
        content: What ``it`` says.
        schemas: Schemas of ``it``.
        kinds: Types of ``lead`` and ``it``.
        leader: What ``lead`` says.
        leader_schemas: Schemas of ``lead``.
    """
    bodies = body("a") + body("b") + body("c")
    lead = joint(kinds[0], "lead", leader, schemas=leader_schemas)
    it = joint(kinds[1], "it", content, ("a", "c"), schemas)
    return joint_named(ask(stage(folder, bodies + lead + it)), "it")
