"""The interface layer of an asset: metadata, extent and variants.

``Physics`` and ``Colliders`` are variant sets of the default prim; the first is named
as in Isaac Sim. The variant ``none`` of ``Physics`` composes no layer with physics;
that of ``Colliders`` deactivates colliders, and bodies keep their authored mass.
An asset for several simulators has a variant of ``Physics`` for each, with UsdPhysics
and the schemas of that simulator; ``physics`` has UsdPhysics alone. In the profile of
SimReady each simulator has a variant set of its own, with ``Disabled`` and ``Enabled``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from pxr import Gf, Sdf, Tf, Vt

from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.usd.writer.specs import (
    apply,
    define,
    show_spec_name,
    write_new,
)

PHYSICS_SET = "Physics"
COLLIDERS_SET = "Colliders"
WITH_PHYSICS = "physics"
WITH_NEWTON = "newton"
WITH_PHYSX = "physx"
WITH_MUJOCO = "mujoco"
WITH_COLLIDERS = "colliders"
NONE = "none"
# Variants of the sets of simulators (SimReady, RV.001 and RV.004).
DISABLED = "Disabled"
ENABLED = "Enabled"
# Version of an asset whose URDF is in no versioned package.
UNVERSIONED = "0.0.0"
# Identifies assets that may be replaced.
CREATOR = "urdf-usd convert"


class Arc(Enum):
    """Composition arc from the interface to the content."""

    PAYLOAD = "payload"
    REFERENCE = "reference"


def author_interface(  # one parameter per input
    layer: Sdf.Layer,
    path: Sdf.Path,
    robot: Robot,
    version: str,
    extent: Gf.Range3d,
    choices: Mapping[str, Mapping[str, Sequence[str]]],
    arc: Arc,
) -> None:
    """Write the interface layer.

    Args:
        layer: The empty layer; faster if no stage composes it yet.
        path: Default prim.
        robot: The robot.
        version: Version of the asset.
        extent: Extent of the robot at rest [m]; empty without shapes.
        choices: Layers, strongest first, by variant and variant set; stronger sets
            and default variants first.
        arc: How variants have these layers.
    """
    layer.customLayerData = {"creator": CREATOR}
    prim = define(layer, path, "Xform")
    layer.defaultPrim = path.name
    show_spec_name(prim, robot.name)
    prim.kind = "component"
    prim.assetInfo = {
        "name": robot.name,
        "version": version,
        "identifier": Sdf.AssetPath(f"./{layer.GetDisplayName()}"),
    }
    if not extent.IsEmpty():
        apply(prim, "GeomModelAPI")
        # One entry, of the default purpose: entries for others would need empty, hence
        # infinite, bounds for the purposes in between.
        ends = Vt.Vec3fArray([Gf.Vec3f(extent.min), Gf.Vec3f(extent.max)])
        write_new(prim, "extentsHint", Sdf.ValueTypeNames.Float3Array, ends)
    for name, variants in choices.items():
        author_choice(prim, name, variants, arc)


def author_inactive(layer: Sdf.Layer, paths: Iterable[Sdf.Path]) -> None:
    """Deactivate prims that other layers define."""
    for path in paths:
        Sdf.CreatePrimInLayer(layer, path).active = False


def is_written_here(file: Path) -> bool:
    """Return whether a root layer was written by a conversion."""
    try:
        layer = Sdf.Layer.OpenAsAnonymous(str(file), metadataOnly=True)
    except Tf.ErrorException:
        return False
    return bool(layer and layer.customLayerData.get("creator") == CREATOR)


def author_choice(
    prim: Sdf.PrimSpec, name: str, variants: Mapping[str, Sequence[str]], arc: Arc
) -> None:
    """Add a variant set whose first variant is selected.

    Args:
        prim: The default prim.
        name: Name of the set, which becomes the weakest.
        variants: Layers, strongest first, by variant.
        arc: How variants have these layers.
    """
    prim.variantSetNameList.prependedItems.append(name)
    chosen = Sdf.VariantSetSpec(prim, name)
    for variant, layers in variants.items():
        content = Sdf.VariantSpec(chosen, variant).primSpec
        for layer in layers:
            if arc is Arc.PAYLOAD:
                content.payloadList.prependedItems.append(Sdf.Payload(layer))
            else:
                content.referenceList.prependedItems.append(Sdf.Reference(layer))
    prim.variantSelections[name] = next(iter(variants))
