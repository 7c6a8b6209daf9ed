"""Hypothesis strategy for the text of whole URDF robots, valid or just readable.

Unlike :mod:`tests.converter.strategies`, which draws robots of the converter's model,
this one draws what people write: missing and partial elements, limits in the wrong
order, implausible inertia, every kind of base and of mimic joint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from hypothesis import strategies as st

_MOVING = ("revolute", "continuous", "prismatic", "floating", "planar")
_TYPES = (*_MOVING, "revolute", "revolute", "prismatic", "fixed", "fixed")
_WORLD = "world"
# Names that are legal in URDF, and not as names of prims.
_ODD_NAMES = "base link|1st|a/b|a_b|A_B|a-b|a.b|Geometry|joint|Ω|手|é|x:y|_|9|root|physics|&<>"


@dataclass(frozen=True)
class Units:
    """Scale of a robot."""

    length: float  # [m]
    mass: float  # [kg]
    valid: bool = True  # whether it has no errors that make readers refuse the file


def _element(tag: str, attributes: Mapping[str, str | None], content: str = "") -> str:
    written = "".join(
        f" {name}={quoteattr(value)}" for name, value in attributes.items() if value is not None
    )
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def _vector(values: tuple[float, ...]) -> str:
    return " ".join(map(repr, values))


def _triple(value: st.SearchStrategy[float]) -> st.SearchStrategy[str]:
    return st.tuples(value, value, value).map(_vector)


def _rounded(low: float, high: float) -> st.SearchStrategy[float]:
    """Draw numbers as people write them, and any other."""
    numbers = st.floats(low, high)
    return numbers.map(lambda value: float(f"{value:.3g}")) | numbers


def _sizes(units: Units) -> st.SearchStrategy[float]:
    sizes = _rounded(1e-2, 1.0) | st.sampled_from([1.0, 1e-4, 50.0, 0.0, -0.1])
    return sizes.map(lambda value: value * units.length)


_ANGLES = _rounded(-2 * math.pi, 2 * math.pi) | st.sampled_from(
    [0.0, 1.5708, -1.5707963, math.pi / 2, math.pi, 3.14159]
)


def _axes(units: Units) -> st.SearchStrategy[str]:
    odd = ["0 0 2", "1e-6 0 0", "0.707 0 0.707", "1e-9 0 1"]
    return st.one_of(
        st.sampled_from(["1 0 0", "0 1 0", "0 0 1", "-1 0 0", "0 0 -1", "0 -1 0", "1 1 0"]),
        st.tuples(_rounded(-1, 1), _rounded(-1, 1), _rounded(0.1, 1)).map(_vector),
        st.sampled_from(odd if units.valid else [*odd, "0 0 0"]),
    )


@st.composite
def _origins(draw: st.DrawFn, units: Units) -> str:
    if draw(st.integers(0, 4)) == 0:
        return ""
    lengths = _rounded(-0.8, 0.8).map(lambda value: value * units.length)
    xyz = draw(st.none() | _triple(lengths))
    rpy = draw(st.none() | _triple(_ANGLES))
    return _element("origin", {"xyz": xyz, "rpy": rpy})


@st.composite
def _tensors(draw: st.DrawFn, units: Units) -> dict[str, str | None]:
    """Draw tensors: of bodies, diagonal, zero, and those that no body has."""
    scale = units.mass * units.length**2 / 10
    kinds = ["body"] * 3 + ["diagonal", "zero", "indefinite", "triangle", "huge", "tiny", "plate"]
    kind = draw(st.sampled_from(kinds))
    a, b, c = (value * scale for value in draw(st.tuples(*[_rounded(0.1, 1.0)] * 3)))
    # Second moments about three planes.
    body = b + c, a + c, a + b
    products = (0.0, 0.0, 0.0)
    if kind == "body":
        xy, xz, yz = draw(st.tuples(*[_rounded(-0.3, 0.3)] * 3))
        products = (xy * min(a, b, c), xz * min(a, b, c), yz * min(a, b, c))
    a, b, c = {
        "plate": (a, b, a + b),
        "zero": (0.0, 0.0, 0.0),
        "indefinite": (-a, b, c),
        "triangle": (a, b, 3 * (a + b)),
        "huge": tuple(1e4 * value for value in body),
        "tiny": tuple(1e-6 * value for value in body),
    }.get(kind, body)
    ixy, ixz, iyz = products
    values = {"ixx": a, "ixy": ixy, "ixz": ixz, "iyy": b, "iyz": iyz, "izz": c}
    names = ("ixy", "ixz", "iyz")
    left_out = draw(st.sampled_from([(), (), (), names if units.valid else ("izz",)]))
    return {name: None if name in left_out else repr(value) for name, value in values.items()}


@st.composite
def _inertials(draw: st.DrawFn, units: Units) -> str:
    odd = ["none"] * 3 + ["zero", "massless", "point", "empty", "light"]
    kind = draw(st.sampled_from(["body"] * 12 + odd + ["body" if units.valid else "negative"]))
    if kind == "none":
        return ""
    mass = draw(_rounded(0.05, 3.0)) * units.mass
    mass = {"zero": 0.0, "negative": -mass, "light": 1e-6 * mass}.get(kind, mass)
    parts = [draw(_origins(units))]
    if kind not in {"massless", "empty"}:
        parts.append(_element("mass", {"value": repr(mass)}))
    if kind not in {"point", "empty"}:
        parts.append(_element("inertia", draw(_tensors(units))))
    return _element("inertial", {}, "".join(parts))


@st.composite
def _geometries(draw: st.DrawFn, units: Units) -> str:
    size = _sizes(units)
    tag = draw(st.sampled_from(["box", "sphere", "cylinder", "capsule"]))
    names = {"box": ("size",), "sphere": ("radius",)}.get(tag, ("radius", "length"))
    values = _triple(size) if tag == "box" else size.map(repr)
    return _element("geometry", {}, _element(tag, {name: draw(values) for name in names}))


_COLORS = st.tuples(*[_rounded(0.0, 1.0)] * 4).map(_vector) | st.sampled_from(
    ["0 0 0 0", "0.5 0.5 0.5", "255 0 0 1"]
)


@st.composite
def _materials(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["", "red", "Red", "my paint", "1", "missing"]))
    color = _element("color", {"rgba": draw(_COLORS)})
    return _element("material", {"name": name}, draw(st.sampled_from([color, ""])))


@st.composite
def _shapes(draw: st.DrawFn, tag: str, units: Units) -> str:
    parts = [draw(_origins(units)), draw(_geometries(units))]
    if tag == "visual" and draw(st.booleans()):
        parts.append(draw(_materials()))
    name = draw(st.sampled_from([None, None, "shape", "a b"]))
    return _element(tag, {"name": name}, "".join(parts))


@st.composite
def _links(draw: st.DrawFn, name: str, units: Units) -> str:
    parts = [draw(_inertials(units))]
    for tag in ("visual", "collision"):
        parts += draw(st.lists(_shapes(tag, units), max_size=2))
    return _element("link", {"name": name}, "".join(parts))


@st.composite
def _limits(draw: st.DrawFn, kind: str, units: Units) -> str:
    """Draw limits: complete, partial, closed, reversed, infinite, or none."""
    if kind in {"fixed", "floating", "planar"} and draw(st.integers(0, 9)):
        return ""
    scale = units.length if kind == "prismatic" else 1.0
    low, high = sorted(draw(st.tuples(*[_rounded(-3, 3)] * 2)))
    lower, upper = low * scale, high * scale
    ranges: dict[str, tuple[float | None, float | None]] = {
        "effort": (None, None),
        "closed": (lower, lower),
        "reversed": (upper, lower),
        "lower": (lower, None),
        "upper": (None, upper),
        "zero": (0.0, 0.0),
        "positive": (0.1 * scale, 0.4 * scale),
        "negative": (-0.4 * scale, -0.1 * scale),
        "wide": (-20.0 * scale, 20.0 * scale),
        "huge": (-1e10, 1e10),
        "infinite": (-math.inf, math.inf),
    }
    form = draw(st.sampled_from([*["both"] * 10, "none", *ranges]))
    if form == "none":
        return ""
    least, greatest = ranges.get(form, (lower, upper))
    bounds = _rounded(0.0, 200.0) | st.sampled_from([0.0, -1.0, 1e9, 1e-3])
    maximum = st.one_of(bounds, bounds, st.none())
    values = {"lower": least, "upper": greatest, "effort": draw(maximum), "velocity": draw(maximum)}
    texts = {name: None if value is None else repr(value) for name, value in values.items()}
    return _element("limit", texts)


@st.composite
def _extras(draw: st.DrawFn, others: list[str]) -> str:
    """Draw dynamics, safety controller, calibration, and a mimic of another joint."""
    optional = st.none() | _rounded(0.0, 5.0).map(repr)
    rows = (
        (2, "dynamics", ("damping", "friction")),
        (7, "safety_controller", ("k_velocity", "k_position", "soft_lower_limit")),
        (7, "calibration", ("rising", "falling")),
    )
    parts = [
        _element(tag, {name: draw(optional) for name in names})
        for most, tag, names in rows
        if draw(st.integers(0, most)) == 0
    ]
    if others and draw(st.integers(0, 3)) == 0:
        factor = st.none() | _rounded(-3, 3).map(repr) | st.just("0")
        numbers = {"multiplier": draw(factor), "offset": draw(factor)}
        parts.append(_element("mimic", {"joint": draw(st.sampled_from(others)), **numbers}))
    return "".join(parts)


def _names(count: int) -> st.SearchStrategy[list[str]]:
    plain = st.sampled_from([f"part{index}" for index in range(2 * count)])
    letters = st.characters(codec="utf-8", categories=("L", "N", "P", "S"))
    any_text = st.text(letters, min_size=1, max_size=8)
    name = st.one_of(plain, plain, st.sampled_from(_ODD_NAMES.split("|")), any_text)
    return st.lists(name, min_size=count, max_size=count, unique=True)


@st.composite
def urdf_texts(draw: st.DrawFn, *, most_links: int = 8) -> str:
    """Draw the text of a URDF file that has one tree of links."""
    count = draw(st.integers(1, most_links))
    scales = [Units(1.0, 1.0)] * 4 + [Units(0.01, 1e-3), Units(30.0, 1e5)]
    units = draw(st.sampled_from([*scales, Units(1.0, 1.0, valid=False)]))
    links = [name for name in draw(_names(count)) if name != _WORLD]
    joints = draw(_names(len(links)))
    # ``arms``: all joints of the root are fixed, as of several arms on a table.
    base = draw(st.sampled_from(["plain", "plain", "massless", "world", "undefined", "arms"]))
    parts = []
    if base in {"world", "undefined"}:
        links = [_WORLD, *links]
        joints = [*joints, "to world"] if "to world" not in joints else joints
    for index, name in enumerate(links):
        if index or base in {"plain", "arms"}:
            parts.append(draw(_links(name, units)))
        elif base != "undefined":
            parts.append(_element("link", {"name": name}))
    chain = draw(st.booleans())
    for child in range(1, len(links)):
        parent = child - 1 if chain else draw(st.integers(0, child - 1))
        kind = draw(st.sampled_from(_TYPES))
        if parent == 0 and base in {"undefined", "arms", "world"}:
            kind = draw(st.sampled_from(["fixed", "fixed", kind if base == "world" else "fixed"]))
        used = joints[1 : len(links)]
        others = [name for name in used if name != joints[child]]
        axis = _axes(units).map(lambda xyz: _element("axis", {"xyz": xyz}))
        content = [
            draw(_origins(units)),
            _element("parent", {"link": links[parent]}),
            _element("child", {"link": links[child]}),
            draw(st.just("") | axis),
            draw(_limits(kind, units)),
            draw(_extras(others)),
        ]
        names = {"name": joints[child], "type": kind}
        parts.append(_element("joint", names, "".join(content)))
    parts = draw(st.permutations(parts)) if draw(st.booleans()) else parts
    for name in ("red", "1"):
        color = _element("color", {"rgba": draw(_COLORS)})
        parts = [_element("material", {"name": name}, color), *parts]
    name = draw(st.sampled_from(["robot", "my robot", "7dof", "Ω"]))
    return _element("robot", {"name": name}, "\n".join(parts))
