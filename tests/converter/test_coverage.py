"""Every attribute and element of a URDF is converted, kept as custom data, or reported.

The file is read by lxml, with a grammar of URDF that is independent of the converter's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pybullet_data
import pytest
from lxml import etree
from pxr import Sdf, Usd

from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import ConversionError

_BULLET = Path(pybullet_data.getDataPath())
_CORPUS = sorted(
    file.relative_to(_BULLET).as_posix()
    for file in _BULLET.rglob("*.urdf")
    if "random_urdfs" not in file.parts
)
_OURS = Path(__file__).parents[1] / "data/assets/beyond.urdf"

# URDF 1.0 without the library: elements, attributes that are converted, and elements inside.
_LANGUAGE = {
    tag: (names.split(), children.split())
    for tag, names, children in re.findall(
        r"(\w+)\(([^)]*)\):?([^;]*);",
        """
        robot(name): link joint material;
        link(name): inertial visual collision;
        inertial(): origin mass inertia;
        visual(name): origin geometry material;
        collision(name): origin geometry;
        geometry(): box cylinder capsule sphere mesh;
        material(name): color texture;
        joint(name type dont_collapse): origin parent child axis limit dynamics mimic
            safety_controller calibration;
        origin(xyz rpy); mass(value); inertia(ixx ixy ixz iyy iyz izz);
        box(size); cylinder(radius length); capsule(radius length); sphere(radius);
        mesh(filename scale); color(rgba); texture(filename);
        parent(link); child(link); axis(xyz); limit(lower upper effort velocity);
        dynamics(damping friction); mimic(joint multiplier offset);
        safety_controller(k_velocity k_position soft_lower_limit soft_upper_limit);
        calibration(rising falling);
        """,
    )
}
_REPEATED = {"link", "joint", "material", "visual", "collision"}
# Rules that say that an element is left out, and so all that is inside it.
_LEFT_OUT = {
    *("element-repeated", "element-incomplete", "joint-dangling"),
    *("mesh-missing", "mesh-unreadable", "geometry-invalid", "mimic-fixed"),
}


def _last(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]


def _custom_items(element: etree._Element) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and text of everything in an element outside the language."""
    for node in element.iter():
        yield "element", _last(str(node.tag)), ""
        for name, value in node.items():
            yield "attribute", _last(str(name)), str(value)
        text = [node.text, *(child.tail for child in node)]
        message = "\n".join(piece.strip() for piece in text if piece and piece.strip())
        if message:
            yield "text", "", message


def _unused_attributes(joint: etree._Element) -> set[tuple[str, str]]:
    """Return attributes of the language without a meaning for this type of joint."""
    kind = joint.get("type")
    found = set()
    if kind in {"fixed", "floating", "spherical"}:
        found.add(("axis", "xyz"))
    if kind not in {"revolute", "prismatic"}:
        found |= {("limit", "lower"), ("limit", "upper")}
    return found


def _items_beyond(
    element: etree._Element, unused: set[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield attributes and elements in an element that are not part of URDF."""
    names, children = _LANGUAGE[str(element.tag)]
    for name, value in element.items():
        if name not in names or (element.tag, name) in unused:
            yield "attribute", _last(str(name)), str(value)
    seen = set()
    for child in element:
        tag = str(child.tag)
        if tag not in children:
            yield from _custom_items(child)
        elif tag in _REPEATED or tag not in seen:
            yield from _items_beyond(child, _unused_attributes(child) if tag == "joint" else unused)
        seen.add(tag)


def _expected(file: Path) -> Counter[tuple[str, str, str]]:
    parser = etree.XMLParser(recover=True, remove_comments=True, remove_pis=True)
    root = etree.fromstring(file.read_bytes(), parser)
    used = {node.get("name") for node in root.iterfind("link/visual/material")}
    found: Counter[tuple[str, str, str]] = Counter()
    for material in root.findall("material"):
        if material.get("name") not in used:
            found.update(_custom_items(material))
            root.remove(material)
    found.update(_items_beyond(root, set()))
    return found


def _kept(stage: Usd.Stage) -> Counter[tuple[str, str, str]]:
    found: Counter[tuple[str, str, str]] = Counter()
    inside: set[Sdf.Path] = set()
    for prim in stage.Traverse():
        custom = prim.GetParent().GetPath() in inside
        if custom or prim.HasAttribute("urdf:within"):
            inside.add(prim.GetPath())
            found["element", _last(prim.GetDisplayName() or prim.GetName()), ""] += 1
        for attribute in prim.GetAuthoredAttributes():
            if attribute.GetTypeName() != Sdf.ValueTypeNames.String:
                continue
            name = attribute.GetDisplayName() or attribute.GetName()
            value = str(attribute.Get())
            if attribute.GetName() == "urdf:text":
                found["text", "", value] += 1
            else:
                found["attribute", _last(name), value] += 1
    return found


def _lost(file: Path, folder: Path) -> Counter[tuple[str, str, str]]:
    conversion = convert(file, folder)
    lost = _expected(file) - _kept(Usd.Stage.Open(str(conversion.root_layer)))
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    places = {
        diagnostic.location.line
        for diagnostic in conversion.diagnostics
        if diagnostic.rule in _LEFT_OUT and diagnostic.location
    }
    # Data lost with an omitted element is near the location of its diagnostic.
    reported = " ".join(line for place in places for line in lines[max(place - 12, 0) : place + 12])
    return Counter(
        {
            item: count
            for item, count in lost.items()
            if not (item[1] in reported and item[2] in reported)
        }
    )


@pytest.mark.parametrize(
    "file",
    [
        _OURS,
        *(
            _BULLET / name
            for name in (
                "differential/diff_ring.urdf",
                "gripper/wsg50_one_motor_gripper_left_finger.urdf",
                "racecar/racecar.urdf",
                "spherical_joint_limit.urdf",
                "plane_implicit.urdf",
            )
        ),
    ],
    ids=lambda file: file.name,
)
def test_attributes_and_elements_are_converted_or_kept(file: Path, tmp_path: Path) -> None:
    assert _lost(file, tmp_path / "usd") == Counter()


def test_loss_of_custom_data_is_detected(tmp_path: Path) -> None:
    conversion = convert(_OURS, tmp_path / "usd")
    stage = Usd.Stage.Open(str(conversion.root_layer))
    layer = tmp_path / "usd/payload/Extensions.usda"
    stage.MuteLayer(str(layer))

    lost = _expected(_OURS) - _kept(stage)

    assert lost.total() == _expected(_OURS).total() > 60


@pytest.mark.corpus
@pytest.mark.parametrize("name", _CORPUS)
def test_pybullet_robots_lose_no_data(name: str, tmp_path: Path) -> None:
    try:
        lost = _lost(_BULLET / name, tmp_path / "usd")
    except ConversionError:
        assert name == "torus_deform.urdf"
    else:
        assert lost == Counter()
