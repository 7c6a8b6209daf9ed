"""Variant sets of a USD: selection, sets without selection, combinations.

What opening and listing the stages in ``variants.txt`` gives, with each line of options as
selections, is stored there; see :mod:`tests.stored_cases`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd

from tests.stored_cases import OPTIONS, Case, check_outcomes, stored_cases, write_files
from urdf_usd.conformance.export.assets import read_usd
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd import loading

_STORED = Path(__file__).with_name("variants.txt")


def choices(*texts: str) -> tuple[VariantChoice, ...]:
    return tuple(map(VariantChoice.parse, texts))


def _names(found: tuple[VariantChoice, ...]) -> str:
    return " ".join(map(str, found)) or "nothing"


def prims(stage: Usd.Stage) -> list[str]:
    return [str(prim.GetPath()) for prim in stage.Traverse()]


def _outcome(case: Case, folder: Path) -> str:
    usd = write_files(case, folder)
    lines = []
    for texts in case[OPTIONS].split("\n"):
        lines.append(f"select {texts or 'nothing'}")
        given = choices(*texts.split())
        try:
            opened = loading.open_stage(usd, given)
        except StageError as error:
            lines += map(str, error.diagnostics)
            continue
        lines += [f"selected {_names(opened.variants)}", *map(str, opened.diagnostics)]
        lines.append(f"prims {' '.join(prims(opened.stage))}")
        for one in loading.variant_combinations(Usd.Stage.Open(str(usd)), given):
            omission = f" omits {one.omission[1]} by {one.omission[0]}" if one.omission else ""
            lines.append(f"combination {_names(one.choices)}{omission}")
    return "\n".join(lines)


def test_variants_are_selected_and_listed_as_stored(tmp_path: Path) -> None:
    check_outcomes(_STORED, _outcome, tmp_path)


@pytest.fixture
def usd(tmp_path: Path) -> Path:
    return write_files(next(iter(stored_cases(_STORED).values())), tmp_path)


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


def test_layer_over_the_usd_composes_to_the_selected_variants(usd: Path, tmp_path: Path) -> None:
    """With the metadata of the root layer; the asset stays as it is."""
    before = usd.read_bytes()
    opened = loading.open_stage(usd, choices("size=big", "arm=right", "/r/tool:look=red"))
    layer = tmp_path / "elsewhere/selection.usda"
    layer.parent.mkdir()

    layer.write_text(loading.selecting_layer(str(usd), opened.variants))

    stage = Usd.Stage.Open(str(layer))
    assert prims(stage) == prims(opened.stage)
    assert {"/r/right", "/r/tool/red"} <= set(prims(stage))
    assert stage.GetDefaultPrim().GetPath() == "/r"
    assert stage.GetMetadata("metersPerUnit") == 1
    assert usd.read_bytes() == before


def test_optional_set_that_does_not_exist_is_a_note(usd: Path) -> None:
    stage = Usd.Stage.Open(str(usd))

    selected, (note,) = loading.select_variants(stage, choices("sise=big"), optional=True)

    assert selected == ()
    assert note.rule == "variant-absent"
    with pytest.raises(StageError, match="not have the variant size=huge"):
        loading.select_variants(stage, choices("size=huge"), optional=True)


def test_more_than_64_combinations_are_refused() -> None:
    stage = Usd.Stage.CreateInMemory()
    stage.SetDefaultPrim(stage.DefinePrim("/r"))
    assert loading.variant_combinations(stage) == (loading.Combination(()),)
    assert list(loading.robot_variant_sets(stage)) == []
    for number in range(7):
        added = stage.GetDefaultPrim().GetVariantSets().AddVariantSet(f"s{number}")
        added.AddVariant("a")
        added.AddVariant("b")

    with pytest.raises(StageError, match="have more than 64 combinations"):
        loading.variant_combinations(stage)

    assert len(loading.variant_combinations(stage, choices("s3=b"))) == 64


def test_robot_in_a_variant_that_is_not_selected_is_reported_as_such(tmp_path: Path) -> None:
    usd = tmp_path / "robot.usda"
    body = 'def Xform "a" (\napiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]\n)\n{\n'
    body += "float physics:mass = 2\nfloat3 physics:diagonalInertia = (3, 4, 5)\n}\n"
    variant = f'variantSet "p" = {{\n"on" {{\n{body}}}\n"off" {{\n}}\n}}\n'
    head = '#usda 1.0\n( defaultPrim = "r" )\ndef Xform "r" ( prepend variantSets = "p" )'
    usd.write_text(f"{head}\n{{\n{variant}}}\n")

    with pytest.raises(StageError) as caught:
        read_usd(usd)
    reading = read_usd(usd, variants=choices("p=on"))

    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "variant-required"
    assert "(off, on)" in diagnostic.message
    assert [link.name for link in reading.robot.links] == ["a"]
    assert not any(each.rule.startswith("variant") for each in reading.diagnostics)
