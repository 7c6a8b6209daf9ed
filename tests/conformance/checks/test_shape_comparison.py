"""Comparison of shapes and materials that the two sides divide differently."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from tests.conformance.engines.usd_observations import Array, pose
from tests.conformance.miniatures import urdf_reading, usd_reading
from tests.conformance.shape_miniatures import restating_shapes
from urdf_usd.conformance.engines.protocol import Observed
from urdf_usd.conformance.engines.surfaces import mesh_surface, primitive_surface
from urdf_usd.conformance.observation.robot import Observation
from urdf_usd.conformance.observation.shapes import (
    Appearance,
    Role,
    ShapeKind,
    ShapeObservation,
    Vec3,
)
from urdf_usd.conformance.tolerance.bounds import RELATIVE
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.reports.records.record import CheckRecord, Grade, Verdict

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
    judgement = judge(
        {"reference": Observed(_with(urdf_reading(), expected))},
        Observed(_with(usd_reading(), actual)),
    )
    return {c.id: c for c in judgement.checks if c.id.startswith("collision.")}


def _grades(checks: dict[str, CheckRecord]) -> dict[str, Grade]:
    return {name.partition(".")[2]: check.grade for name, check in checks.items()}


def test_order_of_shapes_does_not_matter() -> None:
    far = PLACE @ pose((1.0, 0, 0))
    here = [_box("a"), _box("b", far), _mesh("c", trimesh.creation.icosphere(2))]
    there = [here[2], here[1], here[0]]

    assert set(_grades(_judged(here, there)).values()) == {Grade.EXACT}


def test_mesh_split_into_two_prims_is_close() -> None:
    ball = trimesh.creation.icosphere(3, 0.3)
    halves = [
        trimesh.Trimesh(ball.vertices, faces, process=False)
        for faces in np.array_split(ball.faces, 2)
    ]
    one = [_mesh("ball", ball)]
    two = [_mesh(f"half {index}", half) for index, half in enumerate(halves)]

    for expected, actual in ((one, two), (two, one)):
        checks = _judged(expected, actual)
        grades = _grades(checks)
        assert grades.pop("shapes") is Grade.CLOSE
        assert set(grades.values()) == {Grade.EXACT}
        assert "the same surface" in checks["collision.shapes"].findings[0].message


def _pieces(*centers: float) -> list[ShapeObservation]:
    """Return balls of different radii along an axis, as groups of one mesh file."""
    return [
        structs.replace(
            _mesh(
                f"piece {index}",
                trimesh.creation.icosphere(2, 0.1 + 0.02 * index),
                PLACE @ pose((center, 0.0, 0.0)),
            ),
            name="frame.obj",
            pieces=len(centers),
        )
        for index, center in enumerate(centers)
    ]


def _hull(shapes: Sequence[ShapeObservation]) -> ShapeObservation:
    """Return one mesh with the faces of shapes, which collides as its hull."""
    return structs.replace(_joined(shapes), hull=True)


def _joined(shapes: Sequence[ShapeObservation]) -> ShapeObservation:
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
    return _shape("joined", ShapeKind.MESH, surface=surface)


def test_convex_pieces_are_compared_as_a_set() -> None:
    expected = _pieces(-0.5, 0.0, 0.6)
    hulls = [structs.replace(shape, name="x", hull=True) for shape in reversed(expected)]

    for actual in (hulls, [*expected[1:], expected[0]]):
        assert set(_grades(_judged(expected, actual)).values()) == {Grade.EXACT}


def test_one_hull_over_several_pieces_fails() -> None:
    expected = _pieces(-0.5, 0.0, 0.6)
    first, *rest = (structs.replace(shape, hull=True) for shape in expected)

    for actual in ([_hull(expected)], [first, _hull(rest)]):
        checks = _judged(expected, actual)
        grades = _grades(checks)
        assert grades.pop("shapes") is Grade.FAILS
        assert set(grades.values()) == {Grade.EXACT}
        message = checks["collision.shapes"].findings[0].message
        assert "not 3 x convex piece of frame.obj" in message
        assert message.endswith("is one convex hull over several")


def test_hull_over_two_collisions_fails() -> None:
    expected = [_box("a"), _box("b", PLACE @ pose((1.0, 0.0, 0.0)))]

    assert _grades(_judged(expected, [_hull(expected)]))["shapes"] is Grade.FAILS


def test_surface_of_all_pieces_is_close() -> None:
    expected = _pieces(-0.5, 0.0, 0.6)

    assert _grades(_judged(expected, [_joined(expected)]))["shapes"] is Grade.CLOSE


def test_hulls_of_parts_of_one_mesh_are_close() -> None:
    parts = [structs.replace(shape, hull=True) for shape in _pieces(-0.5, 0.0, 0.6)]

    assert _grades(_judged([_joined(parts)], parts))["shapes"] is Grade.CLOSE


def test_hull_of_a_piece_inside_another_piece_may_be_joined_with_it() -> None:
    expected = _pieces(0.0, 0.0)

    assert _grades(_judged(expected, [_hull(expected)]))["shapes"] is Grade.CLOSE


_BLOCK = (0.6, 0.5, 0.3)


def _slab(start: float, end: float, name: str = "slab") -> ShapeObservation:
    """Return a group of a mesh file: a part of a block, from start to end along X."""
    extents = (end - start, *_BLOCK[1:])
    place = PLACE @ pose(((start + end) / 2.0, 0.0, 0.0))
    mesh = trimesh.creation.box(extents)
    return structs.replace(
        _mesh(f"{name} {start}", mesh, place),
        name="block.obj",
        pieces=2,
        hull_volume=float(np.prod(extents)),
    )


def _of_usd(shape: ShapeObservation, **stated: object) -> ShapeObservation:
    return structs.replace(shape, name="prim", pieces=1, hull=True, **stated)


_CUT = (-0.3, -0.1, 0.3)
_SLABS = [_slab(_CUT[0], _CUT[1]), _slab(_CUT[1], _CUT[2])]
_BALL = _mesh("ball", trimesh.creation.icosphere(2, 0.1), pose((2.0, 0.0, 0.0)))
_WHOLE_VOLUME = 0.6 * 0.5 * 0.3


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        pytest.param(_SLABS, [_of_usd(_slab(-0.3, 0.3))], id="merged"),
        pytest.param(
            _SLABS,
            [_of_usd(_joined(_SLABS), hull_volume=_WHOLE_VOLUME)],
            id="merged with the faces between them",
        ),
        pytest.param(
            [structs.replace(_slab(-0.3, 0.3), pieces=1)],
            list(map(_of_usd, _SLABS)),
            id="cut",
        ),
        pytest.param(
            [structs.replace(_box("box"), surface=_slab(-0.3, 0.3).surface)],
            list(map(_of_usd, _SLABS)),
            id="cut primitive",
        ),
        pytest.param(
            [*_SLABS, _slab(0.3, 0.7), _BALL],
            [_of_usd(_slab(-0.1, 0.7)), _BALL, _of_usd(_SLABS[0])],
            id="some merged",
        ),
    ],
)
def test_same_solid_in_other_convex_pieces_is_close(
    expected: list[ShapeObservation], actual: list[ShapeObservation]
) -> None:
    grades = _grades(_judged(expected, actual))

    assert grades.pop("shapes") is Grade.CLOSE
    assert set(grades.values()) <= {Grade.EXACT, Grade.NOT_APPLICABLE}
    assert grades["support"] is grades["volume"] is Grade.EXACT


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        pytest.param([_SLABS[0], _slab(-0.099, 0.3)], [_of_usd(_slab(-0.3, 0.3))], id="gap"),
        pytest.param([_SLABS[0], _slab(-0.101, 0.3)], [_of_usd(_slab(-0.3, 0.3))], id="overlap"),
        pytest.param(
            [structs.replace(_slab(-0.3, 0.3), pieces=1)],
            [_of_usd(_SLABS[0]), _of_usd(_slab(-0.05, 0.3))],
            id="cut with a gap",
        ),
        pytest.param(
            [structs.replace(_slab(-0.3, 0.3), pieces=1, hull_volume=2 * _WHOLE_VOLUME)],
            list(map(_of_usd, _SLABS)),
            id="cut of a concave mesh",
        ),
    ],
)
def test_convex_pieces_of_another_solid_fail(
    expected: list[ShapeObservation], actual: list[ShapeObservation]
) -> None:
    assert _grades(_judged(expected, actual))["shapes"] is Grade.FAILS


@pytest.mark.parametrize("change", ["dropped", "added", "moved"])
def test_piece_that_is_missing_added_or_moved_fails(change: str) -> None:
    expected = _pieces(0.0, 0.0, 0.0)
    inner, *outer = (structs.replace(shape, hull=True) for shape in expected)
    (moved, *_) = _pieces(0.001)
    actual = {
        "dropped": outer,
        "added": [structs.replace(inner, source="again"), inner, *outer],
        "moved": [structs.replace(moved, hull=True), *outer],
    }[change]

    assert Grade.FAILS in _grades(_judged(expected, actual)).values()


def test_engine_that_states_hulls_alone_confirms_pieces() -> None:
    expected = _pieces(-0.5, 0.0, 0.6)
    hulls = [
        structs.replace(shape, surface=structs.replace(shape.surface, area=0.0, support_alone=True))
        for shape in reversed(expected)
        if shape.surface
    ]
    spec, engine = (_with(urdf_reading(), shapes) for shapes in (expected, hulls))
    judgement = judge(
        {
            "reference": Observed(spec),
            "engine": Observed(structs.replace(engine, engine="engine")),
        },
        Observed(_with(usd_reading(), expected)),
    )
    compared = {
        check.id: difference.compared
        for check in judgement.checks
        for difference in check.differences
        if difference.engine == "engine"
    }

    assert judgement.verdict is Verdict.EXACT
    assert judgement.deviations == ()
    assert compared["collision.shapes"] == compared["collision.support"]
    assert compared["collision.area"] < compared["collision.support"]


def test_box_written_as_a_mesh_is_close() -> None:
    box, bigger = (trimesh.creation.box(np.array(SIZE) * s) for s in (1.0, 1.01))
    same = _grades(_judged([_box("a")], [_mesh("a", box)]))
    other = _grades(_judged([_box("a")], [_mesh("a", bigger)]))

    assert same["shapes"] is Grade.CLOSE
    assert same["support"] is same["area"] is same["volume"] is Grade.EXACT
    assert other["shapes"] is other["support"] is Grade.FAILS


def test_mesh_replaced_by_a_primitive_fails() -> None:
    box = trimesh.creation.box(SIZE)

    assert _grades(_judged([_mesh("a", box)], [_box("a")]))["shapes"] is Grade.FAILS


def test_missing_enclosed_shape_fails() -> None:
    inner = trimesh.creation.icosphere(2, 0.05)
    checks = _judged([_box("a"), _mesh("b", inner)], [_box("a")])

    assert _grades(checks)["shapes"] is Grade.FAILS
    assert _grades(checks)["area"] is Grade.FAILS


def test_link_without_any_shape_is_reported_once() -> None:
    checks = _judged([_box("a")], [])

    assert _grades(checks)["shapes"] is Grade.FAILS
    assert _grades(checks)["support"] is Grade.EXACT
    message = checks["collision.shapes"].findings[0].message
    assert message == "link base: collision has nothing, not box (0.2 x 0.5 x 0.3 m)"


def test_missing_mesh_is_not_comparable_and_named() -> None:
    lost = _shape("gone.stl", ShapeKind.MESH, problem="it is not found")
    checks = _judged([lost, _box("a")], [_box("a")])
    shifted = _judged([lost, _box("a")], [_box("a", PLACE @ pose((0.1, 0, 0)))])
    more = _judged([lost, _box("a")], [_box("a"), _box("b")])

    assert _grades(checks)["shapes"] is Grade.NOT_COMPARABLE
    assert _grades(checks)["support"] is Grade.EXACT
    assert "gone.stl: it is not found" in checks["collision.shapes"].findings[0].message
    assert _grades(shifted)["support"] is Grade.FAILS
    # Other engines may have found it.
    assert Grade.FAILS not in _grades(more).values()


def test_unmeasurable_shape_of_the_usd_fails() -> None:
    cone = _shape("p", ShapeKind.OTHER, problem="a Cone cannot be measured")

    assert _grades(_judged([_box("a")], [cone]))["shapes"] is Grade.FAILS


def test_bounding_volume_fails() -> None:
    stands_in = structs.replace(_box("a"), problem="collides as its bounding cube")

    assert _grades(_judged([_box("a")], [stands_in]))["shapes"] is Grade.FAILS


def test_engine_without_meshes_is_ignored_for_meshes() -> None:
    unstated = _shape("m", ShapeKind.MESH, stated=False)
    spec = _with(urdf_reading(), [_box("a")])
    engine = structs.replace(_with(urdf_reading(), [unstated]), engine="engine")
    judgement = judge(
        {"reference": Observed(spec), "engine": Observed(engine)},
        Observed(_with(usd_reading(), [_box("a")])),
    )
    support = next(c for c in judgement.checks if c.id == "collision.support")

    assert judgement.verdict is Verdict.EXACT
    assert judgement.deviations == ()
    counts = {d.engine: d.compared for d in support.differences}
    assert counts["engine"] == counts["reference"] - 1


@given(
    seed=st.integers(0, 1000),
    far=st.floats(0.0, 100.0),
    scale=st.floats(1e-3, 10.0),
)
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
    place = tuple(position.tolist())
    kind = ShapeKind.MESH
    checks = _judged(
        [_shape("a", kind, surface=expected, position=place)],
        [_shape("a", kind, surface=actual, position=place)],
    )

    assert set(_grades(checks).values()) == {Grade.EXACT}


def test_difference_above_the_bound_is_not_exact() -> None:
    ball = [_mesh("a", trimesh.creation.icosphere(3), np.eye(4))]
    bound = _judged(ball, ball)["collision.support"].bound

    assert bound is not None
    assert RELATIVE < bound < 10 * RELATIVE


def _visual(*looks: Appearance) -> ShapeObservation:
    return structs.replace(_box("v"), role=Role.VISUAL, appearances=looks)


def _visual_checks(
    expected: Sequence[ShapeObservation], actual: Sequence[ShapeObservation]
) -> dict[str, CheckRecord]:
    spec, usd = (
        restating_shapes(reading, "base", Role.VISUAL, lambda _, side=side: list(side))  # type: ignore[misc]  # a default binds it
        for reading, side in ((urdf_reading(), expected), (usd_reading(), actual))
    )
    judgement = judge({"reference": Observed(spec)}, Observed(usd))
    return {c.id: c for c in judgement.checks}


RED, BLUE = (0.5, 0.1, 0.05), (0.1, 0.1, 0.9)


def test_appearances_are_paired_by_area_and_similarity() -> None:
    expected = _visual(Appearance(0.3, RED), Appearance(0.1, BLUE))
    actual = _visual(Appearance(0.1, BLUE), Appearance(0.2, RED), Appearance(0.1, RED))
    checks = _visual_checks([expected], [actual])

    assert checks["visual.colour"].grade is Grade.EXACT


def test_wrong_colour_of_a_part_is_reported_with_its_share() -> None:
    expected = _visual(Appearance(0.4, RED))
    actual = _visual(Appearance(0.3, RED), Appearance(0.1, BLUE))
    finding = _visual_checks([expected], [actual])["visual.colour"].findings[0]

    assert finding.grade is Grade.FAILS
    assert "on 25% of it" in finding.message
    assert finding.amount == pytest.approx(0.85)


@pytest.mark.parametrize(
    ("color", "unread", "grade"),
    [
        # What viewers show without a material has no hue.
        ((0.18, 0.18, 0.18), frozenset(), Grade.EXACT),
        (None, frozenset(), Grade.EXACT),
        (BLUE, frozenset(), Grade.FAILS),
        # The mesh file may define it.
        (BLUE, frozenset({"*"}), Grade.EXACT),
    ],
)
def test_colour_that_the_urdf_does_not_have_fails_unless_it_is_grey(
    color: Vec3 | None, unread: frozenset[str], grade: Grade
) -> None:
    expected = _visual(Appearance(0.4, None, unread=unread))
    checks = _visual_checks([expected], [_visual(Appearance(0.4, color))])

    assert checks["visual.colour"].grade is grade


def test_colour_that_one_engine_reports_alone_is_not_compared() -> None:
    checks = _visual_checks([_visual()], [_visual(Appearance(0.4, BLUE))])

    assert checks["visual.colour"].grade is Grade.EXACT


def test_exchanged_parts_of_one_area_are_reported() -> None:

    def parts(red: Vec3, blue: Vec3) -> ShapeObservation:
        return _visual(Appearance(0.2, RED, center=red), Appearance(0.2, BLUE, center=blue))

    left, right = (0.0, 0.1, 0.0), (0.0, -0.1, 0.0)
    equal = _visual_checks([parts(left, right)], [parts(left, right)])
    exchanged = _visual_checks([parts(left, right)], [parts(right, left)])

    assert equal["visual.material"].grade is Grade.EXACT
    assert exchanged["visual.colour"].grade is Grade.EXACT
    assert exchanged["visual.material"].grade is Grade.FAILS


def test_inputs_that_the_reader_of_a_file_leaves_out_are_not_compared() -> None:
    metal = (("metallic", (1.0,)), ("roughness", (0.5,)))
    unread = Appearance(0.4, RED, unread=frozenset({"metallic"}))
    actual = _visual(Appearance(0.4, RED, properties=metal))
    compared = _visual_checks([_visual(Appearance(0.4, RED))], [actual])
    ignored = _visual_checks([_visual(unread)], [actual])

    assert compared["visual.material"].grade is Grade.FAILS
    assert ignored["visual.material"].grade is Grade.EXACT


def test_both_sides_of_faces_are_needed_only_if_the_file_shows_them() -> None:
    one, both = (
        _visual(Appearance(0.4, RED, properties=shown))
        for shown in ((), (("doubleSided", (1.0,)),))
    )

    assert _visual_checks([one], [both])["visual.material"].grade is Grade.EXACT
    assert _visual_checks([both], [one])["visual.material"].grade is Grade.FAILS


def test_textures_are_compared_by_content_not_name() -> None:
    expected = _visual(Appearance(0.4, None, texture="ab" * 32, image="a.png"))
    renamed = _visual(Appearance(0.4, None, texture="ab" * 32, image="b.png"))
    other = _visual(Appearance(0.4, RED))

    assert _visual_checks([expected], [renamed])["visual.texture"].grade is Grade.EXACT
    assert _visual_checks([expected], [other])["visual.texture"].grade is Grade.FAILS


def test_absent_colours_are_paired_with_each_other() -> None:
    expected = _visual(Appearance(0.1, None), Appearance(0.3, RED))
    actual = _visual(Appearance(0.3, RED), Appearance(0.1, None))

    assert _visual_checks([expected], [actual])["visual.colour"].grade is Grade.EXACT


def test_texture_factors_are_compared_as_colours() -> None:
    expected = _visual(Appearance(0.4, RED, texture="ab" * 32))
    tinted = _visual(Appearance(0.4, BLUE, texture="ab" * 32))
    plain = _visual(Appearance(0.4, BLUE))
    finding = _visual_checks([expected], [tinted])["visual.colour"].findings[0]

    assert "factor of the texture" in finding.message
    assert _visual_checks([expected], [plain])["visual.colour"].grade is Grade.EXACT
    assert _visual_checks([expected], [plain])["visual.texture"].grade is Grade.FAILS


def test_missing_image_of_the_urdf_is_not_comparable() -> None:
    expected = _visual(Appearance(0.4, RED, problem="texture a.png is not found"))
    actual = _visual(Appearance(0.4, RED, mask="ab" * 32))
    checks = _visual_checks([expected], [actual])
    finding = checks["visual.texture"].findings[0]

    assert "texture a.png is not found; not compared" in finding.message
    assert checks["visual.texture"].grade is Grade.NOT_COMPARABLE
    assert checks["visual.opacity"].grade is Grade.EXACT


def test_missing_image_on_one_of_two_parts_is_reported() -> None:
    expected = _visual(
        Appearance(0.2, RED, problem="texture a.png is not found"),
        Appearance(0.2, BLUE),
    )
    checks = _visual_checks([expected], [_visual(Appearance(0.2, RED), Appearance(0.2, BLUE))])

    assert checks["visual.texture"].grade is Grade.NOT_COMPARABLE


def test_undecidable_opacity_is_not_compared() -> None:
    expected = _visual(Appearance(0.4, RED, opacity=None))
    checks = _visual_checks([expected], [_visual(Appearance(0.4, RED, 0.5))])

    assert checks["visual.opacity"].grade is Grade.EXACT
