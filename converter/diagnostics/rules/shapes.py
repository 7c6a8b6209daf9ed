"""Rules about shapes, materials, meshes and textures."""

from __future__ import annotations

from urdf_usd.converter.diagnostics.rules.rule import Rule, Severity

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

SHAPES_RULES = (
    Rule(
        "material-undefined",
        _W,
        "A material is referred to by name, but no element defines its color or texture.",
        "Define it at robot level, with rgba in its color.",
    ),
    Rule(
        "material-redefined",
        _W,
        "A material has different definitions; a visual uses its own, otherwise the first.",
        "Give each material a unique name.",
    ),
    Rule(
        "material-overridden",
        _N,
        "A mesh file has materials, which override the URDF's.",
        "Remove one of the two.",
    ),
    Rule(
        "color-range",
        _W,
        "A colour component is outside [0, 1]; it is clamped.",
        "Write components between 0 and 1.",
    ),
    Rule(
        "mesh-missing",
        _W,
        "A mesh file is not found, or is a URL, which is not downloaded; the shape is omitted.",
        "Pass --package NAME=PATH, or restore the file.",
    ),
    Rule(
        "mesh-unreadable",
        _W,
        "A mesh file cannot be read; the shape is omitted.",
        "Export the mesh again as STL, OBJ or DAE.",
    ),
    Rule(
        "mesh-up-axis",
        _N,
        "The up axis of a COLLADA file is not Z; it is ignored, as in rviz.",
        "Export with Z up.",
    ),
    Rule(
        "mesh-partial",
        _W,
        "A part of a mesh file cannot be used and is omitted.",
        "Export the mesh again as STL, OBJ or DAE.",
    ),
    Rule(
        "collider-replaced",
        _N,
        "Colliders were replaced, as --colliders requests.",
        "Nothing; without --colliders they are those of the URDF.",
    ),
    Rule(
        "collider-decomposition",
        _E,
        "A mesh cannot be divided into convex pieces.",
        "Install CoACD with the extra `coacd`, or use other colliders for the link.",
    ),
    Rule(
        "collider-remeshed",
        _N,
        "A mesh is not closed, so that CoACD decomposes a closed surface around it.",
        "Close the mesh: that is faster, and the surface around it is larger.",
    ),
    Rule(
        "collider-rule-unused",
        _W,
        "A pattern of --colliders matches no link.",
        "Correct the pattern; `urdf-usd inspect` lists the links.",
    ),
    Rule(
        "collider-concave",
        _N,
        "Groups of a collision mesh are not convex; each collides as its convex hull.",
        "Decompose the mesh into convex pieces, one group each.",
    ),
    Rule(
        "geometry-invalid",
        _W,
        "A size is not positive, or infinite in float32; the shape is omitted.",
        "Give positive sizes.",
    ),
    Rule(
        "geometry-unknown",
        _W,
        "A visual or collision has no URDF geometry; it is omitted.",
        "Use box, cylinder, capsule, sphere or mesh.",
    ),
    Rule(
        "texture-dropped",
        _W,
        "A texture is not converted: it cannot be read as PNG, JPG, GIF, TIFF, BMP or "
        "TGA, the shape has no texture coordinates, or it is a texture in a USD.",
        "Use PNG or JPG, on a mesh with texture coordinates.",
    ),
    Rule(
        "texture-unnamed",
        _W,
        "A <texture> has no filename; omitted.",
        "Add filename, or remove the element.",
    ),
    Rule(
        "texture-missing",
        _W,
        "A texture file is not found, or is a URL, which is not downloaded.",
        "Pass --package NAME=PATH, or restore the file.",
    ),
)
