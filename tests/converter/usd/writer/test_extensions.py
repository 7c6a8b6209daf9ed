"""Prims and names of custom data, and their reading."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from pxr import Usd, UsdPhysics, UsdValidation

from tests.converter.strategies import customs
from urdf_usd.conformance.export.links import read_custom
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset

_INERTIAL = m.Inertial(2.0, m.Pose((0.1, 0.2, 0.3)), (3.0, 0.1, 0.2, 4.0, 0.3, 5.0))
_BOX = m.Box((0.1, 0.2, 0.3))


def _stage(robot: m.Robot, folder: Path) -> Usd.Stage:
    tree = build_tree(robot)
    write_asset(robot, tree, assign_bodies(tree), folder)
    return Usd.Stage.Open(str(folder / asset_name(robot)))


def _robot(custom: m.Custom = m.Custom()) -> m.Robot:  # noqa: B008  a value that cannot change
    """Return a robot in which everything that can have custom data has the same."""
    shape = m.Pose((0.1, 0.2, 0.3)), _BOX
    visual = m.Visual("seen", *shape, custom=custom)
    collision = m.Collision("touched", *shape, custom=custom)
    base = m.Link("base", _INERTIAL, (visual,), (collision,), custom=custom)
    return m.Robot(
        "r",
        (base, m.Link("frame", custom=custom), m.Link("arm", _INERTIAL, custom=custom)),
        (
            m.Joint("weld", "base", "frame", m.Fixed(), custom=custom),
            m.Joint("elbow", "frame", "arm", m.Continuous((0.0, 0.6, 0.8)), custom=custom),
        ),
        custom=custom,
    )


_OWNERS = (
    "/r",
    "/r/Geometry/base",
    "/r/Geometry/base/seen",
    "/r/Geometry/base/touched",
    "/r/Geometry/base/frame",
    "/r/Geometry/base/frame/arm",
    "/r/Physics/elbow",
)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plain", "urdf:plain"),
        ("drake:acceleration", "urdf:drake:acceleration"),
        ("a-b", "urdf:a_b"),
        ("1st", "urdf:_1st"),
        ("link", "urdf:link_1"),
        ("joint:type", "urdf:joint:type_1"),
        ("text", "urdf:text_1"),
        ("within", "urdf:within_1"),
    ],
)
def test_invalid_and_reserved_names_are_changed_and_kept_as_display_name(
    tmp_path: Path, name: str, written: str
) -> None:
    """Names that USD does not allow, or that the USD reader interprets."""
    custom = m.Custom((m.CustomAttribute(name, "v"),))

    stage = _stage(_robot(custom), tmp_path)

    prim = stage.GetPrimAtPath("/r/Geometry/base")
    attribute = prim.GetAttribute(written)
    assert attribute.Get() == "v"
    assert attribute.GetDisplayName() == ("" if written == f"urdf:{name}" else name)


def test_links_and_shapes_keep_their_names_before_elements(tmp_path: Path) -> None:
    custom = m.Custom(
        elements=tuple(m.CustomElement(m.XmlElement(tag)) for tag in ("frame", "seen", "touched"))
    )

    stage = _stage(_robot(custom), tmp_path)

    base = stage.GetPrimAtPath("/r/Geometry/base")
    types = {child.GetName(): child.GetTypeName() for child in base.GetChildren()}
    assert types == {
        "frame": "Xform",
        "seen": "Cube",
        "touched": "Cube",
        "frame_1": "Scope",
        "seen_1": "Scope",
        "touched_1": "Scope",
    }


_CUSTOM = customs(
    ["a", "b", "x:y", "a-b", "a_b", "1", "link", "visibility", "text", "é", "urdf:text"],
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))),
    *(("limit",), ("geometry", "mesh"), ("inertial", "mass")),
)


def _sorted(custom: m.Custom) -> m.Custom:
    """Attributes have no order in USD."""

    def element(one: m.XmlElement) -> m.XmlElement:
        return structs.replace(
            one,
            attributes=tuple(sorted(one.attributes)),
            children=tuple(map(element, one.children)),
        )

    return m.Custom(
        tuple(sorted(custom.attributes, key=repr)),
        tuple(structs.replace(one, content=element(one.content)) for one in custom.elements),
    )


@given(_CUSTOM)
def test_custom_data_is_read_back_from_every_owner(custom: m.Custom) -> None:
    """Names, texts, nesting and order of elements; the stage passes validation."""
    registry = UsdValidation.ValidationRegistry()
    validators = registry.GetOrLoadAllValidators()
    with tempfile.TemporaryDirectory() as folder:
        stage = _stage(_robot(custom), Path(folder))

        errors = UsdValidation.ValidationContext(validators).Validate(stage)
        for path in _OWNERS:
            prim = stage.GetPrimAtPath("/r/Extensions" if path == "/r" else path)
            elements = read_custom(prim).elements if prim else ()
            attributes = read_custom(stage.GetPrimAtPath(path)).attributes
            assert _sorted(m.Custom(attributes, elements)) == _sorted(custom)
        frame = stage.GetPrimAtPath("/r/Geometry/base/frame")
        assert _sorted(read_custom(frame, of_joint=True)) == _sorted(custom)
        bodies = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)]
        assert len(bodies) == 2

    assert [f"{e.GetName()}: {e.GetMessage()}" for e in errors] == []
