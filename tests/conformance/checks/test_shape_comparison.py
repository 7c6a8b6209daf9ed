"""Comparison of shapes and materials that the two sides divide differently."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.conformance.engines.usd_observations import Array, pose
from tests.conformance.miniatures import (
    check_of,
    judged,
    restating_shapes,
    urdf_reading,
    usd_reading,
)
from urdf_usd.conformance.engines.surfaces import mesh_surface, primitive_surface
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Role,
    ShapeKind,
    ShapeObservation,
    Vec3,
)
from urdf_usd.conformance.tolerance import RELATIVE
from urdf_usd.conformance.verdict.judged import Judgement
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

_SEVERITY = attrgetter("severity")
PLACE = pose((0.3, -0.2, 0.5), (0.5, -0.1, 0.7, 0.5))
SIZE = (0.2, 0.5, 0.3)


def _shape(name: str, kind: ShapeKind, **stated: object) -> ShapeObservation:
    shape = ShapeObservation("base", Role.COLLISION, name, name, kind)
    return structs.replace(shape, **stated)


def _box(name: str, transform: Array = PLACE) -> ShapeObservation:
    surface = primitive_surface(ShapeKind.BOX, SIZE, transform)
    return _shape(name, ShapeKind.BOX, size=SIZE, surface=surface)


def _mesh(name: str, mesh: trimesh.Trimesh, transform: Array = PLACE) -> ShapeObservation:
    surface = mesh_surface(mesh.vertices, mesh.faces, transform)
    return _shape(name, ShapeKind.MESH, surface=surface)


def _with(reading: Observation, shapes: Sequence[ShapeObservation]) -> Observation:
    return restating_shapes(reading, "base", Role.COLLISION, lambda _: list(shapes))


def _judged(
    expected: Sequence[ShapeObservation], actual: Sequence[ShapeObservation]
) -> dict[str, CheckRecord]:
    """Judge the base's colliders; everything else is the same."""
    judgement = judged(_with(usd_reading(), actual), _with(urdf_reading(), expected))
    return {c.id: c for c in judgement.checks if c.id.startswith("collision.")}


def _grades(checks: dict[str, CheckRecord]) -> dict[str, Grade]:
    return {name.partition(".")[2]: check.grade for name, check in checks.items()}


def _away(distance: float) -> Array:
    return PLACE @ pose((distance, 0.0, 0.0))


def _pieces(*centers: float) -> list[ShapeObservation]:
    """Return balls of different radii along an axis, as groups of one mesh file."""
    balls = [
        _mesh(f"piece {i}", trimesh.creation.icosphere(2, 0.1 + 0.02 * i), _away(center))
        for i, center in enumerate(centers)
    ]
    return [structs.replace(ball, name="frame.obj", pieces=len(centers)) for ball in balls]


def _joined(shapes: Sequence[ShapeObservation], **stated: object) -> ShapeObservation:
    """Return one mesh with the faces of shapes."""
    surfaces = [shape.surface for shape in shapes if shape.surface]
    areas = [surface.area for surface in surfaces]
    centers = np.average([s.center for s in surfaces], axis=0, weights=areas)
    surface = structs.replace(
        surfaces[0],
        support=tuple(np.max([s.support for s in surfaces], axis=0).tolist()),
        area=sum(areas),
        edges=sum(s.edges for s in surfaces),
        volume=sum(s.volume for s in surfaces),
        center=tuple(centers.tolist()),
        triangles=sum(s.triangles for s in surfaces),
    )
    return _shape("joined", ShapeKind.MESH, surface=surface, **stated)


def _hulls(shapes: Sequence[ShapeObservation], **stated: object) -> list[ShapeObservation]:
    return [structs.replace(shape, hull=True, **stated) for shape in shapes]


_BOX, _FAR = _box("a"), _box("b", _away(1.0))
_SOLID = trimesh.creation.box(SIZE)
_SPHERE = trimesh.creation.icosphere(3, 0.3)
_HALVES = [
    _mesh(f"half {i}", trimesh.Trimesh(_SPHERE.vertices, faces, process=False))
    for i, faces in enumerate(np.array_split(_SPHERE.faces, 2))
]
_WHOLE = [_mesh("ball", _SPHERE)]
_SHAPES = [_BOX, _FAR, _mesh("c", trimesh.creation.icosphere(2))]
_PIECES, _NESTED, _THREE = _pieces(-0.5, 0.0, 0.6), _pieces(0.0, 0.0), _pieces(0.0, 0.0, 0.0)
_MOVED = _hulls(_pieces(0.001)[:1])
_INNER = _mesh("b", trimesh.creation.icosphere(2, 0.05))
_LOST = _shape("gone.stl", ShapeKind.MESH, problem="it is not found")
_CONE = _shape("p", ShapeKind.OTHER, problem="a Cone cannot be measured")
_BOUNDING = structs.replace(_BOX, problem="collides as its bounding cube")
_NOTHING = "link base: collision has nothing, not box (0.2 x 0.5 x 0.3 m)"

