"""Checks of settings that a robot description file promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from urdf_usd.conformance.checks import settings
from urdf_usd.conformance.observation.robot import (
    Frames,
    LinkObservation,
    Observation,
    Quantity,
    SettingKind,
    UnimpliedSetting,
)
from urdf_usd.conformance.observation.simulation import (
    FrictionObservation,
    SimulationObservation,
)
from urdf_usd.conformance.records.record import Grade
from urdf_usd.conformance.tolerance.bounds import Tolerance
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    ToleranceModel,
    derive_tolerance_model,
)

_FRAMES = Frames(("a",), np.zeros((1, 1, 3)), np.eye(3)[np.newaxis, np.newaxis])
_BARE = Observation(
    "openusd", "r", "a", frozenset(Quantity), (LinkObservation("a"),), (), _FRAMES
)
_PROMISE = SimulationObservation(
    frictions=(FrictionObservation("a", 0.8, 0.8),), self_collision=False
)


def _model() -> ToleranceModel:
    return derive_tolerance_model(_BARE, Tolerance())


@pytest.mark.parametrize(
    ("found", "failing"),
    [
        (_PROMISE, 0),
        (replace(_PROMISE, frictions=(FrictionObservation("a", 0.8, 0.7),)), 1),
        (replace(_PROMISE, frictions=()), 2),
        (replace(_PROMISE, self_collision=True), 1),
        (replace(_PROMISE, self_collision=None), 1),
    ],
)
def test_friction_and_self_collision_are_compared(
    found: SimulationObservation, failing: int
) -> None:
    """Each coefficient, and the flag."""
    compared = settings.contacts(
        replace(_BARE, simulation=_PROMISE), replace(_BARE, simulation=found), _model()
    )

    assert isinstance(compared, Compared)
    grades = [difference.grade for difference in compared.differences]
    assert len(grades) == 3
    assert grades.count(Grade.FAILS) == failing


def test_only_promised_settings_are_left_out() -> None:
    """The same setting of another part, and other settings of a part, remain."""
    stiff = UnimpliedSetting(
        SettingKind.DRIVE,
        "joint i",
        "stiff",
        "0",
        "1",
        attribute="drive:*:physics:stiffness",
    )
    friction = UnimpliedSetting(
        SettingKind.MATERIAL,
        "link a",
        "rough",
        "none",
        "0.8",
        attribute="physics:staticFriction",
    )
    bouncing = replace(friction, attribute="physics:restitution")
    other = replace(friction, subject="link b")
    observation = replace(_BARE, unimplied=(stiff, friction, bouncing, other))

    left = settings.without_promised(observation, _PROMISE)

    assert left.unimplied == (stiff, bouncing, other)
