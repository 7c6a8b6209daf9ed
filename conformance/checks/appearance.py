"""Colour, opacity and texture of visuals, by surface area.

Appearances are paired by area, so that it does not matter into which prims or subsets
a surface is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from urdf_usd.conformance.checks import check
from urdf_usd.conformance.checks.shapes import (
    LinkShapes,
    matched_shapes,
    shapes_by_link,
    worst_of,
)
from urdf_usd.conformance.observation import shapes as observed
from urdf_usd.conformance.observation.robot import Quantity, SettingKind
from urdf_usd.conformance.tolerance import ARITHMETIC, RELATIVE, largest
from urdf_usd.reports.records.record import Difference, Value
from urdf_usd.reports.text import value_text

# Parts of the surface below this share are not compared.
_SLIVER = 1e-4
# Components in [0, 1] are stored in float32.
_BOUND = RELATIVE + ARITHMETIC
# Other inputs of surfaces are lost or defaulted if they differ by more than this.
_INPUT = 1e-3
# Values of inputs that are stated on one side only.
_FALLBACKS: dict[str, tuple[float, ...]] = {
    "emissiveColor": (0.0, 0.0, 0.0),
    "ior": (1.5,),
    "metallic": (0.0,),
    "opacityThreshold": (0.0,),
    "roughness": (0.5,),
}
# Rounding of texture coordinates in float32, relative, times what sums of them lose.
_COORDINATE = 64 * RELATIVE + ARITHMETIC
# Largest difference of texture coordinates that is not visible: a pixel in a thousand.
_MOVED = 1e-3
# Largest distance of the centres of a part, relative to the size of the surface.
_SHIFTED = 5e-3
# Largest difference of the means of normals: a mean cosine of an angle of 0.8 degrees.
_NORMALS = 1e-4
# Smallest mean cosine, and largest part of the surface on which normals point inwards,
# of normals that a converter computed.
_SMOOTHED = 0.5
_INWARDS = 0.05


class _Pair(Struct, frozen=True):
    """Appearances of the same part of a surface on both sides."""

    expected: observed.Appearance
    actual: observed.Appearance
    share: float  # part of the compared surface, in [0, 1]


_Measure: TypeAlias = Callable[[LinkShapes, _Pair, check.Sides], Difference | None]


def _of_pairs(
    id: str, title: str, unit: str = "", *, usd_alone: bool = False, reads: str = ""
) -> Callable[[_Measure], _Measure]:
    """Define a check that compares the appearances of visuals by one measure."""

    def define(measure: _Measure) -> _Measure:
        clause = " ".join((measure.__doc__ or "").split())

        @check.check(
            id, title, Quantity.VISUAL, unit, clause=clause, usd_alone=usd_alone, reads=reads
        )
        def compare(sides: check.Sides) -> check.Differences:
            return _worst_by_link(
                lambda part: (measure(part, pair, sides) for pair in _pairs(part)), sides
            )

        return measure

    return define


def _worst_by_link(
    compare: Callable[[LinkShapes], Iterable[Difference | None]], sides: check.Sides
) -> check.Differences:
    """Compare the visuals of each link; one difference per link, its worst one."""
    for shapes in shapes_by_link(sides, observed.Role.VISUAL):
        found = (one for part in matched_shapes(shapes) for one in compare(part))
        if of_link := [one for one in found if one is not None]:
            yield worst_of(of_link)


def _pairs(part: LinkShapes) -> Iterator[_Pair]:
    """Pair the appearances of both sides by area, the most similar first."""
    both = part.expected, part.actual
    if not all(shape.appearances for side in both for shape in side):
        return
    sides = [[one for shape in side for one in shape.appearances] for side in both]
    total = math.fsum(one.area for one in sides[0]) or 1.0
    free = [[one.area for one in side] for side in sides]
    order = sorted(
        (_unlike(one, two), i, j)
        for i, one in enumerate(sides[0])
        for j, two in enumerate(sides[1])
    )
    for _, i, j in order:
        shared = min(free[0][i], free[1][j])
        if shared > _SLIVER * total:
            yield _Pair(sides[0][i], sides[1][j], shared / total)
        free[0][i] -= shared
        free[1][j] -= shared


def _unlike(expected: observed.Appearance, actual: observed.Appearance) -> float:
    # Absent colours are paired with each other first.
    color = 0.5 if expected.color is None and actual.color is not None else 0.0
    if expected.color is not None:
        color = min(_color_difference(expected, actual), 1.0)
    opacity = abs((expected.opacity or 1.0) - (actual.opacity or 1.0))
    files = 2.0 * (expected.texture != actual.texture) + (expected.mask != actual.mask)
    return files + color + opacity


def _color_difference(expected: observed.Appearance, actual: observed.Appearance) -> float:
    """Return the largest difference of a component; inf if a colour is absent."""
    if expected.color is None or actual.color is None:
        return math.inf
    return largest(abs(a - b) for a, b in zip(expected.color, actual.color, strict=True))


def _difference(
    part: LinkShapes,
    text: str,
    amount: float,
    values: Sequence[Value],
    bound: float = 0.0,
    tolerance: float = 0.0,
    unit: str = "",
    **fields: Any,  # noqa: ANN401  of a difference
) -> Difference:
    amounts = amount, bound, tolerance
    return check.difference(f"link {part.link}", text, values, unit, amounts, **fields)


def _of_part(part: LinkShapes, pair: _Pair, what: str, values: Sequence[Value], unit: str) -> str:
    where = "" if pair.share > 1 - _SLIVER else f" on {100 * pair.share:.2g}% of it"
    return check.is_not(f"{what} of {part.name}", values, unit, where)


@_of_pairs(
    "visual.colour",
    "colour of visuals",
    "1",
    reads="familyName indices info:id info:implementationSource outputs:surface "
    "primvars:displayColor",
)
def _color(part: LinkShapes, pair: _Pair, sides: check.Sides) -> Difference | None:
    """Largest difference of a component of linear colours, or of the factor of a texture."""
    expected, actual = pair.expected, pair.actual
    tolerance = sides.tolerance.color
    if (expected.texture is None) != (actual.texture is None):
        return None
    if expected.color is None and (
        actual.color is None
        or expected.problem
        or expected.unread
        # Viewers show a surface without material in grey.
        or max(actual.color) - min(actual.color) <= tolerance
    ):
        return None
    amount = _color_difference(expected, actual)
    values = [color or "not stated" for color in (expected.color, actual.color)]
    what = "factor of the texture" if expected.texture else "colour"
    text = _of_part(part, pair, what, values, "linear")
    return _difference(part, text, amount, values, _BOUND, tolerance, unit="linear")


@_of_pairs("visual.opacity", "opacity of visuals", "1", reads="primvars:displayOpacity")
def _opacity(part: LinkShapes, pair: _Pair, sides: check.Sides) -> Difference | None:
    """Opacity of every part of a surface, or its opacity texture."""
    expected, actual = pair.expected, pair.actual
    if expected.opacity is None or actual.opacity is None:
        return None
    amount = abs(expected.opacity - actual.opacity)
    if expected.mask != actual.mask and not expected.problem:
        amount = math.inf
    values = [
        opacity if mask is None else f"{opacity:.4g} times that of an image ({mask[:8]})"
        for opacity, mask in ((expected.opacity, expected.mask), (actual.opacity, actual.mask))
    ]
    text = _of_part(part, pair, "opacity", values, "")
    return _difference(part, text, amount, values, _BOUND, sides.tolerance.color)


@_of_pairs("visual.texture", "textures of visuals")
def _texture(part: LinkShapes, pair: _Pair, _: check.Sides) -> Difference | None:
    """The colour texture has the same pixels; a JPEG the same bytes."""
    expected, actual = pair.expected, pair.actual
    if "*" in expected.unread:
        return None
    values = [
        "none" if side.texture is None else f"{side.image} ({side.texture[:8]})"
        for side in (expected, actual)
    ]
    if expected.problem:
        # The USD cannot have this texture, so it does not fail.
        values, text = [expected.problem, values[1]], f"{expected.problem}; not compared"
        return _difference(part, text, math.nan, values, unknown=True)
    amount = 0.0 if expected.texture == actual.texture else math.inf
    return _difference(part, _of_part(part, pair, "texture", values, ""), amount, values)


@check.check(
    "visual.normals", "normals of visuals", Quantity.VISUAL, "1", usd_alone=True, reads="normals"
)
def _normals(sides: check.Sides) -> check.Differences:
    """Normals of meshes are those of the mesh file; without, faces are flat or smooth outwards."""
    # SimReady (VG.029) and the validator of OpenUSD refuse normals against the faces.
    return _worst_by_link(lambda part: [_shading(part)], sides)


def _shading(part: LinkShapes) -> Difference | None:
    expected, actual = _combined(part.expected), _combined(part.actual)
    if actual is None:
        return None

    def made(amount: float, text: str, other: str, *values: Value, **fields: Any) -> Difference:  # noqa: ANN401
        text = f"normals of {part.name}: {text}, not {other}"
        return _difference(part, text, amount, values, _COORDINATE, _NORMALS, **fields)

    if actual.problem:
        return made(math.inf, actual.problem, "usable normals", "usable", actual.problem)
    text = f"mean cosine {actual.facing:.7g} to the faces"
    if expected is None or not expected.stated:
        inwards = not actual.facing >= _SMOOTHED or not actual.against <= _INWARDS
        amount = math.inf if actual.stated and inwards else 0.0
        either = "flat, or smooth and outwards"
        return made(amount, text, either, either, actual.facing)
    facing = expected.facing, actual.facing
    if expected.facing < 0 and actual.stated and actual.facing > 1 - _NORMALS:
        inwards_text = f"{expected.facing:.4g}, inwards"
        return made(0.0, f"{text}, flat", inwards_text, *facing, estimated=True)
    apart = abs(expected.facing - actual.facing)
    turned = largest(abs(a - b) for a, b in zip(expected.mean, actual.mean, strict=True))
    amount = largest((apart, turned))
    if actual.stated and turned > apart:
        means = [f"mean {value_text(side.mean)}" for side in (expected, actual)]
        return made(amount, means[1], means[0], expected.mean, actual.mean)
    other = f"mean cosine {expected.facing:.7g}"
    if actual.stated:
        return made(amount, text, other, *facing)
    return made(amount, "missing, so that faces are flat", other, expected.facing, "missing")


def _combined(shapes: tuple[observed.ShapeObservation, ...]) -> observed.Shading | None:
    """Combine the normals of meshes; None if they are unknown, or there is no mesh."""
    meshes = [(s.shading, s.surface.area) for s in shapes if s.shading and s.surface]
    total = math.fsum(area for _, area in meshes)
    if len(meshes) < len(shapes) or not total:
        return None

    def mean(value: Callable[[observed.Shading], float]) -> float:
        return math.fsum(area * value(one) for one, area in meshes) / total

    x, y, z = (mean(lambda one, axis=axis: one.mean[axis]) for axis in range(3))  # type: ignore[misc]
    return observed.Shading(
        stated=any(one.stated for one, _ in meshes),
        facing=mean(lambda one: one.facing),
        against=mean(lambda one: one.against),
        mean=(x, y, z),
        problem=next((one.problem for one, _ in meshes if one.problem), None),
    )


@_of_pairs("visual.mapping", "texture coordinates of visuals", "1", usd_alone=True)
def _mapping(part: LinkShapes, pair: _Pair, _: check.Sides) -> Difference | None:
    """Texture coordinates are those of the mesh file: means, sizes, products with positions."""
    expected, actual = pair.expected, pair.actual
    if (
        expected.mapping is None
        or "mapping" in expected.unread
        or expected.texture is None
        or expected.texture != actual.texture
        or not math.isclose(expected.area, actual.area, rel_tol=_MOVED)
    ):
        return None
    area, unsigned = expected.area, expected.mapping.unsigned
    measures = []
    for mapping in filter(None, (expected.mapping, actual.mapping)):
        # Means, sizes, products with positions from the centre relative to the size of the part,
        # and orientation.
        means = [value / area for value in mapping.moments]
        center = [value / area for value in mapping.center]
        products = [
            (means[4 + 3 * axis + place] - means[axis] * center[place]) / math.sqrt(area)
            for axis in range(2)
            for place in range(3)
        ]
        sizes = [math.sqrt(max(value, 0.0)) for value in means[2:4]]
        turned = mapping.oriented / unsigned if unsigned else 0.0
        measures.append([*means[:2], *sizes, *products, turned])
    values: list[Value] = [tuple(one[:4]) for one in measures]
    amount, how = math.inf, "are missing"
    if len(measures) > 1:
        # Relative to the largest coordinates above one.
        scale = max(1.0, *(size or 1.0 for size in measures[0][2:4]))
        amount = largest(abs(a - b) / scale for a, b in zip(*measures, strict=True))
        how = f"differ: mean and size {value_text(values[1])}"
    values += ["none"] * (2 - len(values))
    text = f"texture coordinates of {part.name} {how}"
    return _difference(part, text, amount, values, _COORDINATE, _MOVED)


@_of_pairs(
    "visual.material",
    "other properties of materials",
    usd_alone=True,
    reads="doubleSided outputs:displacement outputs:volume",
)
def _properties(part: LinkShapes, pair: _Pair, _: check.Sides) -> Difference | None:
    """Every other input of a surface is that of the mesh file, or the fallback."""
    subject, expected, actual = f"link {part.link}", pair.expected, pair.actual
    if "*" in expected.unread:
        return None
    stated, found = dict(expected.properties), dict(actual.properties)
    for name in sorted({*stated, *found} - expected.unread):
        # A file without double sides leaves it to the renderer.
        left_open = name == observed.DOUBLE_SIDED and name not in stated
        if left_open or f"{name.partition('.')[0]}." in expected.unread:
            continue
        fallback = _FALLBACKS.get(name)
        one, other = sides = stated.get(name, fallback), found.get(name, fallback)
        same = one == other
        if isinstance(one, tuple) and isinstance(other, tuple):
            near = all(abs(a - b) <= _INPUT for a, b in zip(one, other, strict=False))
            same = len(one) == len(other) and near
        if not same:
            values: list[Value] = [
                side[0] if isinstance(side, tuple) and len(side) == 1 else side or "the fallback"
                for side in sides
            ]
            text = _of_part(part, _Pair(expected, actual, 1.0), name, values, "")
            return _difference(part, text, math.inf, values)
    # The places of parts of one area on two surfaces.
    whole = math.fsum(one.area for shape in part.expected for one in shape.appearances)
    first, second = expected.center, actual.center
    if (
        len(part.expected) == len(part.actual) == 1
        and first
        and second
        and math.isclose(expected.area, actual.area, rel_tol=_MOVED)
        and math.isclose(pair.share * whole, expected.area, rel_tol=_MOVED)
        and math.dist(first, second) > _SHIFTED * math.sqrt(whole)
    ):
        what, places = "the centre of a part with its material", (first, second)
        text = _of_part(part, _Pair(expected, actual, 1.0), what, places, "m")
        return _difference(part, text, math.inf, places, unit="m")
    return check.equality(subject, True, f"{subject}: no other input differs")


check.unexpected(
    SettingKind.GEOMETRY,
    "visual.geometry",
    "other properties of visuals",
    "Extents are those of points, primitives right-handed; no mesh has holes or shared faces.",
    "elementType extent orientation",
)
check.unexpected(
    SettingKind.SUBDIVISION,
    "visual.subdivision",
    "subdivision of visuals",
    "No mesh is subdivided, as USD does by default, which would round off its edges.",
    "subdivisionScheme",
)
