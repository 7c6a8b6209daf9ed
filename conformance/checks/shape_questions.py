"""What is asked about shapes, of colliders and of visuals alike."""

from __future__ import annotations

from dataclasses import dataclass

from urdf_usd.conformance.observation.shapes import Role


@dataclass(frozen=True, slots=True)
class ShapeQuestion:
    """One question about the shapes of links.

    Attributes:
        name: Last part of the identifier of the check.
        title: What is compared, for colliders or visuals, which stand for ``{}``.
        unit: As of a check.
        clause: As of a check.
    """

    name: str
    title: str
    unit: str
    clause: str


_OF_ALL = (
    ShapeQuestion(
        "shapes",
        "{} of links",
        "",
        "Every link has as many shapes of each kind. Shapes that are cut, joined or "
        "written as meshes are close if they are the same surface. A mesh that is "
        "named in the URDF and cannot be read is told, and not held against the USD.",
    ),
    ShapeQuestion(
        "support",
        "reach of {}",
        "1",
        "How far shapes reach along 134 directions of the link frame, and where their "
        "surface has its centre, relative to their size: pose, scale and dimensions. "
        "What is made of a mesh by its convex hull reaches as far.",
    ),
    ShapeQuestion(
        "area",
        "surface of {}",
        "1",
        "Area of the surface, relative: a piece that others hide shows here.",
    ),
    ShapeQuestion(
        "volume",
        "volume of {}",
        "1",
        "Signed volume of closed surfaces, relative; of open ones the area along their "
        "normals: a surface that is turned inside out has the opposite.",
    ),
    ShapeQuestion(
        "triangles",
        "triangles of {}",
        "1",
        "Number of triangles of meshes, polygons counted as fans, relative: a mesh "
        "that was thinned out.",
    ),
)

_OF_VISUALS = (
    ShapeQuestion(
        "colour",
        "colour of {}",
        "1",
        "Largest difference of a component of linear colours, or of the factor of an "
        "image: sRGB components are not light. Materials of mesh files win over the "
        "URDF's; parts of a surface are paired by area.",
    ),
    ShapeQuestion(
        "opacity",
        "opacity of {}",
        "1",
        "Opacity of every part of a surface, or the image that gives it.",
    ),
    ShapeQuestion(
        "texture",
        "textures of {}",
        "",
        "The image that gives the colour has the same content; one that is missing, or "
        "neither PNG nor JPEG, is told and not held against the USD.",
    ),
)


def shape_questions(role: Role) -> tuple[ShapeQuestion, ...]:
    """Return what is asked about the shapes that links have in one role."""
    what = {Role.COLLISION: "colliders", Role.VISUAL: "visuals"}[role]
    asked = _OF_ALL if role is Role.COLLISION else (*_OF_ALL, *_OF_VISUALS)
    return tuple(
        ShapeQuestion(one.name, one.title.format(what), one.unit, one.clause)
        for one in asked
    )
