"""Check of the files of a USD before OpenUSD composes them.

OpenUSD opens every file that a layer refers to; reading a pipe blocks, and reading a
device does not end. The layers are therefore first visited without composition:
sublayers, references and payloads, in all variants. For value clips and asset
attributes, such as textures, only the kind of file is checked. Missing files are
reported by composition.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pxr import Ar, Sdf, Tf, UsdUtils

from urdf_usd.converter.diagnostics import Diagnostic, StageError


@dataclass(frozen=True, slots=True)
class LayerBounds:
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


def open_layers(
    path: str | os.PathLike[str], bounds: LayerBounds = LAYER_BOUNDS
) -> tuple[Sdf.Layer, ...]:
    """Open all layers that a USD could be composed of, without composing them.

    Composition does not read them again while they are referenced. Layers that are
    missing or unreadable are omitted.

    Args:
        path: Root layer.
        bounds: Limits of the layers.

    Raises:
        StageError: A file is not regular, or a limit is exceeded.
    """
    root = os.fspath(path)
    resolver = Ar.GetResolver()
    # As in Usd.Stage.Open: search paths start in the folder of the root layer.
    with Ar.ResolverContextBinder(resolver.CreateDefaultContextForAsset(root)):
        return tuple(_visited(root, bounds))


@dataclass(frozen=True, slots=True)
class _Named:
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


def _visited(root: str, bounds: LayerBounds) -> Iterator[Sdf.Layer]:
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
        for other in _named_by(layer):
            if (other.identifier, other.composed) in known:
                continue
            known.add((other.identifier, other.composed))
            pending.append(other)
            if len(known) > bounds.paths:
                _refuse(
                    "layer-bounds",
                    f"the layers of {root} up to {named.identifier} name more than "
                    f"{bounds.paths} asset paths",
                )


@dataclass(frozen=True, slots=True)
class _File:
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
