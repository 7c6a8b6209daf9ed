"""Contact materials of simulation settings files, as Newton reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.engines.optional_engines import installed
from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd import ConvertOptions, convert, load_settings, with_settings

_MATERIALS = """\
[[links]]
match = "*"
static_friction = 0.9
dynamic_friction = 0.6
[[links]]
match = "tool"
restitution = 0.2
"""


def test_shapes_have_dynamic_friction_and_restitution(tmp_path: Path) -> None:
    """Newton has one friction, which is the dynamic one."""
    installed("newton-usd")
    import newton

    description = load_settings(write_description(tmp_path, _MATERIALS))
    options = with_settings(ConvertOptions(), description)
    asset = convert(write_urdf(tmp_path), tmp_path / "asset", options).root_layer

    builder = newton.ModelBuilder()
    builder.add_usd(str(asset), load_visual_shapes=False, load_sites=False)

    found = {
        builder.body_label[body].rpartition("/")[2]: (friction, restitution)
        for body, friction, restitution in zip(
            builder.shape_body,
            builder.shape_material_mu,
            builder.shape_material_restitution,
            strict=True,
        )
    }
    assert found == {
        "base": pytest.approx((0.6, 0.0)),
        "arm": pytest.approx((0.6, 0.0)),
        "tool": pytest.approx((0.6, 0.2)),
    }
