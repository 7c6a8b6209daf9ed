"""Tests of the kinematic tree on a robot's page, and of the first wrong link."""

from __future__ import annotations

from tests.reports import samples
from urdf_usd.reports.html.robot_page import Limits, TreeRow, tree
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

_REST = (1.0, 0.0, 0.0, 0.1, 0.0, 1.0, 0.0, -0.2, 0.0, 0.0, 1.0, 0.3)
_POSITION = Limits("m", 2e-7, 1e-5)
_ROTATION = Limits("rad", 3e-7, 1e-5)


def _joint(
    parent: str, child: str, kind: MotionKind | None, leader: str | None = None
) -> SceneJoint:
    motion = (
        Motion(kind=kind, label="", axis=(0.6, 0.0, 0.8), lower=-1.0, upper=2.0) if kind else None
    )
    return SceneJoint(
        name=f"to {child}",
        parent=parent,
        child=child,
        rest=_REST,
        anchor=(0.0, 0.0, 0.0),
        motions=(motion,) if motion else (),
        mimic=Coupling(leader=leader, multiplier=2.0, offset=0.1) if leader else None,
    )


def _scene(
    positions: tuple[tuple[float | None, ...], ...],
    rotations: tuple[tuple[float | None, ...], ...] = ((0.0,) * 5, (0.0,) * 5),
) -> Scene:
    """Draw a robot: trunk carries arm and leg, arm carries hand, hand carries thumb."""
    links = ("trunk", "arm", "hand", "thumb", "leg")
    joints = (
        _joint("trunk", "arm", MotionKind.TURN),
        _joint("trunk", "leg", MotionKind.SLIDE),
        _joint("arm", "hand", None),
        _joint("hand", "thumb", MotionKind.TURN, "to arm"),
    )
    model = SceneModel(
        side="urdf",
        reader="reference",
        root="trunk",
        links=tuple(SceneLink(name=name) for name in links),
        joints=joints,
    )
    errors = LinkErrors(
        links=links,
        configurations=("zero", "upper"),
        positions=positions,
        rotations=rotations,
    )
    return Scene(mark=0.1, models=(model,), errors=errors)


def _first(rows: tuple[TreeRow, ...]) -> list[TreeRow]:
    return [row for row in rows if row.first]


def test_tree_lists_parents_before_children() -> None:
    branches = tree(_scene(((0.0,) * 5,) * 2), _POSITION, _ROTATION)
    assert [(one.link, one.joint, one.kind, one.depth) for one in branches] == [
        ("trunk", None, "root", 0),
        ("arm", "to arm", "rotates", 1),
        ("hand", "to hand", "fixed", 2),
        ("thumb", "to thumb", "rotates, mimics to arm", 3),
        ("leg", "to leg", "translates", 1),
    ]


def test_first_wrong_link_of_a_chain_is_marked() -> None:
    """All links below it are wrong as well."""
    positions = ((0.0,) * 5, (0.0, 1e-8, 0.02, 0.3, 0.0))
    branches = tree(_scene(positions), _POSITION, _ROTATION)
    grades = {one.link: one.grade for one in branches}
    assert grades["arm"] is Grade.EXACT
    assert grades["hand"] is grades["thumb"] is Grade.FAILS
    (first,) = _first(branches)
    assert (first.link, first.position, first.configuration) == ("hand", 0.02, "upper")


def test_rotated_link_is_wrong() -> None:
    rotations = ((0.0, 0.5, 0.0, 0.0, 0.0), (0.0,) * 5)
    branches = tree(_scene(((0.0,) * 5,) * 2, rotations), _POSITION, _ROTATION)
    (first,) = _first(branches)
    assert (first.link, first.rotation, first.configuration) == ("arm", 0.5, "zero")


def test_nan_error_is_wrong() -> None:
    """A pose that is not finite."""
    branches = tree(_scene(((0.0,) * 5, (0.0,) * 4 + (None,))), _POSITION, _ROTATION)
    assert [one.link for one in _first(branches)] == ["leg"]


def test_limits_are_taken_from_the_check() -> None:
    limits = Limits.of(samples.position(), "m")
    assert [limits.grade(value) for value in (2.1e-7, 2.2e-7, 1.1e-5)] == [
        Grade.EXACT,
        Grade.CLOSE,
        Grade.FAILS,
    ]
    assert Limits.of(None, "rad").grade(0.0) is Grade.EXACT


def test_scene_with_one_model_has_a_tree_without_errors() -> None:
    """The USD could not be read."""
    scene = Scene(mark=0.1, models=_scene(((0.0,) * 5,) * 2).models)
    branches = tree(scene, _POSITION, _ROTATION)
    assert {one.grade for one in branches} == {Grade.NOT_COMPARABLE}
    assert not _first(branches)
    assert tree(Scene(mark=0.1, models=()), _POSITION, _ROTATION) == ()
