"""Converts a URDF or MJCF with Isaac Sim's importers: ``isaac_import.py FILE OUT [NAME=PATH…]``.

Runs in an environment with ``isaacsim-asset-isolated``. The importers leave the variant
of the physics open; here it is the one for PhysX.
"""

from __future__ import annotations

import sys

from isaacsim.asset.importer.mjcf import MJCFImporter, MJCFImporterConfig
from isaacsim.asset.importer.urdf import URDFImporter, URDFImporterConfig
from pxr import Sdf


def main(source: str, out: str, *packages: str) -> None:
    if source.endswith(".xml"):
        path = MJCFImporter(MJCFImporterConfig(mjcf_path=source, usd_path=out)).import_mjcf()
    else:
        folders = (package.split("=", 1) for package in packages)
        config = URDFImporterConfig(
            urdf_path=source,
            usd_path=out,
            ros_package_paths=[{"name": name, "path": path} for name, path in folders],
        )
        path = URDFImporter(config).import_urdf()
    layer = Sdf.Layer.FindOrOpen(path)
    prim = layer.GetPrimAtPath(f"/{layer.defaultPrim}")
    names = [variant.name for variant in prim.variantSets["Physics"].variants]
    # Assets without joints have no variant for PhysX.
    prim.variantSelections["Physics"] = "physx" if "physx" in names else "physics"
    layer.Save()
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
