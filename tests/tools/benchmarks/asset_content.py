"""Count the content of converted assets of any converter.

python asset_content.py FOLDER...

Prints a JSON list with an object per folder, which is empty if there is no asset.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pxr import Usd, UsdGeom, UsdPhysics, UsdShade


def content(folder: Path) -> Mapping[str, int]:
    """Count what a robot's stage contains.

    Faces are counted rather than prims: one converter splits a file into several meshes
    where another makes one mesh with several subsets.
    """
    layers = sorted(folder.glob("*.usd*"))
    if len(layers) != 1:
        return {}
    counts: Counter[str] = Counter()
    stage = Usd.Stage.Open(str(layers[0]))
    for prim in stage.Traverse(Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)):
        counts["moving joints"] += _moves(prim)
        if prim.IsA(UsdGeom.Gprim):
            faces = _faces(prim)
            counts["primitive shapes"] += not faces
            counts["faces"] += faces
            counts["faces that collide"] += faces * prim.HasAPI(UsdPhysics.CollisionAPI)
            counts["faces with a material"] += faces * _has_look(prim)
            primvars = UsdGeom.PrimvarsAPI(prim)
            for kind, name in (("normals", "normals"), ("texture coordinates", "st")):
                counts[f"faces with {kind}"] += faces * primvars.HasPrimvar(name)
    return dict(counts)


def _moves(prim: Usd.Prim) -> bool:
    return prim.IsA(UsdPhysics.Joint) and not prim.IsA(UsdPhysics.FixedJoint)


def _faces(prim: Usd.Prim) -> int:
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get()
    return len(counts) if prim.IsA(UsdGeom.Mesh) and counts else 0


def _has_look(prim: Usd.Prim) -> bool:
    subsets = UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets()
    return any(
        UsdShade.MaterialBindingAPI(part).ComputeBoundMaterial()[0]
        for part in (prim, *(subset.GetPrim() for subset in subsets))
    )


def main() -> None:
    """Count, and print."""
    counts = [content(Path(folder)) for folder in sys.argv[1:]]
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
