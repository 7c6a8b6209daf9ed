"""Check of the files of a USD before OpenUSD composes them.

OpenUSD opens every file that a layer refers to; reading a pipe blocks, and reading a
device does not end. The layers are therefore first visited without composition:
sublayers, references and payloads, in all variants. For value clips and asset
attributes, such as textures and MDL modules, only the kind of file is checked. Missing
files are reported by composition.

Files outside the folder of the root layer are reported, or refused before they are
opened. A layer outside of it is reported once: files in its own folder are not.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path, PureWindowsPath
from typing import NoReturn

from msgspec import Struct, field
from pxr import Ar, Sdf, Tf, UsdUtils

from urdf_usd.converter.diagnostics import Diagnostic, StageError


class LayerBounds(Struct, frozen=True):
    """Limits of the layers of one USD.

    Attributes:
        paths: Number of distinct asset paths in its layers, found or not.
        size: Of all its layers together [B]; a package counts once.
    """

    paths: int = 10_000
    size: int = 4 * 2**30


LAYER_BOUNDS = LayerBounds()

_SPECIAL = (
    (stat.S_ISFIFO, "a pipe (FIFO)"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class OpenLayers(Struct, frozen=True, eq=False):
    """The layers of a USD.

    Attributes:
        layers: The open layers, the root layer first. Composition does not read them
            again while they are referenced.
        outside: Files outside the folder of the root layer, by layer and folder.
    """

    layers: tuple[Sdf.Layer, ...]
    outside: tuple[Diagnostic, ...]


def open_layers(
    path: str | os.PathLike[str],
    bounds: LayerBounds = LAYER_BOUNDS,
    *,
    strict: bool = False,
) -> OpenLayers:
    """Open all layers that a USD could be composed of, without composing them.

    Layers that are missing or unreadable are omitted.

    Args:
        path: Root layer.
        bounds: Limits of the layers.
        strict: Whether to refuse files outside the folder of the root layer; they are
            not opened.

    Raises:
        StageError: A file is not regular, a limit is exceeded, or a file is outside
            the folder and ``strict``.
    """
    root = os.fspath(path)
    resolver = Ar.GetResolver()
    # As in Usd.Stage.Open: search paths start in the folder of the root layer.
    with Ar.ResolverContextBinder(resolver.CreateDefaultContextForAsset(root)):
        visit = _Visit(root, bounds, strict=strict)
        layers = tuple(visit.layers())
        outside = tuple(visit.outside())
    if strict and outside:
        raise StageError(outside)
    return OpenLayers(layers, outside)


class _Named(Struct, frozen=True):
    """A file that a layer refers to.

    Attributes:
        identifier: Of the file, anchored to the layer.
        asset: As the layer has it.
        layer: Identifier of the layer; None for the root layer itself.
        composed: Whether composition reads it as a layer.
    """

    identifier: str
    asset: str
    layer: str | None
    composed: bool

    def __str__(self) -> str:
        """Return the asset path and the layer, as the subject of a message."""
        if self.layer is None:
            return self.asset
        return f"{self.layer} refers to @{self.asset}@, which"


class _Outside(Struct, frozen=True):
    """A file outside the folder of the root layer.

    Attributes:
        named: The file, and the layer that refers to it.
        place: Path in the layer that refers to it; None if that is not known.
        target: Resolved path, or the URI.
        how: Why it is outside: the end of a message.
    """

    named: _Named
    place: str | None
    target: str
    how: str


class _Visit(Struct):
    """A traversal of the layers of a USD.

    Attributes:
        root: Path of the root layer.
        bounds: Limits of the layers.
        strict: Whether layers outside the folder of the root layer stay closed.
        leaving: The files outside that folder, as far as visited.
        real_path: Resolves symbolic links in the path of a folder.
    """

    root: str
    bounds: LayerBounds
    strict: bool
    leaving: list[_Outside] = field(default_factory=list)
    real_path: Callable[[Path], str] = field(default_factory=lambda: cache(os.path.realpath))

    def layers(self) -> Iterator[Sdf.Layer]:
        """Yield the layers, breadth first."""
        root, bounds = self.root, self.bounds
        pending = deque([_Named(root, root, None, composed=True)])
        known = {(root, True)}
        counted: set[str] = set()
        size = 0
        while pending:
            named = pending.popleft()
            file = _existing_file(named)
            if file is None or not named.composed:
                continue
            if file.path not in counted:
                counted.add(file.path)
                size += file.size
            if size > bounds.size:
                _refuse(
                    "layer-bounds",
                    f"the layers of {root} up to {named.identifier} are "
                    f"{size / 2**30:.1f} GiB, more than {bounds.size / 2**30:g} GiB",
                )
            layer = _opened(named.identifier)
            if layer is None:
                continue
            yield layer
            named_here = tuple(_named_by(layer))
            leaving = self._leaving(layer, named_here)
            self.leaving += leaving.values()
            for other in named_here:
                if (other.identifier, other.composed) in known:
                    continue
                known.add((other.identifier, other.composed))
                if not (self.strict and other in leaving):
                    pending.append(other)
                if len(known) > bounds.paths:
                    _refuse(
                        "layer-bounds",
                        f"the layers of {root} up to {named.identifier} name more than "
                        f"{bounds.paths} asset paths",
                    )

    def _leaving(self, layer: Sdf.Layer, named: Iterable[_Named]) -> dict[_Named, _Outside]:
        """Return the files outside the folder of the root layer and of this layer."""
        folders = tuple(
            Path(path).absolute().parent for path in (self.root, _outer_path(layer.identifier))
        )
        real = tuple(map(self.real_path, folders))
        found = {
            one: outside
            for one in named
            if (outside := _place_outside(one, folders, real)) is not None
        }
        if not found:
            return {}
        # Identifiers and dependencies in assetInfo are not read.
        places = _places(layer)
        listed = _in_asset_info(layer)
        return {
            one: _Outside(one, places.get(one.asset), *outside)
            for one, outside in found.items()
            if one.composed or one.asset in places or one.asset not in listed
        }

    def outside(self) -> Iterator[Diagnostic]:
        """Report files outside the folder, one line for each layer and folder."""
        groups: dict[tuple[str | None, str], list[_Outside]] = {}
        for each in self.leaving:
            key = each.named.layer, os.path.dirname(each.target)  # noqa: PTH120  may be a URI
            groups.setdefault(key, []).append(each)
        rule = "asset-outside-refused" if self.strict else "asset-outside"
        for (layer, folder), (first, *more) in groups.items():
            place = f" at <{first.place}>" if first.place else ""
            others = f"; so are {len(more)} more in {folder}" if len(more) > 1 else ""
            if len(more) == 1:
                others = f"; so is @{more[0].named.asset}@"
            yield Diagnostic(
                rule,
                f"{layer} refers{place} to @{first.named.asset}@, {first.how}, outside"
                f" the folder of the asset{others}",
            )


_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def _place_outside(
    named: _Named, folders: tuple[Path, ...], real: tuple[str, ...]
) -> tuple[str, str] | None:
    """Return the target of a file outside of folders, and how a message names it.

    Args:
        named: The file.
        folders: The folders, the last one of the layer that refers to it.
        real: The same without symbolic links.
    """
    asset = _outer_path(named.asset)
    if _URI.match(asset):
        return asset, "a URI"
    if os.name != "nt" and PureWindowsPath(asset).drive and not asset.startswith("/"):
        return asset, "a path with a drive"
    path = _outer_path(named.identifier)
    resolved = Ar.GetResolver().Resolve(path).GetPathString() or path
    # Search paths of missing files are relative.
    absolute = os.path.normpath(folders[-1] / resolved.replace("\\", "/"))
    target = os.path.realpath(absolute)
    if _is_within(target, real):
        return None
    if _is_within(absolute, map(os.path.normpath, folders)):
        return target, f"by a symbolic link {target}"
    return target, "an absolute path" if asset.startswith("/") else f"that is {target}"


def _is_within(path: str, folders: Iterable[str]) -> bool:
    return any(Path(path).is_relative_to(folder) for folder in folders)


def _outer_path(identifier: str) -> str:
    """Return the path of a file, or of the package that contains it."""
    outer, _ = Ar.SplitPackageRelativePathOuter(identifier)
    path: str = Sdf.Layer.SplitIdentifier(outer)[0]
    return path


def _places(layer: Sdf.Layer) -> dict[str, str]:
    """Return the first path in a layer at which each asset is referred to."""
    places: dict[str, str] = {}

    def add(path: Sdf.Path) -> None:
        for asset in _assets_at(layer, path):
            places.setdefault(asset, str(path))

    layer.Traverse(Sdf.Path.absoluteRootPath, add)
    return places


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


def _in_asset_info(layer: Sdf.Layer) -> frozenset[str]:
    """Return the assets in the assetInfo of all prims."""
    found: set[str] = set()

    def add(path: Sdf.Path) -> None:
        spec = layer.GetObjectAtPath(path)
        if spec is not None and spec.HasInfo("assetInfo"):
            found.update(_asset_paths(spec.GetInfo("assetInfo")))

    layer.Traverse(Sdf.Path.absoluteRootPath, add)
    return frozenset(found)


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


class _File(Struct, frozen=True):
    """An existing file, and its size [bytes]."""

    path: str
    size: int


def _existing_file(named: _Named) -> _File | None:
    """Return the file; None if it does not exist.

    Raises:
        StageError: It exists and is not a regular file.
    """
    # For a file in a package, the package is checked.
    outer, _ = Ar.SplitPackageRelativePathOuter(named.identifier)
    resolved = Ar.GetResolver().Resolve(Sdf.Layer.SplitIdentifier(outer)[0])
    if not resolved:
        return None
    path = resolved.GetPathString()
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        # Other resolvers may find assets that are no files.
        return _File(path, 0)
    mode = found.st_mode
    for is_special, kind in _SPECIAL:
        if is_special(mode):
            _refuse("layer-not-regular", f"{named} is {kind}")
    # An attribute may refer to a folder, which is not read.
    if stat.S_ISDIR(mode) and named.composed:
        _refuse("layer-not-regular", f"{named} is a folder")
    return _File(path, found.st_size)


def _opened(identifier: str) -> Sdf.Layer | None:
    try:
        return Sdf.Layer.FindOrOpen(identifier)
    except Tf.ErrorException:
        # Composition reports it if it needs the layer.
        return None


def _named_by(layer: Sdf.Layer) -> Iterator[_Named]:
    composed = set(layer.GetCompositionAssetDependencies())
    found = UsdUtils.ExtractExternalReferences(layer.identifier)
    for asset in sorted(composed.union(*found)):
        if not asset:
            continue
        identifier = layer.ComputeAbsolutePath(asset)
        yield _Named(identifier, asset, layer.identifier, asset in composed)


def _refuse(rule: str, message: str) -> NoReturn:
    raise StageError((Diagnostic(rule, message),))
