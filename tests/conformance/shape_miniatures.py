"""Wrong converters of shapes: a correct robot with one shape changed."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from tests.conformance.miniatures import ROBOT, Miniature, usd_reading
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import Role, ShapeObservation
from urdf_usd.converter.robot.model import Capsule, Cylinder, Geometry, MeshFile, Robot


def with_geometry(robot: Robot, link: str, role: Role, index: int, geometry: Geometry) -> Robot:
    """Return a robot one of whose shapes is another."""
    links = []
    for one in robot.links:
        if one.name != link:
            links.append(one)
            continue
        visuals, collisions = list(one.visuals), list(one.collisions)
        if role is Role.VISUAL:
            visuals[index] = structs.replace(visuals[index], geometry=geometry)
        else:
            collisions[index] = structs.replace(collisions[index], geometry=geometry)
        links.append(structs.replace(one, visuals=tuple(visuals), collisions=tuple(collisions)))
    return structs.replace(robot, links=tuple(links))


def restating_shapes(
    reading: Observation,
    link: str,
    role: Role,
    edit: Callable[[list[ShapeObservation]], list[ShapeObservation]],
) -> Observation:
    """Return an observation with the shapes of one link changed."""
    own = [s for s in reading.shapes if s.link == link and s.role is role]
    rest = [s for s in reading.shapes if s not in own]
    return structs.replace(reading, shapes=(*rest, *edit(own)))


def _otherwise(role: Role, link: str, index: int, geometry: Geometry) -> Observation:
    return usd_reading(with_geometry(ROBOT, link, role, index, geometry))


def _without(role: Role) -> Observation:
    return restating_shapes(usd_reading(), "forearm", role, lambda own: own[:1])


def _moved_pen(role: Role) -> Observation:
    """Move the shape inside the cylinder."""

    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        surface = own[1].surface
        assert surface is not None
        x, y, z = surface.center
        moved = structs.replace(surface, center=(x, y + 1e-3, z))
        return [own[0], structs.replace(own[1], surface=moved)]

    return restating_shapes(usd_reading(), "forearm", role, edit)


def _surfaced(role: Role, **changes: object) -> Observation:
    """Change the surface of the wedge."""

    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        surface = own[0].surface
        assert surface is not None
        return [structs.replace(own[0], surface=structs.replace(surface, **changes))]

    return restating_shapes(usd_reading(), "arm", role, edit)


def _turned_over(role: Role) -> Observation:
    wedge = next(s.surface for s in usd_reading().shapes if s.link == "arm")
    assert wedge is not None
    return _surfaced(role, volume=-wedge.volume)


def _miniatures(role: Role) -> tuple[Miniature, ...]:
    wedge = next(v.geometry for link in ROBOT.links for v in link.visuals[:1] if link.name == "arm")
    assert isinstance(wedge, MeshFile)
    unscaled = structs.replace(wedge, scale=(1.0, 1.0, 1.0))
    shapes, support = f"{role}.shapes", f"{role}.support"
    return (
        Miniature(
            f"{role} shape lost",
            lambda: _without(role),
            {shapes: "link forearm", f"{role}.area": "link forearm"},
            "has cylinder (0.04 x 0.25 m), not",
        ),
        Miniature(
            f"{role} cylinder with half the radius",
            lambda: _otherwise(role, "forearm", 0, Cylinder(0.02, 0.25)),
            {support: "link forearm", f"{role}.volume": "link forearm"},
            "less than in the URDF",
        ),
        Miniature(
            f"{role} capsule whose length counts its caps",
            lambda: _otherwise(role, "forearm", 1, Capsule(0.01, 0.06)),
            {support: "link forearm"},
            "capsule (0.01 x 0.08 m)",
        ),
        Miniature(
            f"{role} shape shifted inside another",
            lambda: _moved_pen(role),
            {support: "link forearm"},
            "a surface whose centroid differs by 0.001 m",
        ),
        Miniature(
            f"{role} mesh without its scale",
            lambda: _otherwise(role, "arm", 0, unscaled),
            {support: "link arm", f"{role}.area": "link arm"},
        ),
        Miniature(
            f"{role} mesh turned inside out",
            lambda: _turned_over(role),
            {f"{role}.volume": "link arm"},
            "is inside out",
        ),
        Miniature(
            f"{role} mesh thinned out",
            lambda: _surfaced(role, triangles=7),
            {f"{role}.triangles": "link arm"},
            "7 triangles, not 8",
        ),
    )


def _flipped_mapping() -> Observation:
    """Let v of the texture coordinates of the wedge point down."""

    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        (look,) = own[0].appearances
        assert look.mapping is not None
        u, v, uu, vv, *along = look.mapping.moments
        x, y, z = look.mapping.center
        moments = (
            u,
            look.area - v,
            uu,
            look.area - 2.0 * v + vv,
            *along[:3],
            x - along[3],
            y - along[4],
            z - along[5],
        )
        oriented = -look.mapping.oriented
        mapping = structs.replace(look.mapping, moments=moments, oriented=oriented)
        return [structs.replace(own[0], appearances=(structs.replace(look, mapping=mapping),))]

    return restating_shapes(usd_reading(), "arm", Role.VISUAL, edit)


def _with_appearance(**changes: object) -> Observation:
    """Change the material of the base."""

    def edit(own: list[ShapeObservation]) -> list[ShapeObservation]:
        looks = tuple(structs.replace(look, **changes) for look in own[0].appearances)
        return [structs.replace(own[0], appearances=looks)]

    return restating_shapes(usd_reading(), "base", Role.VISUAL, edit)


_LOOKS = (
    Miniature(
        "colour left in sRGB",
        lambda: _with_appearance(color=(0.55, 0.25, 0.1)),
        {"visual.colour": "link base"},
        "is (0.55, 0.25, 0.1) linear",
    ),
    Miniature(
        "texture coordinates flipped",
        _flipped_mapping,
        {"visual.mapping": "link arm"},
        "texture coordinates of mesh",
    ),
)
SHAPE_MINIATURES = (
    *(one for role in Role for one in _miniatures(role)),
    *_LOOKS,
)
