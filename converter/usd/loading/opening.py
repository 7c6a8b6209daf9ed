"""Opening of a stage, with a report of files outside the folder of its root layer.

Layers are first visited without composition: sublayers, references and payloads, in all
variants. With ``strict``, those outside are not opened. A layer outside is reported once:
files in its own folder are not. Missing files are reported by composition.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PureWindowsPath

from msgspec import Struct
from pxr import Ar, Sdf, Tf, Usd, UsdUtils

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.messages import LONG_TEXT, escaped, truncate
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.usd.loading.variants import select_variants, unselected_variant_sets

# Messages of OpenUSD that are repeated for one error.
_MOST_REASONS = 3
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


class OpenedStage(Struct, frozen=True, eq=False):
    """A stage with all payloads."""

    stage: Usd.Stage  # its session layer selects variants
    variants: tuple[VariantChoice, ...]  # that were selected, with their prims
    # files outside the folder of the asset, and variant sets without selection
    diagnostics: tuple[Diagnostic, ...]


def open_stage(
    path: str | os.PathLike[str],
    variants: Iterable[VariantChoice] = (),
    *,
    optional: bool = False,
    strict: bool = False,
    checked: bool = False,
) -> OpenedStage:
    """Open a USD file with all payloads.

    Args:
        path: Root layer.
        variants: Variants to select.
        optional: Whether the stage may lack variant sets that ``variants`` names.
        strict: Whether to refuse a USD that refers to files outside its folder.
        checked: Whether its files were visited before, or written by this converter;
            those outside its folder are not reported, then.

    Raises:
        StageError: It cannot be opened, is refused, or lacks a variant.
    """
    if escaped(path) != os.fspath(path):
        message = f"{escaped(path)} cannot be opened: its path is not UTF-8; rename it"
        raise StageError((Diagnostic("stage-unreadable", message),))
    layers: list[Sdf.Layer] = []
    outside: tuple[Diagnostic, ...] = ()
    if not checked:
        # Keeps the layers open, so that composition does not read them again.
        layers, outside = _visit(os.fspath(path), strict=strict)
    if strict and outside:
        raise StageError(outside)
    try:
        stage = Usd.Stage.Open(str(path))
        selected, notes = select_variants(stage, variants, optional=optional)
    except Tf.ErrorException as error:
        message = f"{path} cannot be opened: {openusd_reason(error)}"
        raise StageError((Diagnostic("stage-unreadable", message),)) from error
    del layers
    unselected = unselected_variant_sets(stage)
    return OpenedStage(stage, selected, (*outside, *notes, *unselected))


def openusd_reason(error: Tf.ErrorException) -> str:
    """Return the first messages of OpenUSD, without its source files."""
    try:
        found = dict.fromkeys(" ".join(one.commentary.split()) for one in error.args)
    except UnicodeDecodeError:
        return "it is no USD, and no text in UTF-8"
    return "; ".join(truncate(one, LONG_TEXT) for one in [*found][:_MOST_REASONS])


def named_prim(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return the prim that ``--root`` names.

    Raises:
        StageError: There is none.
    """
    valid = Sdf.Path.IsValidPathString(path) and Sdf.Path(path).IsAbsolutePath()
    prim = stage.GetPrimAtPath(path) if valid else None
    if not prim or prim.IsPseudoRoot():
        message = f"the stage has no prim {path}, which --root names"
        raise StageError((Diagnostic("stage-structure", message),))
    return prim


def _visit(root: str, *, strict: bool) -> tuple[list[Sdf.Layer], tuple[Diagnostic, ...]]:
    """Open all layers that a USD could be composed of, without composing them.

    Returns:
        The layers, and diagnostics of files outside the folder of the root layer.
    """
    layers: list[Sdf.Layer] = []
    found: list[_Outside] = []
    pending = [root]
    resolver = Ar.GetResolver()
    # As in Usd.Stage.Open: search paths start in the folder of the root layer.
    with Ar.ResolverContextBinder(resolver.CreateDefaultContextForAsset(root)):
        for identifier in pending:
            try:
                layer = Sdf.Layer.FindOrOpen(identifier)
            except Tf.ErrorException:
                # Composition reports it if it needs the layer.
                layer = None
            if layer is None:
                continue
            layers.append(layer)
            composed = set(layer.GetCompositionAssetDependencies())
            named = composed.union(*UsdUtils.ExtractExternalReferences(layer.identifier))
            outside = _outside_of(root, layer, sorted(named - {""}), composed)
            found += outside.values()
            for asset in sorted(composed - {""}):
                target = layer.ComputeAbsolutePath(asset)
                if target not in pending and not (strict and asset in outside):
                    pending.append(target)
    return layers, tuple(_reported(found, strict=strict))


