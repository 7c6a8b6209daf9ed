"""Convert robots with one converter, measure each conversion, count what it wrote.

python peer_worker.py {ours,peer}

A program for either environment. Each line of standard input is a JSON object with the path of
a URDF, its packages and the folder of its asset, and is answered by one with processor and wall
time [s], peak memory [MiB], the content of the asset, or the error.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import Counter
from pathlib import Path

from pxr import Usd, UsdGeom, UsdPhysics

if sys.argv[1] == "ours":
    from urdf_usd.converter import ConvertOptions, convert

    def run(urdf: str, packages: dict[str, str], folder: str) -> None:
        convert(urdf, folder, ConvertOptions(packages=tuple(packages.items())))
else:
    import urdf_usd_converter  # type: ignore[import-not-found]

    def run(urdf: str, packages: dict[str, str], folder: str) -> None:
        given = [{"name": name, "path": path} for name, path in packages.items()]
        urdf_usd_converter.Converter(ros_packages=given).convert(urdf, folder)


def content(folder: Path) -> dict[str, int]:
    """Count faces rather than prims: converters split files into meshes differently."""
    counts: Counter[str] = Counter()
    (layer,) = folder.glob("*.usd*")
    stage = Usd.Stage.Open(str(layer))
    for prim in stage.Traverse(Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate)):
        counts["moving joints"] += prim.IsA(UsdPhysics.Joint) and not prim.IsA(
            UsdPhysics.FixedJoint
        )
        if prim.IsA(UsdGeom.Gprim):
            faces = len(UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get() or ())
            primvars = UsdGeom.PrimvarsAPI(prim)
            counts["primitive shapes"] += not faces
            counts["faces"] += faces
            counts["faces that collide"] += faces * prim.HasAPI(UsdPhysics.CollisionAPI)
            counts["faces with normals"] += faces * primvars.HasPrimvar("normals")
            counts["faces with texture coordinates"] += faces * primvars.HasPrimvar("st")
    return dict(counts)


def main() -> None:
    # Converters print to the standard output.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        answer: dict[str, object] = {}
        try:
            run(job["urdf"], job["packages"], job["folder"])
            answer = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
            answer["content"] = content(Path(job["folder"]))
        # Any exception of a converter is recorded.
        except Exception as error:  # noqa: BLE001
            answer["error"] = repr(error)
        answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
