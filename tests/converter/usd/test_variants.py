"""Variant sets of a USD: selection, sets without selection, combinations."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading import (
    Combination,
    open_stage,
    robot_variant_sets,
    select_variants,
    selecting_layer,
    unselected_variant_sets,
    variant_combinations,
)

# "size" of /r selects what is below /r/tool; the variant "big" has a set of its own.
# "look" is a set of two prims, neither of which is the default prim.
ROBOT = """#usda 1.0
(
    defaultPrim = "r"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "r" (
    variants = { string size = "small" }
    prepend variantSets = "size"
) {
    variantSet "size" = {
        "big" (prepend variantSets = "arm") {
            variantSet "arm" = {
                "left" { def Xform "left" {} }
                "right" { def Xform "right" {} }
            }
        }
        "small" { def Xform "small" {} }
    }
    def Xform "tool" (prepend variantSets = "look") {
        variantSet "look" = { "red" { def Xform "red" {} } }
    }
}
def Xform "stand" (
    variants = {
        string look = "gone"
        string height = "low"
    }
    prepend variantSets = ["height", "look"]
) {
    variantSet "height" = {
        "high" { def Xform "high" {} }
        "low" {}
    }
    variantSet "look" = { "red" {} }
}
""".replace("{ ", "{\n").replace(" }", "\n}")


@pytest.fixture
def usd(tmp_path: Path) -> Path:
    path = tmp_path / "robot.usda"
    path.write_text(ROBOT)
    return path


def choices(*texts: str) -> tuple[VariantChoice, ...]:
    return tuple(map(VariantChoice.parse, texts))


def prims(stage: Usd.Stage) -> set[str]:
    return {str(prim.GetPath()) for prim in stage.Traverse()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Physics=none", VariantChoice("Physics", "none")),
        ("/a/b:Physics=none", VariantChoice("Physics", "none", "/a/b")),
        ("/:Physics=.a|b-c", VariantChoice("Physics", ".a|b-c", "/")),
    ],
)
def test_option_names_set_variant_and_prim(text: str, expected: VariantChoice) -> None:
    assert VariantChoice.parse(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize("text", ["", "Physics", "Physics=", "=none", "a:b=c", "/a:=c"])
def test_malformed_option_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not \[PRIM:\]SET=NAME"):
        VariantChoice.parse(text)


@pytest.mark.parametrize(
    ("texts", "selected", "present", "absent"),
    [
        (["size=big"], ["/r:size=big"], "/r/tool", "/r/small"),
        # The inner set exists only with the outer selection, in any order.
        (["size=big", "arm=right"], ["/r:size=big", "/r:arm=right"], "/r/right", "/r/left"),
        (["/r:arm=right", "/r:size=big"], ["/r:size=big", "/r:arm=right"], "/r/right", "/r/left"),
        # Of the only prim that has the set, which may be outside of the robot.
        (["height=high"], ["/stand:height=high"], "/stand/high", "/r/left"),
    ],
)
def test_variants_are_selected(
    usd: Path, texts: list[str], selected: list[str], present: str, absent: str
) -> None:
    opened = open_stage(usd, choices(*texts))

    assert opened.variants == choices(*selected)
    assert present in prims(opened.stage)
    assert absent not in prims(opened.stage)


def test_layer_over_the_usd_composes_to_the_selected_variants(usd: Path, tmp_path: Path) -> None:
    """With the metadata of the root layer; the asset stays as it is."""
    before = usd.read_bytes()
    chosen = choices("size=big", "arm=right", "/r/tool:look=red")
    opened = open_stage(usd, chosen)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    layer = folder / "selection.usda"

    layer.write_text(selecting_layer(str(usd), opened.variants))

    stage = Usd.Stage.Open(str(layer))
    assert prims(stage) == prims(opened.stage)
    assert prims(stage) >= {"/r/right", "/r/tool/red"}
    assert stage.GetDefaultPrim().GetPath() == "/r"
    assert stage.GetMetadata("metersPerUnit") == 1
    assert usd.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "size=huge",
            ("variant set 'size' of /r has no variant 'huge'; its variants are 'big', 'small'"),
        ),
        (
            "sise=big",
            (
                "the USD has no variant set 'sise'; there are /r:size (big, small), "
                "/r/tool:look (red), /stand:height (high, low), /stand:look (red)"
            ),
        ),
        (
            "/r/tool:size=big",
            "prim /r/tool has no variant set 'size'; there are /r:size (big, small), ",
        ),
        (
            "/q:size=big",
            "the USD has no prim /q, hence has no variant set 'size'; there are ",
        ),
        (
            "look=red",
            (
                "2 prims have a variant set 'look': /r/tool, /stand; name one of "
                "them, as in --variant /r/tool:look=red"
            ),
        ),
        ("/r//:size=big", "the USD has no prim /r//, hence has no variant set 'size'"),
        ("/r.x:size=big", "the USD has no prim /r.x, hence has no variant set 'size'"),
    ],
)
def test_selection_that_does_not_exist_is_refused(usd: Path, text: str, message: str) -> None:
    with pytest.raises(StageError) as caught:
        open_stage(usd, choices(text))

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "variant-unknown"
    assert diagnostic.message.startswith(message)


@pytest.mark.parametrize(
    ("start", "texts", "message"),
    [
        ("small", ("size=small", "arm=left"), "has no variant set 'arm'"),
        # The set exists when it is selected, but not at the end.
        ("big", ("arm=left", "size=small"), "does not exist with the other variants"),
    ],
)
def test_sets_that_exclude_each_other_are_refused(
    usd: Path, start: str, texts: tuple[str, ...], message: str
) -> None:
    usd.write_text(ROBOT.replace('string size = "small"', f'string size = "{start}"'))

    with pytest.raises(StageError, match=message):
        open_stage(usd, choices(*texts))


def test_optional_set_that_does_not_exist_is_a_note(usd: Path) -> None:
    stage = Usd.Stage.Open(str(usd))

    selected, (note,) = select_variants(stage, choices("sise=big"), optional=True)

    assert selected == ()
    assert note.rule == "variant-absent"
    with pytest.raises(StageError, match="no variant 'huge'"):
        select_variants(stage, choices("size=huge"), optional=True)


def test_variant_in_an_instance_is_refused(tmp_path: Path) -> None:
    (tmp_path / "robot.usda").write_text(ROBOT)
    usd = tmp_path / "two.usda"
    usd.write_text(
        '#usda 1.0\n( defaultPrim = "w" )\ndef Xform "w"\n{\n'
        'def Xform "one" (\n instanceable = true\n references = @./robot.usda@\n)\n'
        "{\n}\n}\n"
    )

    inside = "/w/one/tool:look=red"
    with pytest.raises(StageError, match="which is part of an instance, has no variant"):
        open_stage(usd, choices(inside))
    opened = open_stage(usd, choices("/w/one:size=big"))
    assert opened.variants == choices("/w/one:size=big")


def test_sets_without_selection_are_reported(usd: Path) -> None:
    """Of the robot alone, with the names and the option; a dangling selection too."""
    usd.write_text(ROBOT.replace('string size = "small"', 'string size = "tiny"'))

    found = list(unselected_variant_sets(Usd.Stage.Open(str(usd))))

    assert {each.rule for each in found} == {"variant-unselected"}
    assert [each.message for each in found] == [
        (
            "variant set 'size' of /r selects 'tiny', which does not exist; its "
            "variants are 'big', 'small': --variant /r:size=NAME selects one"
        ),
        (
            "variant set 'look' of /r/tool has no selection; its variants are 'red': "
            "--variant /r/tool:look=NAME selects one"
        ),
    ]


def test_combinations_include_the_sets_inside_variants(usd: Path) -> None:
    found = variant_combinations(Usd.Stage.Open(str(usd)))

    assert [each.choices for each in found] == [
        choices("/r:size=big", "/r:arm=left", "/r/tool:look=red"),
        choices("/r:size=big", "/r:arm=right", "/r/tool:look=red"),
        choices("/r:size=small", "/r/tool:look=red"),
    ]
    assert {each.omission for each in found} == {None}


def test_combinations_have_the_given_variants_in_common(usd: Path) -> None:
    stage = Usd.Stage.Open(str(usd))

    found = variant_combinations(stage, choices("height=high", "size=small"))

    given = choices("/stand:height=high", "/r:size=small")
    assert found == (Combination((*given, *choices("/r/tool:look=red"))),)


def test_stage_without_variant_sets_has_one_combination() -> None:
    stage = Usd.Stage.CreateInMemory()
    stage.DefinePrim("/r")

    assert variant_combinations(stage) == (Combination(()),)
    assert list(robot_variant_sets(stage)) == []


def test_more_than_64_combinations_are_refused() -> None:
    stage = Usd.Stage.CreateInMemory()
    stage.SetDefaultPrim(stage.DefinePrim("/r"))
    for number in range(7):
        added = stage.GetDefaultPrim().GetVariantSets().AddVariantSet(f"s{number}")
        added.AddVariant("a")
        added.AddVariant("b")

    with pytest.raises(StageError, match="have more than 64 combinations"):
        variant_combinations(stage)

    (given,) = choices("s3=b")
    assert len(variant_combinations(stage, (given,))) == 64


_BODY = """def Xform "a" (
    apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
)
{
    float physics:mass = 2
    point3f physics:centerOfMass = (0.1, 0.2, 0.3)
    float3 physics:diagonalInertia = (3, 4, 5)
    quatf physics:principalAxes = (1, 0, 0, 0)
}
"""


def test_robot_in_a_variant_that_is_not_selected_is_reported_as_such(
    tmp_path: Path,
) -> None:
    usd = tmp_path / "robot.usda"
    variant = f'variantSet "p" = {{\n"on" {{\n{_BODY}}}\n"off" {{\n}}\n}}\n'
    usd.write_text(
        '#usda 1.0\n( defaultPrim = "r" )\ndef Xform "r" ( prepend variantSets = "p" )'
        f"\n{{\n{variant}}}\n"
    )

    with pytest.raises(StageError) as caught:
        read_usd(usd)
    reading = read_usd(usd, variants=choices("p=on"))

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "variant-required"
    assert "its variants are 'off', 'on'" in diagnostic.message
    assert [link.name for link in reading.robot.links] == ["a"]
    assert not any(each.rule.startswith("variant") for each in reading.diagnostics)


_PHYSICS = """#usda 1.0
( defaultPrim = "r" )
def Xform "r" (
    variants = {
        string Colliders = "colliders"
        string Physics = "physics"
        string Tool = "none"
    }
    append variantSets = ["Colliders", "Physics", "Tool"]
) {
    variantSet "Colliders" = {
        "colliders" { over "body" { over "shape" (active = true) {} } }
        "none" { over "body" { over "shape" (active = false) {} } }
    }
    variantSet "Physics" = {
        "none" {}
        "physics" {
            def Xform "body" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
                def Cube "shape" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}
            }
        }
        "broken" {}
    }
    variantSet "Tool" = { "none" {} }
}
""".replace("{ ", "{\n").replace(" }", "\n}")


def test_variants_named_none_state_what_they_omit(tmp_path: Path) -> None:
    """Only by this name; not if they were given, or change nothing."""
    file = tmp_path / "r.usda"
    file.write_text(_PHYSICS)

    found = variant_combinations(Usd.Stage.Open(str(file)))
    given = variant_combinations(Usd.Stage.Open(str(file)), choices("Physics=none"))

    physics, colliders = choices("/r:Physics=none", "/r:Colliders=none")
    omissions = {
        tuple(choice.variant for choice in each.choices[:2]): each.omission for each in found
    }
    assert omissions == {
        ("colliders", "broken"): None,
        ("colliders", "none"): (physics, "physics"),
        ("colliders", "physics"): None,
        ("none", "broken"): None,
        ("none", "none"): (physics, "physics"),
        ("none", "physics"): (colliders, "colliders"),
    }
    assert {each.omission for each in given} == {None}
