"""Colour, opacity and texture of visuals, by surface area.

Appearances are paired by area, so that it does not matter into which prims or subsets
a surface is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from urdf_usd.conformance.checks.shape_pairs import (
    LinkShapes,
    matched_shapes,
    named,
    shapes_by_link,
    worst_of,
)
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Appearance, Role, Vec3
from urdf_usd.conformance.tolerance.bounds import ARITHMETIC, RELATIVE
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    Description,
    Difference,
    ToleranceModel,
)

# Parts of the surface below this share are not compared.
_SLIVER = 1e-4
# Components in [0, 1] are stored in float32.
_BOUND = RELATIVE + ARITHMETIC
_NONE = "no appearance of a visual is stated on both sides"


@dataclass(frozen=True, slots=True)
class _Pair:
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
    return Compared(tuple(differences), note=None if differences else _NONE)


def _pairs(part: LinkShapes) -> Iterator[_Pair]:
    """Pair the appearances of both sides by area, the most similar first."""
    ours, theirs = (
        [each for shape in side for each in shape.appearances]
        for side in (part.ours, part.theirs)
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
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def color(part: LinkShapes, pair: _Pair, model: ToleranceModel) -> Difference | None:
    """Compare colours, or the factors of textures."""
    ours, theirs = pair.ours, pair.theirs
    if ours.color is None or (ours.texture is None) != (theirs.texture is None):
        return None
    return _difference(
        part,
        pair,
        _apart(ours.color, theirs.color),
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
            describe=lambda: Description(
                f"link {part.link}: {ours.problem}; not compared",
                expected=ours.problem,
                actual=_image(theirs),
            ),
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


def _difference(  # noqa: PLR0913, PLR0917  two values, and what is allowed
    part: LinkShapes,
    pair: _Pair,
    amount: float,
    allowed: tuple[float, float],
    text: Callable[[Appearance], str],
    what: str,
) -> Difference:
    def describe() -> Description:
        ours, theirs = text(pair.ours), text(pair.theirs)
        where = "" if pair.share > 1 - _SLIVER else f" on {100 * pair.share:.2g}% of it"
        message = (
            f"link {part.link}: {what} of {named(part.ours)} is {theirs}, "
            f"not {ours}{where}"
        )
        return Description(message, ours, theirs)

    return Difference(
        item=part.link,
        subject=f"link {part.link}",
        amount=amount,
        bound=allowed[0],
        tolerance=allowed[1],
        describe=describe,
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
