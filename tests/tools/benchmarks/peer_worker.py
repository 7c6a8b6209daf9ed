"""A process that converts robots with one converter, and measures each conversion.

A program for either environment. Requests have the path of a URDF, its packages and the folder of
its asset; answers processor and wall time [s], peak memory [MiB] and the content of the asset.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pxr import Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.process import answer_requests

if find_spec("urdf_usd_converter"):
    import urdf_usd_converter  # type: ignore[import-not-found]

    def run(urdf: str, packages: dict[str, str], folder: str) -> None:
        given = [{"name": name, "path": path} for name, path in packages.items()]
        urdf_usd_converter.Converter(ros_packages=given).convert(urdf, folder)
else:
    from urdf_usd.converter import ConvertOptions, convert

    def run(urdf: str, packages: dict[str, str], folder: str) -> None:
        convert(urdf, folder, ConvertOptions(packages=tuple(packages.items())))


def content(folder: Path) -> dict[str, int]:
    """Count faces rather than prims: converters split files into meshes differently."""
    counts: Counter[str] = Counter()
    (layer,) = folder.glob("*.usd*")
    stage = Usd.Stage.Open(str(layer))
    for prim in stage.Traverse(Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)):
        is_fixed = prim.IsA(UsdPhysics.FixedJoint)
        counts["moving joints"] += prim.IsA(UsdPhysics.Joint) and not is_fixed
        if prim.IsA(UsdGeom.Gprim):
            faces = len(UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get() or ())
            primvars = UsdGeom.PrimvarsAPI(prim)
            counts["primitive shapes"] += not faces
            counts["faces"] += faces
            counts["faces that collide"] += faces * prim.HasAPI(UsdPhysics.CollisionAPI)
            counts["faces with normals"] += faces * primvars.HasPrimvar("normals")
            counts["faces with texture coordinates"] += faces * primvars.HasPrimvar("st")
    return dict(counts)


def measure(request: dict[str, Any]) -> dict[str, Any]:
    wall, cpu = time.perf_counter(), time.process_time()
    run(request["urdf"], request["packages"], request["folder"])
    found = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**found, "peak": peak, "content": content(Path(request["folder"]))}


if __name__ == "__main__":
    answer_requests(measure, lambda: None)
