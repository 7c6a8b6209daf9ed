"""Opening of a USD: files outside its folder, and its variants.

Layers are first visited without composition: sublayers, references and payloads, in all variants.
With ``strict``, those outside the folder of the root layer are not opened. Missing files are
reported by composition. Selections of variants are authored in the session layer; no file is
changed. A variant can contain further variant sets, which exist only while it is selected.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PureWindowsPath

from msgspec import Struct
from pxr import Ar, Sdf, Tf, Usd, UsdPhysics, UsdUtils

from urdf_usd.converter.diagnostics import (
    LONG_TEXT,
    Diagnostic,
    StageError,
    escaped,
    truncate,
    truncate_list,
)
from urdf_usd.converter.options import VariantChoice

# Messages of OpenUSD that are repeated for one error.
_MOST_REASONS = 3
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
# Combinations of variants that are checked at most.
_MOST_COMBINATIONS = 64
# Name of variants without what their set is about, in Isaac Sim and in our assets.
_NONE = "none"
_PHYSICS, _COLLIDERS = "physics", "colliders"


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
        checked: Whether its files are known, so that those outside its folder are not reported.

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
    return OpenedStage(stage, selected, (*outside, *notes, *unselected_variant_sets(stage)))


def openusd_reason(error: Tf.ErrorException) -> str:
    """Return the first messages of OpenUSD, without its source files."""
    try:
        found = dict.fromkeys(" ".join(one.commentary.split()) for one in error.args)
    except UnicodeDecodeError:
        return "it is no USD, and no text in UTF-8"
    return "; ".join(truncate(one, LONG_TEXT) for one in [*found][:_MOST_REASONS])


def named_prim(stage: Usd.Stage, path: str) -> Usd.Prim:
    """Return the prim that ``--root`` names; StageError if there is none."""
    valid = Sdf.Path.IsValidPathString(path) and Sdf.Path(path).IsAbsolutePath()
    prim = stage.GetPrimAtPath(path) if valid else None
    if not prim or prim.IsPseudoRoot():
        message = f"the stage has no prim {path}, which --root names"
        raise StageError((Diagnostic("stage-structure", message),))
    return prim


def _visit(root: str, *, strict: bool) -> tuple[list[Sdf.Layer], tuple[Diagnostic, ...]]:
    """Open all layers that a USD could be composed of, without composing them.

    Files outside the folder of the root layer have a diagnostic for each layer that refers to them
    and folder.
    """
    layers: list[Sdf.Layer] = []
    # What a layer refers to outside, and how a message names it.
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
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
            composed = set(layer.GetCompositionAssetDependencies()) - {""}
            named = composed.union(*UsdUtils.ExtractExternalReferences(layer.identifier)) - {""}
            folders = [Path(x).absolute().parent for x in (root, _outer_path(layer.identifier))]
            targets = {asset: _outside(layer, asset, folders) for asset in sorted(named)}
            outside = {asset: target for asset, target in targets.items() if target}
            places = _places(layer) if outside else {}
            for asset, target in outside.items():
                # Identifiers and dependencies in assetInfo are not read.
                if asset in composed or places.get(asset) != "":
                    at = f" at <{places[asset]}>" if places.get(asset) else ""
                    folder = os.path.dirname(target)  # noqa: PTH120  may be a URI
                    found[layer.identifier, folder].append(f"{at} to @{asset}@, that is {target}")
            for asset in sorted(composed):
                path = layer.ComputeAbsolutePath(asset)
                if path not in pending and not (strict and asset in outside):
                    pending.append(path)
    rule = "asset-outside-refused" if strict else "asset-outside"
    return layers, tuple(
        Diagnostic(
            rule,
            f"{identifier} refers{first}, outside the folder of the asset"
            + (f"; so are {len(more)} more in {folder}" if more else ""),
        )
        for (identifier, folder), (first, *more) in found.items()
    )


def _outside(layer: Sdf.Layer, asset: str, folders: list[Path]) -> str | None:
    """Return the target of a file outside of folders."""
    path = _outer_path(layer.ComputeAbsolutePath(asset))
    asset = _outer_path(asset)
    has_drive = os.name != "nt" and PureWindowsPath(asset).drive and not asset.startswith("/")
    if _URI.match(asset) or has_drive:
        return asset
    resolved = Ar.GetResolver().Resolve(path).GetPathString() or path
    # Search paths of missing files are relative to the layer.
    target = os.path.realpath(folders[-1] / resolved.replace("\\", "/"))
    is_inside = any(Path(target).is_relative_to(os.path.realpath(one)) for one in folders)
    return None if is_inside else target


def _outer_path(identifier: str) -> str:
    """Return the path of a file, or of the package that contains it."""
    outer, _ = Ar.SplitPackageRelativePathOuter(identifier)
    path: str = Sdf.Layer.SplitIdentifier(outer)[0]
    return path


def _places(layer: Sdf.Layer) -> dict[str, str]:
    """Return where in a layer each asset is referred to first; empty if in assetInfo alone."""
    places: dict[str, str] = {}

    def add(path: Sdf.Path) -> None:
        # The path of a variant set has neither.
        find = layer.GetPropertyAtPath if path.IsPropertyPath() else layer.GetPrimAtPath
        spec = find(path)
        keys = spec.ListInfoKeys() if spec else ()
        for key in (key for key in keys if not key.startswith("subLayer")):
            for asset in _asset_paths(spec.GetInfo(key)):
                places[asset] = places.get(asset) or (str(path) if key != "assetInfo" else "")

    layer.Traverse(Sdf.Path.absoluteRootPath, add)
    return places


def _asset_paths(value: object) -> Iterator[str]:
    match value:
        case Sdf.AssetPath():
            yield value.path
        case Sdf.AssetPathArray():
            yield from (one.path for one in value)
        case Sdf.ReferenceListOp() | Sdf.PayloadListOp():
            yield from (one.assetPath for one in value.GetAddedOrExplicitItems())
        case dict():
            for inner in value.values():
                yield from _asset_paths(inner)


class VariantSet(Struct, frozen=True):
    prim: str  # path of the prim
    name: str
    variants: tuple[str, ...]  # names, sorted
    selection: str  # selected variant, which may not exist; empty if there is none

    def __str__(self) -> str:
        return f"{self.prim}:{self.name} ({', '.join(self.variants)})"


def robot_variant_sets(stage: Usd.Stage) -> Iterator[VariantSet]:
    """Yield the variant sets at and below the default prim, else of all prims; not in instances."""
    yield from _variant_sets(stage.GetDefaultPrim() or stage.GetPseudoRoot())


def _variant_sets(root: Usd.Prim, *, below: bool = True) -> Iterator[VariantSet]:
    for prim in Usd.PrimRange(root) if below else (root,):
        sets = prim.GetVariantSets()
        for name in sets.GetNames() if prim.HasVariantSets() else ():
            variants = tuple(sorted(sets.GetVariantSet(name).GetVariantNames()))
            if variants:
                selection = sets.GetVariantSelection(name)
                yield VariantSet(str(prim.GetPath()), name, variants, selection)


def unselected_variant_sets(stage: Usd.Stage) -> Iterator[Diagnostic]:
    """Report the variant sets of the robot without a selection that exists."""
    for each in robot_variant_sets(stage):
        if each.selection not in each.variants:
            problem = "has no selection"
            if each.selection:
                problem = f"selects {each.selection!r}, which does not exist"
            message = f"variant set {each} {problem}: --variant {each.prim}:{each.name}=NAME"
            message += " selects one"
            yield Diagnostic("variant-unselected", message)


def select_variants(
    stage: Usd.Stage, choices: Iterable[VariantChoice], *, optional: bool = False
) -> tuple[tuple[VariantChoice, ...], tuple[Diagnostic, ...]]:
    """Select variants in the session layer, in any order that nested sets require.

    Of several choices for one set, the last counts. Returns those that were applied, each with its
    prim, and a note for each set that the stage lacks, if that is allowed (``optional``).

    Raises:
        StageError: A prim, set or variant does not exist, or several prims have the set.
    """
    pending = list(choices)
    selected: dict[tuple[str, str], VariantChoice] = {}
    # One at a time: a variant may contain the next set, or remove it.
    while applicable := [
        (choice, owners[0])
        for choice in pending
        if len(owners := _owners(stage, choice)) == 1 and choice.variant in owners[0].variants
    ]:
        choice, owner = applicable[0]
        pending.remove(choice)
        _author(stage, owner, choice.variant)
        selected[owner.prim, owner.name] = VariantChoice(owner.name, choice.variant, owner.prim)
    removed = [
        choice
        for choice in selected.values()
        if [owner.selection for owner in _owners(stage, choice)] != [choice.variant]
    ]
    notes = []
    for choice in (*pending, *removed):
        owners = _owners(stage, choice)
        every = owners or list(_variant_sets(stage.GetPseudoRoot()))
        listed = ", ".join(truncate_list(map(str, every))) or "none"
        count = f"{len(owners)} prims have" if len(owners) > 1 else "the USD does not have"
        message = f"{count} the variant {choice}; variant sets are {listed}"
        if not (optional and len(owners) != 1 and choice in pending):
            raise StageError((Diagnostic("variant-unknown", message),))
        notes.append(Diagnostic("variant-absent", f"{message}; the USD is read as it is"))
    return tuple(selected.values()), tuple(notes)


def _author(stage: Usd.Stage, owner: VariantSet, variant: str) -> None:
    over = Sdf.CreatePrimInLayer(stage.GetSessionLayer(), owner.prim)
    over.variantSelections[owner.name] = variant


def _owners(stage: Usd.Stage, choice: VariantChoice) -> list[VariantSet]:
    """Return the variant sets of a choice: of its prim or the default prim, else of any prim."""
    if choice.prim is None:
        prim = stage.GetDefaultPrim()
    else:
        is_valid = Sdf.Path.IsValidPathString(choice.prim)
        is_valid = is_valid and Sdf.Path(choice.prim).IsAbsoluteRootOrPrimPath()
        prim = stage.GetPrimAtPath(choice.prim) if is_valid else None
    # Nothing can be authored in an instance.
    own = _variant_sets(prim, below=False) if prim and not prim.IsInstanceProxy() else ()
    found = [each for each in own if each.name == choice.variant_set]
    if found or choice.prim is not None:
        return found
    every = _variant_sets(stage.GetPseudoRoot())
    return [each for each in every if each.name == choice.variant_set]


class Combination(Struct, frozen=True):
    """A combination of variants of a robot."""

    choices: tuple[VariantChoice, ...]  # one for each variant set, with prims
    # The choice of a variant with the name ``none`` without which the robot has physics or
    # colliders, and these words; None if there is no such choice
    omission: tuple[VariantChoice, str] | None = None


def variant_combinations(
    stage: Usd.Stage, choices: Sequence[VariantChoice] = ()
) -> tuple[Combination, ...]:
    """List all combinations of variants of the robot, which have some choices in common.

    These come first; omissions by them are not stated. The session layer of the stage is edited.

    Raises:
        StageError: A choice does not exist, or there are more than 64 combinations.
    """
    given, _ = select_variants(stage, choices)
    # What each combination has of physics and colliders.
    found: dict[tuple[VariantChoice, ...], set[str]] = {}

    def visit(selected: tuple[VariantChoice, ...]) -> None:
        known = {(choice.prim, choice.variant_set) for choice in selected}
        sets = robot_variant_sets(stage)
        following = next((each for each in sets if (each.prim, each.name) not in known), None)
        if following is None:
            kinds = found[selected] = set()
            root = stage.GetDefaultPrim() or stage.GetPseudoRoot()
            for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()):
                if prim.HasAPI(UsdPhysics.CollisionAPI):
                    kinds |= {_PHYSICS, _COLLIDERS}
                elif prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.IsA(UsdPhysics.Joint):
                    kinds.add(_PHYSICS)
            if len(found) > _MOST_COMBINATIONS:
                listed = ", ".join(truncate_list(map(str, robot_variant_sets(stage))))
                message = f"variant sets have more than {_MOST_COMBINATIONS} combinations: {listed}"
                raise StageError((Diagnostic("variant-combinations", message),))
            return
        for variant in following.variants:
            _author(stage, following, variant)
            visit((*selected, VariantChoice(following.name, variant, following.prim)))
        over = stage.GetSessionLayer().GetPrimAtPath(following.prim)
        del over.variantSelections[following.name]

    def omission(combination: tuple[VariantChoice, ...]) -> tuple[VariantChoice, str] | None:
        for place in range(len(given), len(combination)):
            choice = combination[place]
            same = (*combination[:place], *combination[place + 1 :])
            others = (one for one in found if (*one[:place], *one[place + 1 :]) == same)
            kinds = set[str]().union(*(found[one] for one in others)) - found[combination]
            for kind in (_PHYSICS, _COLLIDERS) if choice.variant == _NONE else ():
                if kind in kinds:
                    return choice, kind
        return None

    visit(given)
    return tuple(Combination(each, omission(each)) for each in found)


def selecting_layer(root: str, choices: Iterable[VariantChoice], default: str | None = None) -> str:
    """Return the text of a layer over a USD, of absolute path, that selects variants and prim."""
    below = Sdf.Layer.FindOrOpen(root)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # Stage metadata is read from the root layer alone; relocations of all sublayers.
    for key in below.pseudoRoot.ListInfoKeys():
        if not key.startswith("subLayer") and key != "layerRelocates":
            layer.pseudoRoot.SetInfo(key, below.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(below.identifier)
    if default is not None:
        layer.defaultPrim = default
    for choice in choices:
        over = Sdf.CreatePrimInLayer(layer, choice.prim)
        over.variantSelections[choice.variant_set] = choice.variant
    text: str = layer.ExportToString()
    return text
