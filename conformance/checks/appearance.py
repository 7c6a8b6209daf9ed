"""Colour, opacity and texture of visuals, by surface area.

Appearances are paired by area, so that it does not matter into which prims or subsets
a surface is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct, structs

from urdf_usd.conformance.checks.check import Check, equality
from urdf_usd.conformance.checks.shape_pairs import (
    LinkShapes,
    matched_shapes,
    named,
    shapes_by_link,
    worst_of,
)
from urdf_usd.conformance.checks.shapes import shape_checks
from urdf_usd.conformance.checks.unexpected_settings import unexpected_check
from urdf_usd.conformance.observation.robot import Observation, Quantity, SettingKind
from urdf_usd.conformance.observation.shapes import (
    DOUBLE_SIDED,
    Appearance,
    Mapping,
    Role,
    Shading,
    ShapeObservation,
    Vec3,
)
from urdf_usd.conformance.tolerance.bounds import ARITHMETIC, RELATIVE, largest
from urdf_usd.conformance.tolerance.comparison import Compared, Comparison, ToleranceModel
from urdf_usd.reports.records.record import Difference

# Parts of the surface below this share are not compared.
_SLIVER = 1e-4
# Components in [0, 1] are stored in float32.
_BOUND = RELATIVE + ARITHMETIC
# Other inputs of surfaces are lost or invented if they differ by more than this.
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
_NO_MESH = "no link has a visual mesh whose normals both sides state"
_NO_IMAGE = "no texture coordinates are stated on both sides"
_NONE = "no appearance of a visual is stated on both sides"


class _Pair(Struct, frozen=True):
    """Appearances of the same part of a surface on both sides.

    Attributes:
        share: Part of the compared surface, in [0, 1].
    """

    ours: Appearance
    theirs: Appearance
    share: float


def compare_visuals(
    measure: Callable[[LinkShapes, _Pair, ToleranceModel], Difference | None],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
    note: str = _NONE,
) -> Comparison:
    """Compare visuals by one measure; one difference per link, its worst one."""
    differences = []
    for shapes in shapes_by_link(expected, actual, Role.VISUAL, model):
        of_link = [
            difference
            for part in matched_shapes(shapes)
            for pair in _pairs(part)
            if (difference := measure(part, pair, model))
        ]
        if of_link:
            differences.append(worst_of(of_link))
    return Compared(tuple(differences), note=None if differences else note)


def _pairs(part: LinkShapes) -> Iterator[_Pair]:
    """Pair the appearances of both sides by area, the most similar first."""
    ours, theirs = (
        [each for shape in side for each in shape.appearances] for side in (part.ours, part.theirs)
    )
    if not all(shape.appearances for shape in (*part.ours, *part.theirs)):
        return
    total = math.fsum(each.area for each in ours) or 1.0
    free = [each.area for each in ours], [each.area for each in theirs]
    order = sorted(
        (_unlike(here, there), i, j)
        for i, here in enumerate(ours)
        for j, there in enumerate(theirs)
    )
    for _, i, j in order:
        shared = min(free[0][i], free[1][j])
        if shared > _SLIVER * total:
            yield _Pair(ours[i], theirs[j], shared / total)
        free[0][i] -= shared
        free[1][j] -= shared


def _unlike(ours: Appearance, theirs: Appearance) -> float:
    return (
        2.0 * (ours.texture != theirs.texture)
        + (ours.mask != theirs.mask)
        + min(_apart(ours.color, theirs.color), 1.0)
        # Absent colours are paired with each other first.
        + 0.5 * (ours.color is None and theirs.color is not None)
        + abs((ours.opacity or 1.0) - (theirs.opacity or 1.0))
    )


def _apart(ours: Vec3 | None, theirs: Vec3 | None) -> float:
    """Return the largest difference of a component.

    It is zero if the first side states no colour, and inf if only the second does not.
    """
    if ours is None:
        return 0.0
    if theirs is None:
        return math.inf
    return largest(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def color(part: LinkShapes, pair: _Pair, model: ToleranceModel) -> Difference | None:
    """Compare colours, or the factors of textures."""
    ours, theirs = pair.ours, pair.theirs
    if (ours.texture is None) != (theirs.texture is None):
        return None
    if ours.color is None and (
        theirs.color is None
        or ours.problem
        or ours.unread
        # Viewers show a surface without material in grey.
        or max(theirs.color) - min(theirs.color) <= model.tolerance.color
    ):
        return None
    return _difference(
        part,
        pair,
        math.inf if ours.color is None else _apart(ours.color, theirs.color),
        (_BOUND, model.tolerance.color),
        lambda appearance: _rgb(appearance.color),
        "factor of the texture" if ours.texture else "colour",
    )


def opacity(part: LinkShapes, pair: _Pair, model: ToleranceModel) -> Difference | None:
    """Compare opacities."""
    ours, theirs = pair.ours, pair.theirs
    if ours.opacity is None or theirs.opacity is None:
        return None
    amount = abs(ours.opacity - theirs.opacity)
    if ours.mask != theirs.mask and not ours.problem:
        amount = math.inf
    return _difference(
        part,
        pair,
        amount,
        (_BOUND, model.tolerance.color),
        _opaque,
        "opacity",
    )


def texture(part: LinkShapes, pair: _Pair, model: ToleranceModel) -> Difference | None:
    """Compare the content of textures."""
    del model
    ours, theirs = pair.ours, pair.theirs
    if ours.problem:
        # The USD cannot have this texture, so it does not fail.
        return Difference(
            item=part.link,
            subject=f"link {part.link}",
            amount=math.nan,
            message=f"link {part.link}: {ours.problem}; not compared",
            expected=ours.problem,
            actual=_image(theirs),
            unknown=True,
        )
    return _difference(
        part,
        pair,
        0.0 if ours.texture == theirs.texture else math.inf,
        (0.0, 0.0),
        _image,
        "texture",
    )


def properties(part: LinkShapes, pair: _Pair, model: ToleranceModel) -> Difference | None:
    """Compare the other inputs of surfaces and of their textures, and their places."""
    del model
    if "*" in pair.ours.unread:
        return None
    wrong = next(_differing_properties(pair), None) or _misplaced(part, pair)
    if not wrong:
        return equality(f"link {part.link}", True, f"link {part.link}: no other input differs")
    name, expected, actual = wrong
    message = f"link {part.link}: {name} of {named(part.ours)} is {actual}, not {expected}"
    return equality(f"link {part.link}", False, message, expected, actual)


def _differing_properties(pair: _Pair) -> Iterator[tuple[str, str, str]]:
    """Yield names of inputs whose values differ, and both values."""
    ours, theirs = (dict(side.properties) for side in (pair.ours, pair.theirs))
    for name in sorted({*ours, *theirs} - pair.ours.unread):
        if f"{name.partition('.')[0]}." in pair.ours.unread:
            continue
        if name == DOUBLE_SIDED and name not in ours:
            # A file without it leaves it to the renderer.
            continue
        fallback = _FALLBACKS.get(name)
        expected, found = ours.get(name, fallback), theirs.get(name, fallback)
        if not _same_value(expected, found):
            yield name, _property(expected), _property(found)


def _misplaced(part: LinkShapes, pair: _Pair) -> tuple[str, str, str] | None:
    """Compare the places of parts of one area on two surfaces."""
    ours, theirs = pair.ours, pair.theirs
    single = len(part.ours) == 1 == len(part.theirs)
    if (
        not single
        or not ours.center
        or not theirs.center
        or not math.isclose(ours.area, theirs.area, rel_tol=_MOVED)
        or not math.isclose(pair.share * _whole(part), ours.area, rel_tol=_MOVED)
    ):
        return None
    if math.dist(ours.center, theirs.center) <= _SHIFTED * math.sqrt(_whole(part)):
        return None
    expected, actual = map(_place, (ours.center, theirs.center))
    return "the centre of a part with its material", expected, actual


def _whole(part: LinkShapes) -> float:
    return math.fsum(each.area for shape in part.ours for each in shape.appearances)


def _place(center: Vec3) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in center) + ") m"


def _same_value(
    expected: tuple[float, ...] | str | None, found: tuple[float, ...] | str | None
) -> bool:
    if isinstance(expected, tuple) and isinstance(found, tuple):
        pairs = zip(expected, found, strict=False)
        return len(expected) == len(found) and all(
            abs(one - other) <= _INPUT for one, other in pairs
        )
    return expected == found


def _property(value: tuple[float, ...] | str | None) -> str:
    if isinstance(value, tuple):
        return ", ".join(f"{number:.4g}" for number in value)
    return "the fallback" if value is None else value


def mapping(part: LinkShapes, pair: _Pair, model: ToleranceModel) -> Difference | None:
    """Compare texture coordinates, by their means and products with positions."""
    del model
    ours, theirs = pair.ours, pair.theirs
    if (
        ours.mapping is None
        or "mapping" in ours.unread
        or ours.texture is None
        or ours.texture != theirs.texture
        or not math.isclose(ours.area, theirs.area, rel_tol=_MOVED)
    ):
        return None
    there = theirs.mapping
    amount = math.inf if there is None else _unlike_mappings(ours, ours.mapping, there)
    how = "are missing" if there is None else f"differ: {_mapped(theirs, there)}"
    return Difference(
        item=part.link,
        subject=f"link {part.link}",
        amount=amount,
        bound=_COORDINATE,
        tolerance=_MOVED,
        message=f"link {part.link}: texture coordinates of {named(part.ours)} {how}",
        expected=_mapped(ours, ours.mapping),
        actual=_mapped(theirs, there),
    )


def _unlike_mappings(part: Appearance, ours: Mapping, theirs: Mapping) -> float:
    """Return the largest difference of the measures of two mappings.

    Means, second moments, products with positions from the centre relative to the size
    of the part, and orientation; relative to the largest coordinates above one.
    """
    one, other = (_measures(part.area, side, ours) for side in (ours, theirs))
    scale = max(1.0, math.sqrt(abs(ours.moments[2]) / part.area or 1.0))
    scale = max(scale, math.sqrt(abs(ours.moments[3]) / part.area or 1.0))
    return largest(abs(a - b) / scale for a, b in zip(one, other, strict=True))


def _measures(area: float, side: Mapping, reference: Mapping) -> list[float]:
    means = [value / area for value in side.moments]
    centre = [value / area for value in side.center]
    size = math.sqrt(area)
    products = [
        (means[4 + 3 * axis + place] - means[axis] * centre[place]) / size
        for axis in range(2)
        for place in range(3)
    ]
    spread = [math.sqrt(max(value, 0.0)) for value in means[2:4]]
    turned = side.oriented / reference.unsigned if reference.unsigned else 0.0
    return [*means[:2], *spread, *products, turned]


def _mapped(part: Appearance, side: Mapping | None) -> str:
    if side is None:
        return "none"
    u, v = (value / part.area for value in side.moments[:2])
    spread = [math.sqrt(max(value / part.area, 0.0)) for value in side.moments[2:4]]
    way = "" if side.oriented >= 0 else ", mirrored"
    return f"mean ({u:.4g}, {v:.4g}), size ({spread[0]:.4g}, {spread[1]:.4g}){way}"


def normals(expected: Observation, actual: Observation, model: ToleranceModel) -> Comparison:
    """Compare the normals of visual meshes with those of the mesh files.

    If the file has none, faces may be flat or smooth, with normals that point outwards.
    If those of the file point against its faces, which SimReady (VG.029) and the
    validator of OpenUSD refuse, faces may be flat; that is not exact.
    """
    differences = []
    for shapes in shapes_by_link(expected, actual, Role.VISUAL, model):
        of_link = [difference for part in matched_shapes(shapes) if (difference := _shaded(part))]
        if of_link:
            differences.append(worst_of(of_link))
    return Compared(tuple(differences), note=None if differences else _NO_MESH)


def _shaded(part: LinkShapes) -> Difference | None:
    theirs = _combined(part.theirs)
    if theirs is None:
        return None
    if theirs.problem:
        return _misshaded(part, math.inf, theirs.problem, "usable normals")
    ours = _combined(part.ours)
    text = f"mean cosine {theirs.facing:.7g} to the faces"
    if ours is None or not ours.stated:
        inwards = not theirs.facing >= _SMOOTHED or not theirs.against <= _INWARDS
        wrong = theirs.stated and inwards
        expected = "flat, or smooth and outwards"
        return _misshaded(part, math.inf if wrong else 0.0, text, expected)
    if ours.facing < 0 and theirs.stated and theirs.facing > 1 - _NORMALS:
        flat = _misshaded(part, 0.0, f"{text}, flat", f"{ours.facing:.4g}, inwards")
        return structs.replace(flat, estimated=True)
    if not theirs.stated:
        text = "missing, so that faces are flat"
    pairs = (
        (ours.facing, theirs.facing),
        *zip(ours.mean, theirs.mean, strict=True),
    )
    amount, *others = (abs(one - other) for one, other in pairs)
    turned = largest(others)
    expected = f"mean cosine {ours.facing:.7g}"
    if theirs.stated and turned > amount:
        text, expected = (f"mean {_vector(side.mean)}" for side in (theirs, ours))
    return _misshaded(part, largest((amount, turned)), text, expected)


def _vector(vector: Vec3) -> str:
    return "(" + ", ".join(f"{value:.6f}" for value in vector) + ")"


def _combined(shapes: tuple[ShapeObservation, ...]) -> Shading | None:
    """Combine the normals of meshes; None if they are unknown, or there is no mesh."""
    meshes = [(s.shading, s.surface.area) for s in shapes if s.shading and s.surface]
    total = math.fsum(area for _, area in meshes)
    if len(meshes) < len(shapes) or not total:
        return None

    def mean(value: Callable[[Shading], float]) -> float:
        return math.fsum(area * value(one) for one, area in meshes) / total

    return Shading(
        stated=any(one.stated for one, _ in meshes),
        facing=mean(lambda one: one.facing),
        against=mean(lambda one: one.against),
        mean=(
            mean(lambda one: one.mean[0]),
            mean(lambda one: one.mean[1]),
            mean(lambda one: one.mean[2]),
        ),
        problem=next((one.problem for one, _ in meshes if one.problem), None),
    )


def _misshaded(part: LinkShapes, amount: float, text: str, expected: str) -> Difference:
    return Difference(
        item=part.link,
        subject=f"link {part.link}",
        amount=amount,
        bound=_COORDINATE,
        tolerance=_NORMALS,
        message=f"link {part.link}: normals of {named(part.ours)}: {text}, not {expected}",
        expected=expected,
        actual=text,
    )


def _difference(
    part: LinkShapes,
    pair: _Pair,
    amount: float,
    allowed: tuple[float, float],
    text: Callable[[Appearance], str],
    what: str,
) -> Difference:
    ours, theirs = text(pair.ours), text(pair.theirs)
    where = "" if pair.share > 1 - _SLIVER else f" on {100 * pair.share:.2g}% of it"
    return Difference(
        item=part.link,
        subject=f"link {part.link}",
        amount=amount,
        bound=allowed[0],
        tolerance=allowed[1],
        message=f"link {part.link}: {what} of {named(part.ours)} is {theirs}, not {ours}{where}",
        expected=ours,
        actual=theirs,
    )


def _rgb(color: Vec3 | None) -> str:
    if color is None:
        return "not stated"
    return "(" + ", ".join(f"{value:.4g}" for value in color) + ") linear"


def _opaque(appearance: Appearance) -> str:
    if appearance.mask is None:
        return f"{appearance.opacity:.4g}"
    return f"{appearance.opacity:.4g} times that of an image ({appearance.mask[:8]})"


def _image(appearance: Appearance) -> str:
    if appearance.texture is None:
        return "none"
    return f"{appearance.image} ({appearance.texture[:8]})"


VISUAL_CHECKS = (
    *shape_checks(Role.VISUAL),
    Check(
        "visual.colour",
        "colour of visuals",
        "1",
        Quantity.VISUAL,
        partial(compare_visuals, color),
        "Largest difference of a component of linear colours, or of the factor of a texture. "
        "Materials of mesh files override the URDF's; parts of a surface are paired by area.",
    ),
    Check(
        "visual.opacity",
        "opacity of visuals",
        "1",
        Quantity.VISUAL,
        partial(compare_visuals, opacity),
        "Opacity of every part of a surface, or its opacity texture.",
    ),
    Check(
        "visual.texture",
        "textures of visuals",
        "",
        Quantity.VISUAL,
        partial(compare_visuals, texture),
        "The colour texture has the same pixels; a JPEG the same bytes. One that is missing or "
        "damaged is reported, but does not fail the USD.",
    ),
    Check(
        "visual.normals",
        "normals of visuals",
        "1",
        Quantity.VISUAL,
        normals,
        "Normals of meshes are those of the mesh file, by their mean and their mean cosine to the"
        " faces over the surface. If the file has none, faces are flat, or smooth with normals "
        "that point outwards. If those of the file point against its faces, flat faces are close.",
        usd_alone=True,
    ),
    Check(
        "visual.mapping",
        "texture coordinates of visuals",
        "1",
        Quantity.VISUAL,
        partial(compare_visuals, mapping, note=_NO_IMAGE),
        "Texture coordinates, as the image receives them, are those of the mesh file: means, "
        "second moments, products with positions, and orientation, by area.",
        usd_alone=True,
    ),
    Check(
        "visual.material",
        "other properties of materials",
        "",
        Quantity.VISUAL,
        partial(compare_visuals, properties),
        "Emission, metalness, roughness and every other input of a surface are those of the mesh "
        "file, or the fallback for a material of the URDF, which defines colour and texture "
        "alone. Images are read in their colour space, without bias, and repeat. Bindings for "
        "other purposes, displayed colours and outputs for other renderers show the same.",
        usd_alone=True,
    ),
    unexpected_check(
        "visual.geometry",
        "other properties of visuals",
        SettingKind.GEOMETRY,
        "The extent of every shape is that of its points or size; a hint of extents covers the "
        "shapes that are shown, and is not more than a diagonal larger; primitives are "
        "right-handed; a mesh has no holes, and no face in two material subsets; and no other "
        "property of UsdGeom has an effect.",
    ),
    unexpected_check(
        "visual.subdivision",
        "subdivision of visuals",
        SettingKind.SUBDIVISION,
        "No mesh is subdivided, which would round off its edges; without an authored scheme, USD "
        "assumes Catmull-Clark.",
    ),
)