# Colliders of the URDF and of the USD; grades of checks, or of any of them, where the others are
# exact unless dots follow; a part of the first message.
_CASES: dict[str, tuple[list[ShapeObservation], list[ShapeObservation], str, str]] = {
    "other order": (_SHAPES, _SHAPES[::-1], "", ""),
    "split": (_WHOLE, _HALVES, "shapes=close", "the same surface"),
    "pieces in another order": (_PIECES, _hulls(_PIECES[::-1], name="x"), "", ""),
    "pieces as meshes": (_PIECES, [*_PIECES[1:], _PIECES[0]], "", ""),
    "hull over all": (_PIECES, [_joined(_PIECES, hull=True)], "shapes=fails", "hull over several"),
    "hull over two": ([_BOX, _FAR], [_joined([_BOX, _FAR], hull=True)], "shapes=fails ...", ""),
    "surface of all pieces": (_PIECES, [_joined(_PIECES)], "shapes=close", ""),
    "hulls of parts": ([_joined(_hulls(_PIECES))], _hulls(_PIECES), "shapes=close", ""),
    "piece inside another": (_NESTED, [_joined(_NESTED, hull=True)], "shapes=close", ""),
    "piece dropped": (_THREE, _hulls(_THREE[1:]), "any=fails ...", ""),
    "piece moved": (_THREE, [*_MOVED, *_hulls(_THREE[1:])], "any=fails ...", ""),
    "box as a mesh": ([_BOX], [_mesh("a", _SOLID)], "shapes=close", ""),
    "mesh as a box": ([_mesh("a", _SOLID)], [_BOX], "shapes=fails ...", ""),
    "enclosed shape lost": ([_BOX, _INNER], [_BOX], "shapes=fails area=fails ...", ""),
    "nothing": ([_BOX], [], "shapes=fails", _NOTHING),
    "lost mesh": ([_LOST, _BOX], [_BOX], "shapes=not-comparable", "gone.stl: it is not found"),
    "shifted beside a lost mesh": (
        [_LOST, _BOX],
        [_box("a", _away(0.1))],
        "shapes=not-comparable support=fails ...",
        "",
    ),
    # Other engines may have found it.
    "more than a lost mesh": ([_LOST, _BOX], [_BOX, _box("b")], "shapes=not-comparable", ""),
    "unmeasurable": ([_BOX], [_CONE], "shapes=fails ...", ""),
    "bounding volume": ([_BOX], [_BOUNDING], "shapes=fails ...", "bounding cube"),
}


@pytest.mark.parametrize("case", _CASES)
def test_colliders_that_are_divided_differently(case: str) -> None:
    expected, actual, inexact, message = _CASES[case]
    checks = _judged(expected, actual)
    grades = _grades(checks)

    for pair in inexact.removesuffix(" ...").split():
        name, _, grade = pair.partition("=")
        found = grades.pop(name) if name != "any" else max(grades.values(), key=_SEVERITY)
        assert found.value.replace(" ", "-") == grade
    if not inexact.endswith("..."):
        assert set(grades.values()) <= {Grade.EXACT, Grade.NOT_APPLICABLE}
    if message:
        assert message in checks["collision.shapes"].findings[0].message


def _with_engine(
    expected: Sequence[ShapeObservation], engine: Sequence[ShapeObservation]
) -> Judgement:
    """Judge a right USD where an engine reads other shapes."""
    spec, usd = (_with(reading, expected) for reading in (urdf_reading(), usd_reading()))
    read = structs.replace(_with(urdf_reading(), engine), engine="engine")
    return judged(usd, spec, engine=read)


def _compared_by(check: CheckRecord) -> dict[str, int]:
    return {difference.engine: difference.compared for difference in check.differences}


def test_engine_that_states_hulls_alone_confirms_pieces() -> None:
    expected = _pieces(-0.5, 0.0, 0.6)
    hulls = [
        structs.replace(shape, surface=structs.replace(shape.surface, area=0.0, support_alone=True))
        for shape in reversed(expected)
        if shape.surface
    ]
    judgement = _with_engine(expected, hulls)
    compared = {check.id: _compared_by(check)["engine"] for check in judgement.checks}

    assert judgement.verdict is Verdict.EXACT
    assert judgement.deviations == ()
    assert compared["collision.shapes"] == compared["collision.support"]
    assert compared["collision.area"] < compared["collision.support"]


def test_engine_without_meshes_is_ignored_for_meshes() -> None:
    judgement = _with_engine([_BOX], [_shape("m", ShapeKind.MESH, stated=False)])
    counts = _compared_by(check_of(judgement, "collision.support"))

    assert judgement.verdict is Verdict.EXACT
    assert judgement.deviations == ()
    assert counts["engine"] == counts["reference"] - 1


