"""The kinematic tree on a robot's page, and the first wrong link."""

from __future__ import annotations

import pytest
from msgspec import structs

from tests.reports import samples
from urdf_usd.reports.html.robot_page import Limits, tree
from urdf_usd.reports.records.record import Grade
from urdf_usd.reports.records.scene import (
    Coupling,
    LinkErrors,
    Motion,
    MotionKind,
    Scene,
    SceneJoint,
    SceneLink,
    SceneModel,
)

_LIMITS = Limits("m", 2e-7, 1e-5), Limits("rad", 3e-7, 1e-5)
_ZERO = (0.0,) * 5


def _joint(parent: str, child: str, kind: MotionKind | None, leader: str = "") -> SceneJoint:
    motion = Motion(kind=kind or MotionKind.TURN, label="", axis=(0.6, 0, 0.8), lower=-1, upper=2)
    return SceneJoint(
        name=f"to {child}",
        parent=parent,
        child=child,
        rest=(1.0, 0.0, 0.0, 0.1, 0.0, 1.0, 0.0, -0.2, 0.0, 0.0, 1.0, 0.3),
        anchor=(0.0, 0.0, 0.0),
        motions=(motion,) if kind else (),
        mimic=Coupling(leader=leader, multiplier=2.0, offset=0.1) if leader else None,
    )


# The trunk carries arm and leg, the arm the hand, the hand the thumb.
_LINKS = ("trunk", "arm", "hand", "thumb", "leg")
_MODEL = SceneModel(
    side="urdf",
    reader="reference",
    root="trunk",
    links=tuple(SceneLink(name=name) for name in _LINKS),
    joints=(
        _joint("trunk", "arm", MotionKind.TURN),
        _joint("trunk", "leg", MotionKind.SLIDE),
        _joint("arm", "hand", None),
        _joint("hand", "thumb", MotionKind.TURN, "to arm"),
    ),
)
_ERRORS = LinkErrors(
    links=_LINKS, configurations=("zero", "upper"), positions=(_ZERO,) * 2, rotations=(_ZERO,) * 2
)
_SCENE = Scene(mark=0.1, models=(_MODEL,), errors=_ERRORS)


def test_tree_lists_parents_before_children() -> None:
    assert [(row.link, row.joint, row.kind, row.depth) for row in tree(_SCENE, *_LIMITS)] == [
        ("trunk", None, "root", 0),
        ("arm", "to arm", "rotates", 1),
        ("hand", "to hand", "fixed", 2),
        ("thumb", "to thumb", "rotates, mimics to arm", 3),
        ("leg", "to leg", "translates", 1),
    ]


@pytest.mark.parametrize(
    ("errors", "first", "failing"),
    [
        # All links below the first are wrong as well.
        (
            {"positions": (_ZERO, (0.0, 1e-8, 0.02, 0.3, 0.0))},
            ("hand", 0.02, 0.0, "upper"),
            {"hand", "thumb"},
        ),
        ({"rotations": ((0.0, 0.5, 0.0, 0.0, 0.0), _ZERO)}, ("arm", 0.0, 0.5, "zero"), {"arm"}),
        # A pose that is not finite.
        ({"positions": (_ZERO, (*_ZERO[:4], None))}, ("leg", float("inf"), 0.0, "upper"), {"leg"}),
    ],
)
def test_first_wrong_link_of_a_chain_is_marked(
    errors: dict[str, tuple[tuple[float | None, ...], ...]],
    first: tuple[str, float, float, str],
    failing: set[str],
) -> None:
    scene = structs.replace(_SCENE, errors=structs.replace(_ERRORS, **errors))
    rows = tree(scene, *_LIMITS)
    (row,) = (row for row in rows if row.first)

    assert (row.link, row.position, row.rotation, row.configuration) == first
    assert {row.link for row in rows if row.grade is Grade.FAILS} == failing


def test_limits_are_taken_from_the_check() -> None:
    """Without a check they are zero."""
    limits = Limits.of(samples.position(), "m")
    grades = [limits.grade(value) for value in (2.1e-7, 2.2e-7, 1.1e-5)]

    assert grades == [Grade.EXACT, Grade.CLOSE, Grade.FAILS]
    assert Limits.of(None, "rad").grade(0.0) is Grade.EXACT


def test_scene_with_one_model_has_a_tree_without_errors() -> None:
    """The USD could not be read."""
    rows = tree(structs.replace(_SCENE, errors=None), *_LIMITS)

    assert {row.grade for row in rows} == {Grade.NOT_COMPARABLE}
    assert not any(row.first for row in rows)
    assert tree(Scene(mark=0.1, models=()), *_LIMITS) == ()
