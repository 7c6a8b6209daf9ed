"""Options of conversions, as texts."""

from __future__ import annotations

from typing import Any

import pytest

from urdf_usd.converter.options import (
    BodyNesting,
    ColliderKind,
    ColliderRule,
    ColliderRules,
    ConvertOptions,
    Layout,
    Profile,
    tolerance_in_metres,
)


def _rules(*texts: str) -> ColliderRules:
    return ColliderRules(tuple(map(ColliderRule.parse, texts)))


def test_links_without_rule_keep_their_colliders() -> None:
    assert ColliderRules().kind_of("arm") is None
    assert _rules("arm=hull").kind_of("hand") is None


def test_patterns_precede_the_default_and_the_last_matching_one_counts() -> None:
    rules = _rules("*_arm=mesh", "hull", "left_*=none", "primitives")

    assert rules.kind_of("right_arm") is ColliderKind.MESH
    assert rules.kind_of("left_arm") is ColliderKind.NONE
    assert rules.kind_of("hand") is ColliderKind.PRIMITIVES


@pytest.mark.parametrize("text", ["hull", "a=b=mesh", "left_*=none"])
def test_text_of_a_rule_is_read_back(text: str) -> None:
    assert str(ColliderRule.parse(text)) == text


@pytest.mark.parametrize("text", ["sdf", "=hull", "arm=", "", "arm=sdf"])
def test_other_texts_are_no_rules(text: str) -> None:
    with pytest.raises(ValueError, match="is not"):
        ColliderRule.parse(text)


def test_tolerance_is_in_metres_or_relative_to_the_size() -> None:
    assert tolerance_in_metres("0.002", 0.5) == 0.002
    assert tolerance_in_metres("4%", 0.5) == pytest.approx(0.02)


@pytest.mark.parametrize("text", ["0", "-1%", "nan", "inf", "wide"])
def test_tolerance_is_positive(text: str) -> None:
    with pytest.raises(ValueError, match=r"positive|float"):
        tolerance_in_metres(text, 1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(
            ({"profile": profile, "layout": layout}, "prescribes layers")
            for profile in (Profile.ROS, Profile.SIMREADY, Profile.ISAAC)
            for layout in (Layout.SINGLE, Layout.USDZ)
        ),
        ({"metadata": (("author", "A. Maker"),)}, "metadata requires profile"),
        *(
            ({"profile": profile, "metadata": ((name, "Arm"),)}, message)
            for profile, name, message in (
                (Profile.ISAAC, "author", "has robot_type and"),
                (Profile.ISAAC, "robot_type", "is none of"),
                (Profile.SIMREADY, "robot_type", "is none of"),
            )
        ),
        ({"profile": Profile.USDPHYSICS, "physics_variants": True}, "has no schemas of simulators"),
        *(
            ({"bodies": BodyNesting.NESTED, **for_physx}, "does not simulate nested bodies")
            for for_physx in ({"physics_variants": True}, {"profile": Profile.PHYSX})
        ),
        *(
            ({"mass_density": density}, "is not positive")
            for density in (0.0, -1.0, float("nan"), float("inf"))
        ),
    ],
)
def test_contradictory_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ConvertOptions(**options)


def test_assets_for_physx_have_flat_bodies() -> None:
    assert ConvertOptions(physics_variants=True).nesting is BodyNesting.FLAT