@given(seed=st.integers(0, 1000), far=st.floats(0.0, 100.0), scale=st.floats(1e-3, 10.0))
def test_float32_rounding_of_shapes_is_exact(seed: int, far: float, scale: float) -> None:
    mesh = trimesh.creation.annulus(0.2, 0.5, 0.3)
    points = mesh.vertices + np.array((0.0, far / scale / 10, 0.0))
    random = np.random.default_rng(seed)
    quat = random.normal(size=4)
    quat /= np.linalg.norm(quat)
    position = random.normal(size=3) * far
    stretch = scale * (1 + random.random(3))
    true = pose(position, quat.tolist()) @ np.diag([*stretch, 1.0])
    stored = pose(position.astype(np.float32), quat.astype(np.float32).tolist()) @ np.diag(
        [*stretch.astype(np.float32), 1.0]
    )
    expected = mesh_surface(points, mesh.faces, true)
    actual = mesh_surface(points.astype(np.float32).astype(np.float64), mesh.faces, stored)
    sides = (
        [_shape("a", ShapeKind.MESH, surface=one, position=tuple(position.tolist()))]
        for one in (expected, actual)
    )

    assert set(_grades(_judged(*sides)).values()) == {Grade.EXACT}


def test_bound_of_shapes_is_that_of_float32() -> None:
    bound = _judged(_WHOLE, _WHOLE)["collision.support"].bound

    assert bound is not None
    assert RELATIVE < bound < 10 * RELATIVE


RED, BLUE, GREY = (0.5, 0.1, 0.05), (0.1, 0.1, 0.9), (0.18, 0.18, 0.18)
_LEFT, _RIGHT = (0.0, 0.1, 0.0), (0.0, -0.1, 0.0)
_METAL = (("metallic", (1.0,)), ("roughness", (0.5,)))
_TWO_SIDED = (("doubleSided", (1.0,)),)
_LOST_IMAGE = "texture a.png is not found"


def _look(color: Vec3 | None, area: float = 0.4, **stated: object) -> Appearance:
    return structs.replace(Appearance(area, color), **stated)


def _parts(red: Vec3, blue: Vec3) -> list[Appearance]:
    return [_look(RED, 0.2, center=red), _look(BLUE, 0.2, center=blue)]


def _textured(color: Vec3 | None, name: str = "a.png") -> list[Appearance]:
    return [_look(color, texture="ab" * 32, image=name)]


# Appearances of the URDF and of the USD, grades of checks, a part of the first message.
_LOOKS: dict[str, tuple[list[Appearance], list[Appearance], str, str]] = {
    "paired by area": (
        [_look(RED, 0.3), _look(BLUE, 0.1)],
        [_look(BLUE, 0.1), _look(RED, 0.2), _look(RED, 0.1)],
        "colour=exact",
        "",
    ),
    "wrong on a part": (
        [_look(RED)],
        [_look(RED, 0.3), _look(BLUE, 0.1)],
        "colour=fails",
        "on 25% of it",
    ),
    # What viewers show without a material has no hue.
    "grey": ([_look(None)], [_look(GREY)], "colour=exact", ""),
    "made up": ([_look(None)], [_look(BLUE)], "colour=fails", ""),
    # The mesh file may define it.
    "unread": ([_look(None, unread=frozenset("*"))], [_look(BLUE)], "colour=exact", ""),
    "parts exchanged": (_parts(_LEFT, _RIGHT), _parts(_RIGHT, _LEFT), "material=fails", ""),
    "input": ([_look(RED)], [_look(RED, properties=_METAL)], "material=fails", "metallic"),
    "unread input": (
        [_look(RED, unread=frozenset({"metallic"}))],
        [_look(RED, properties=_METAL)],
        "material=exact",
        "",
    ),
    "both sides": ([_look(RED)], [_look(RED, properties=_TWO_SIDED)], "material=exact", ""),
    "one side": ([_look(RED, properties=_TWO_SIDED)], [_look(RED)], "material=fails", ""),
    "same texture": (_textured(None), _textured(None, "b.png"), "texture=exact", ""),
    "texture lost": (_textured(None), [_look(RED)], "texture=fails", ""),
    "texture tinted": (_textured(RED), _textured(BLUE), "colour=fails", "factor of the texture"),
    "texture instead of a colour": (_textured(RED), [_look(BLUE)], "texture=fails", ""),
    "missing image": (
        [_look(RED, problem=_LOST_IMAGE)],
        [_look(RED, mask="ab" * 32)],
        "texture=not-comparable opacity=exact",
        f"{_LOST_IMAGE}; not compared",
    ),
    "undecidable": ([_look(RED, opacity=None)], [_look(RED, opacity=0.5)], "opacity=exact", ""),
}


@pytest.mark.parametrize("case", _LOOKS)
def test_appearances(case: str) -> None:
    *sides, grades, message = _LOOKS[case]
    expected, actual = (
        restating_shapes(reading, "base", Role.VISUAL, lambda _, looks=looks: [_visual(looks)])  # type: ignore[misc]  # a default binds it
        for reading, looks in zip((urdf_reading(), usd_reading()), sides, strict=True)
    )
    found = judged(actual, expected).checks
    checks = {check.id.removeprefix("visual."): check for check in found}

    for pair in grades.split():
        name, _, grade = pair.partition("=")
        assert checks[name].grade.value.replace(" ", "-") == grade
    assert not message or message in checks[grades.partition("=")[0]].findings[0].message


def _visual(looks: object) -> ShapeObservation:
    return structs.replace(_box("v"), role=Role.VISUAL, appearances=tuple(looks))  # type: ignore[arg-type]  # a list
