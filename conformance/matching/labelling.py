"""A layer over a USD that gives links and joints the names of the URDF.

The asset is not changed: the layer sets display names, so that every USD engine, and
the URDF written from the USD, use the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from urdf_usd.conformance.engines.openusd.names import labelled, named_prims
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.matching.naming import match_names
from urdf_usd.conformance.observation.robot import Observation


class Labelled(Struct, frozen=True):
    """A layer over a USD.

    Attributes:
        text: The layer.
        spelled: Links and joints, such as ``link arm``, whose names differ in spelling
            alone, and their names in the USD.
        inferred: Those that were matched by structure alone, likewise.
        alike: Those of them that are one of several equivalent matches.
    """

    text: str
    spelled: tuple[tuple[str, str], ...]
    inferred: tuple[tuple[str, str], ...]
    alike: tuple[tuple[str, str], ...] = ()


def label_robot(usd: str, expected: Observation) -> Labelled | None:
    """Match names and make the layer; run in a worker process.

    Args:
        usd: Root layer.
        expected: Observation of the URDF.

    Returns:
        None if no link or joint is matched under another name.
    """
    # OpenUSD takes time to import: only worker processes need it.

    try:
        prims = named_prims(usd)
    except AbstentionError:
        return None
    labels = match_names(expected, prims)
    if not labels.by_path:
        return None
    names_of = {prim.path: ("link", prim.name) for prim in prims.links}
    names_of |= {prim.path: ("joint", prim.name) for prim in prims.joints}

    def pairs(names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple(
            (f"{names_of[path][0]} {name}", names_of[path][1]) for path, name in names.items()
        )

    return Labelled(
        text=labelled(usd, labels.by_path),
        spelled=pairs(labels.spelled),
        inferred=pairs(labels.inferred),
        alike=pairs(
            {path: labels.inferred[path] for path in labels.inferred if path in labels.alike}
        ),
    )
