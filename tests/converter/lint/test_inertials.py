"""Rules on inertials just inside and outside of their limits, on a mesh."""

from __future__ import annotations

from pathlib import Path

import pytest
import trimesh

from tests.converter.lint.conftest import Lint

BALL = trimesh.creation.icosphere(3, 0.1)
VOLUME = float(BALL.volume)
REACH = 0.1
TEXT = """<robot name="r"><link name="a"><inertial><origin xyz="{x} 0 0"/>
<mass value="{mass}"/><inertia ixx="{i}" iyy="{i}" izz="{i}" ixy="0" ixz="0" iyz="0"/>
</inertial><visual><geometry><mesh filename="ball.stl"/></geometry></visual>
</link></robot>"""


@pytest.mark.parametrize(
    ("rule", "mass", "gyration", "x"),
    [
        (None, 99e3 * VOLUME, 0.05, 0.0),
        ("density-high", 101e3 * VOLUME, 0.05, 0.0),
        (None, 0.101 * VOLUME, 0.05, 0.0),
        ("density-low", 0.099 * VOLUME, 0.05, 0.0),
        (None, 1.0, 2.99 * REACH, 0.0),
        ("inertia-too-large", 1.0, 3.01 * REACH, 0.0),
        (None, 1.0, 0.0101 * REACH, 0.0),
        ("inertia-too-small", 1.0, 0.0099 * REACH, 0.0),
        (None, 1.0, 0.05, (1.0 + 2.0 * 3.0**0.5) * REACH - 0.01),
        ("com-outside", 1.0, 0.05, (1.0 + 2.0 * 3.0**0.5) * REACH + 0.01),
    ],
)
def test_rules_apply_from_their_limits_on(
    lint_text: Lint,
    tmp_path: Path,
    rule: str | None,
    mass: float,
    gyration: float,
    x: float,
) -> None:
    """Bounds of the extent must not hide a breach of the exact extent."""
    BALL.export(tmp_path / "ball.stl")

    found = lint_text(TEXT.format(mass=mass, i=mass * gyration**2, x=x))

    rules = {one.rule.id for one in found if one.rule.id.startswith(("density", "inertia", "com"))}
    assert rules == ({rule} if rule else set())