class _Outside(Struct, frozen=True):
    """A file outside the folder of the root layer."""

    layer: str  # that refers to it
    asset: str  # as the layer has it
    place: str | None  # path in the layer that refers to it; None if that is not known
    target: str  # resolved path, or the URI
    how: str  # why it is outside: the end of a message


def _outside_of(
    root: str, layer: Sdf.Layer, named: Iterable[str], composed: Iterable[str]
) -> dict[str, _Outside]:
    """Return the files outside the folder of the root layer and of this layer."""
    folders = [Path(path).absolute().parent for path in (root, _outer_path(layer.identifier))]
    found = {asset: how for asset in named if (how := _how_outside(layer, asset, folders))}
    if not found:
        return {}
    # Identifiers and dependencies in assetInfo are not read.
    places, listed = _places(layer)
    return {
        asset: _Outside(layer.identifier, asset, places.get(asset), *how)
        for asset, how in found.items()
        if asset in composed or asset in places or asset not in listed
    }


def _reported(found: Iterable[_Outside], *, strict: bool) -> Iterator[Diagnostic]:
    """Report files outside the folder, one line for each layer and folder."""
    groups: defaultdict[tuple[str, str], list[_Outside]] = defaultdict(list)
    for each in found:
        groups[each.layer, os.path.dirname(each.target)].append(each)  # noqa: PTH120  may be a URI
    rule = "asset-outside-refused" if strict else "asset-outside"
    for (layer, folder), (first, *more) in groups.items():
        place = f" at <{first.place}>" if first.place else ""
        others = f"; so are {len(more)} more in {folder}" if len(more) > 1 else ""
        if len(more) == 1:
            others = f"; so is @{more[0].asset}@"
        yield Diagnostic(
            rule,
            f"{layer} refers{place} to @{first.asset}@, {first.how}, outside"
            f" the folder of the asset{others}",
        )


def _how_outside(layer: Sdf.Layer, asset: str, folders: list[Path]) -> tuple[str, str] | None:
    """Return the target of a file outside of folders, and how a message names it."""
    path = _outer_path(layer.ComputeAbsolutePath(asset))
    asset = _outer_path(asset)
    if _URI.match(asset):
        return asset, "a URI"
    if os.name != "nt" and PureWindowsPath(asset).drive and not asset.startswith("/"):
        return asset, "a path with a drive"
    resolved = Ar.GetResolver().Resolve(path).GetPathString() or path
    # Search paths of missing files are relative to the layer.
    absolute = os.path.normpath(folders[-1] / resolved.replace("\\", "/"))
    target = os.path.realpath(absolute)
    if any(Path(target).is_relative_to(os.path.realpath(folder)) for folder in folders):
        return None
    if any(Path(absolute).is_relative_to(os.path.normpath(folder)) for folder in folders):
        return target, f"by a symbolic link {target}"
    return target, "an absolute path" if asset.startswith("/") else f"that is {target}"


def _outer_path(identifier: str) -> str:
    """Return the path of a file, or of the package that contains it."""
    outer, _ = Ar.SplitPackageRelativePathOuter(identifier)
    path: str = Sdf.Layer.SplitIdentifier(outer)[0]
    return path


def _places(layer: Sdf.Layer) -> tuple[dict[str, str], set[str]]:
    """Return where in a layer each asset is referred to first, and those in assetInfo."""
    places: dict[str, str] = {}
    listed: set[str] = set()

    def add(path: Sdf.Path) -> None:
        spec = layer.GetObjectAtPath(path)
        if spec is not None and spec.HasInfo("assetInfo"):
            listed.update(_asset_paths(spec.GetInfo("assetInfo")))
        for asset in _assets_at(layer, path):
            places.setdefault(asset, str(path))

    layer.Traverse(Sdf.Path.absoluteRootPath, add)
    return places, listed


def _assets_at(layer: Sdf.Layer, path: Sdf.Path) -> Iterator[str]:
    if path.IsPropertyPath():
        spec = layer.GetPropertyAtPath(path)
        if not isinstance(spec, Sdf.AttributeSpec):
            return
        yield from _asset_paths(spec.default)
        for time in layer.ListTimeSamplesForPath(path):
            yield from _asset_paths(layer.QueryTimeSample(path, time))
    # The path of a variant set has no prim.
    elif spec := layer.GetPrimAtPath(path):
        for items in (spec.referenceList, spec.payloadList):
            yield from (one.assetPath for one in items.GetAddedOrExplicitItems())
        for key in ("clips", "customData"):
            if spec.HasInfo(key):
                yield from _asset_paths(spec.GetInfo(key))


def _asset_paths(value: object) -> Iterator[str]:
    match value:
        case Sdf.AssetPath():
            yield value.path
        case Sdf.AssetPathArray():
            yield from (one.path for one in value)
        case dict():
            for inner in value.values():
                yield from _asset_paths(inner)
        case _:
            return
