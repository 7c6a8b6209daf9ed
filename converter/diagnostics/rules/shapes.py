"""What can be wrong with shapes, their appearance and their files."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

SHAPES_RULES = (
    Rule(
        "material-undefined",
        _W,
        "A material is named but nowhere defined.",
        "Define it at robot level.",
    ),
    Rule(
        "material-redefined",
        _W,
        "A material has different definitions; a visual's own counts, else the first.",
        "Give each appearance a name of its own.",
    ),
    Rule(
        "material-overridden",
        _N,
        "A mesh file brings materials, which win over the URDF's.",
        "Remove one of the two.",
    ),
    Rule(
        "color-range",
        _W,
        "A colour has a component outside [0, 1], which is clamped.",
        "Write components between 0 and 1.",
    ),
    Rule(
        "mesh-missing",
        _W,
        "A mesh file cannot be found; the shape is left out.",
        "Pass --package NAME=PATH, or restore the file.",
    ),
    Rule(
        "mesh-unreadable",
        _W,
        "A mesh file cannot be read; the shape is left out.",
        "Export the mesh again as STL, OBJ or DAE.",
    ),
    Rule(
        "mesh-up-axis",
        _N,
        "A COLLADA file is not Z-up; its axes are used as they are, as rviz does.",
        "Export with Z up.",
    ),
    Rule(
        "mesh-partial",
        _W,
        "A part of a mesh file cannot be used.",
        "Export the mesh again as STL, OBJ or DAE.",
    ),
    Rule(
        "geometry-invalid",
        _W,
        "A size is not positive, or infinite in float32; the shape is left out.",
        "Give positive sizes.",
    ),
    Rule(
        "geometry-unknown",
        _W,
        "A visual or collision has no shape of the URDF language; it is left out.",
        "Use box, cylinder, capsule, sphere or mesh.",
    ),
    Rule(
        "texture-dropped",
        _W,
        "A texture is not converted: it is neither PNG nor JPG, the shape has no "
        "texture coordinates, or it is a USD's.",
        "Use PNG or JPG, on a mesh with texture coordinates.",
    ),
    Rule(
        "texture-unnamed",
        _W,
        "A <texture> names no file; left out.",
        "Add filename, or remove the element.",
    ),
    Rule(
        "texture-missing",
        _W,
        "A texture file cannot be found.",
        "Pass --package NAME=PATH, or restore the file.",
    ),
)
