"""Links whose colliders touch at rest are in the record, and on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from urdf_usd import check, convert

_INERTIAL = (
    '<inertial><mass value="1"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" '
    'izz="0.1"/></inertial>'
)


def _link(name: str, edge: float) -> str:
    box = f'<geometry><box size="{edge} {edge} {edge}"/></geometry>'
    return f'<link name="{name}">{_INERTIAL}<collision>{box}</collision></link>'


def _joint(kind: str, parent: str, child: str, x: float) -> str:
    return (
        f'<joint name="to_{child}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{x} 0 0"/><axis xyz="0 0 1"/></joint>'
    )


def test_links_that_touch_are_listed_with_their_distance(tmp_path: Path) -> None:
    """Not those that a joint connects, nor those of one rigid group.

    Centres of cubes with edges of 0.4 m are 0.3 m apart from each other, and 1 m from
    the base. The tip is welded to the first, and overlaps both.
    """
    urdf = tmp_path / "r.urdf"
    parts = [
        *(_link("base", 0.4), _link("left", 0.4), _link("right", 0.4)),
        *(_link("tip", 0.1), _link("far", 0.4)),
        *(_joint("continuous", "base", "left", 1.0),),
        *(_joint("continuous", "base", "right", 1.3),),
        *(_joint("fixed", "left", "tip", 0.15),),
        *(_joint("continuous", "base", "far", -0.41),),
    ]
    urdf.write_text(f'<robot name="r">{"".join(parts)}</robot>')
    usd = convert(urdf, tmp_path / "usd").root_layer
    record = check(urdf, usd)
    assert record.touching is not None
    found = {pair.links: pair.distance for pair in record.touching}

    assert set(found) == {("left", "right"), ("right", "tip")}
    # 0.4 less 0.3; and 0.2 + 0.05 less 0.15.
    assert found["left", "right"] == pytest.approx(-0.1, abs=1e-5)
    assert found["right", "tip"] == pytest.approx(-0.1, abs=1e-5)
    assert record.verdict.conforms
