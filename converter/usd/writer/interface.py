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

from pxr import Gf, Kind, Sdf, Tf, Usd, UsdGeom

from urdf_usd.converter.robot.model import Robot
from urdf_usd.converter.usd.writer.names import show_name

PHYSICS_SET = "Physics"
COLLIDERS_SET = "Colliders"
WITH_PHYSICS = "physics"
WITH_NEWTON = "newton"
WITH_PHYSX = "physx"
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


def author_interface(  # noqa: PLR0917  # one parameter per input
    stage: Usd.Stage,
    path: Sdf.Path,
    robot: Robot,
    version: str,
    contents: Usd.Stage,
    choices: Mapping[str, Mapping[str, Sequence[str]]],
    arc: Arc,
) -> None:
    """Write the interface layer.

    Args:
        stage: Empty stage of the layer.
        path: Default prim.
        robot: The robot.
        version: Version of the asset.
        contents: Stage with the content of the asset.
        choices: Layers, strongest first, by variant and variant set; stronger sets
            and default variants first.
        arc: How variants have these layers.
    """
    layer = stage.GetRootLayer()
    layer.customLayerData = {"creator": CREATOR}
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    stage.SetDefaultPrim(prim)
    show_name(prim, robot.name)
    model = Usd.ModelAPI(prim)
    model.SetKind(Kind.Tokens.component)
    model.SetAssetName(robot.name)
    model.SetAssetVersion(version)
    model.SetAssetIdentifier(Sdf.AssetPath(f"./{layer.GetDisplayName()}"))
    extent = _extent(contents.GetDefaultPrim())
    if extent is not None:
        UsdGeom.ModelAPI.Apply(prim).SetExtentsHint(extent)
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
    prim: Usd.Prim, name: str, variants: Mapping[str, Sequence[str]], arc: Arc
) -> None:
    """Add a variant set whose first variant is selected.

    Args:
        prim: The default prim.
        name: Name of the set, which becomes the weakest.
        variants: Layers, strongest first, by variant.
        arc: How variants have these layers.
    """
    back = Usd.ListPositionBackOfPrependList
    chosen = prim.GetVariantSets().AddVariantSet(name, back)
    for variant, layers in variants.items():
        chosen.AddVariant(variant)
        chosen.SetVariantSelection(variant)
        with chosen.GetVariantEditContext():
            for layer in layers:
                if arc is Arc.PAYLOAD:
                    prim.GetPayloads().AddPayload(layer, position=back)
                else:
                    prim.GetReferences().AddReference(layer, position=back)
    chosen.SetVariantSelection(next(iter(variants)))


def _extent(prim: Usd.Prim) -> list[Gf.Vec3f] | None:
    """Return the extent of visuals, otherwise of colliders; None without both.

    The hint has only the entry of the default purpose; entries for others would need
    empty, hence infinite, bounds for the purposes in between.
    """
    for purpose in (UsdGeom.Tokens.default_, UsdGeom.Tokens.guide):
        cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [purpose])
        bound = cache.ComputeUntransformedBound(prim).ComputeAlignedRange()
        if not bound.IsEmpty():
            return [Gf.Vec3f(bound.GetMin()), Gf.Vec3f(bound.GetMax())]
    return None
