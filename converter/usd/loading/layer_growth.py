"""Detection of multiplying references between layers, without composition.

Thirty layers that each refer to the next one twice are composed to 10^9 prims;
composition does not finish.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct
from pxr import Sdf

from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.usd.loading.layer_files import open_layers

# Target of a reference: identifier of a layer, path of a prim.
_Target: TypeAlias = tuple[str, Sdf.Path]

# More than any robot needs, and composed in seconds.
_MANY = 100_000
_DEEPEST = 64
_MOST_TARGETS = 10_000


class Growth(Struct, frozen=True):
    """A level of nested references with too many targets.

    Attributes:
        level: Nesting level; the root layer has 0.
        layer: Identifier of the layer that is referred to most often.
        uses: Number of references to it at that level.
    """

    level: int
    layer: str
    uses: int

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"exponential references: {self.level} levels below the root layer, "
            f"{self.layer} is referred to {self.uses} times"
        )


def find_growth(path: str | os.PathLike[str]) -> Growth | None:
    """Find the first level with more than 100 000 references.

    Counts references and payloads below each target, in all variants; inherits are
    ignored.

    Args:
        path: Root layer.

    Returns:
        The level; None if there is none.
    """
    try:
        layers = open_layers(path).layers
    except StageError:
        return None
    if not layers:
        return None
    arcs = {layer.identifier: tuple(_arcs(layer)) for layer in layers}
    uses: Counter[_Target] = Counter({(layers[0].identifier, _ROOT): 1})
    for level in range(_DEEPEST):
        if sum(uses.values()) > _MANY:
            by_layer: Counter[str] = Counter()
            for (layer, _), count in uses.items():
                by_layer[layer] += count
            return Growth(level, *by_layer.most_common(1)[0])
        if len(uses) > _MOST_TARGETS:
            return None
        uses = _next_level(uses, arcs)
    return None


_ROOT = Sdf.Path.absoluteRootPath


def _next_level(
    uses: Mapping[_Target, int], arcs: Mapping[str, Iterable[tuple[Sdf.Path, _Target]]]
) -> Counter[_Target]:
    following: Counter[_Target] = Counter()
    for (layer, prim), count in uses.items():
        for place, target in arcs.get(layer, ()):
            if place.HasPrefix(prim):
                following[target] += count
    return following


def _arcs(layer: Sdf.Layer) -> Iterator[tuple[Sdf.Path, _Target]]:
    """Yield the targets of each prim of a layer; of a sublayer, the whole layer."""
    for sublayer in layer.subLayerPaths:
        yield _ROOT, (_found(layer, sublayer), _ROOT)
    prims: list[Sdf.Path] = []
    layer.Traverse(_ROOT, prims.append)
    for path in prims:
        # Paths of properties and of variant sets have no prim.
        spec = layer.GetPrimAtPath(path)
        if spec is None:
            continue
        for one in (
            *spec.referenceList.GetAddedOrExplicitItems(),
            *spec.payloadList.GetAddedOrExplicitItems(),
        ):
            target = _found(layer, one.assetPath)
            yield path, (target, one.primPath or _default(target))


def _found(layer: Sdf.Layer, asset: str) -> str:
    """Return the identifier of an open layer; without an asset, of the layer itself."""
    if not asset:
        return str(layer.identifier)
    other = Sdf.Layer.Find(layer.ComputeAbsolutePath(asset))
    return str(other.identifier) if other else ""


def _default(identifier: str) -> Sdf.Path:
    layer = Sdf.Layer.Find(identifier) if identifier else None
    name = layer.defaultPrim if layer else ""
    return _ROOT.AppendPath(name) if name else _ROOT
