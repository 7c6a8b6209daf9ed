"""The interface of an asset: what it is, how large, and what can be switched off.

``Physics`` and ``Colliders`` are variant sets of the default prim, so that choosing
needs no edit of the asset. The first has the names that Isaac Sim gives it. ``none``
composes no layer with physics; without colliders, all bodies keep their authored mass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Gf, Kind, Sdf, Tf, Usd, UsdGeom

from urdf_usd.converter.usd.writer.names import show_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from urdf_usd.converter.robot.model import Robot

PHYSICS_SET = "Physics"
COLLIDERS_SET = "Colliders"
WITH_PHYSICS = "physics"
WITH_COLLIDERS = "colliders"
NONE = "none"
# By it a folder is known whose files may be replaced.
CREATOR = "urdf-usd convert"


def author_interface(
    stage: Usd.Stage,
    path: Sdf.Path,
    robot: Robot,
    contents: Usd.Stage,
    choices: Mapping[str, Mapping[str, Sequence[str]]],
) -> None:
    """Write the interface layer.

    Args:
        stage: Empty stage of the layer.
        path: Default prim.
        robot: The robot.
        contents: Stage of all that the asset holds.
        choices: Payloads, strongest first, of every variant, by name of its set;
            stronger sets and default variants come first.
    """
    layer = stage.GetRootLayer()
    layer.customLayerData = {"creator": CREATOR}
    prim = UsdGeom.Xform.Define(stage, path).GetPrim()
    stage.SetDefaultPrim(prim)
    show_name(prim, robot.name)
    model = Usd.ModelAPI(prim)
    model.SetKind(Kind.Tokens.component)
    model.SetAssetName(robot.name)
    model.SetAssetIdentifier(Sdf.AssetPath(f"./{layer.GetDisplayName()}"))
    extent = _extent(contents.GetDefaultPrim())
    if extent is not None:
        UsdGeom.ModelAPI.Apply(prim).SetExtentsHint(extent)
    for name, variants in choices.items():
        _author_choice(prim, name, variants)


def author_inactive(layer: Sdf.Layer, paths: Iterable[Sdf.Path]) -> None:
    """Deactivate prims that other layers define."""
    for path in paths:
        Sdf.CreatePrimInLayer(layer, path).active = False


def is_written_here(file: Path) -> bool:
    """Return whether a root layer stems from a conversion."""
    try:
        layer = Sdf.Layer.OpenAsAnonymous(str(file), metadataOnly=True)
    except Tf.ErrorException:
        return False
    return bool(layer and layer.customLayerData.get("creator") == CREATOR)


def _author_choice(
    prim: Usd.Prim, name: str, variants: Mapping[str, Sequence[str]]
) -> None:
    back = Usd.ListPositionBackOfPrependList
    chosen = prim.GetVariantSets().AddVariantSet(name, back)
    for variant, payloads in variants.items():
        chosen.AddVariant(variant)
        chosen.SetVariantSelection(variant)
        with chosen.GetVariantEditContext():
            for payload in payloads:
                prim.GetPayloads().AddPayload(payload, position=back)
    chosen.SetVariantSelection(next(iter(variants)))


def _extent(prim: Usd.Prim) -> list[Gf.Vec3f] | None:
    """Bound what is seen, or, where nothing is, what is touched; None without either.

    The hint has one entry. Further ones, for other purposes, would have to state
    bounds of nothing for those between, which are not finite.
    """
    for purpose in (UsdGeom.Tokens.default_, UsdGeom.Tokens.guide):
        cache = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [purpose])
        bound = cache.ComputeUntransformedBound(prim).ComputeAlignedRange()
        if not bound.IsEmpty():
            return [Gf.Vec3f(bound.GetMin()), Gf.Vec3f(bound.GetMax())]
    return None
