"""A USD with the names of its URDF, where it calls links and joints otherwise.

The asset stays as it is: a layer over it gives prims display names, so that every
reader of the USD, and what is written back from it, has the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.matching.naming import match_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urdf_usd.conformance.observation.robot import Observation


@dataclass(frozen=True, slots=True)
class Labelled:
    """A layer over a USD.

    Attributes:
        text: What stands in it.
        spelled: Links and joints that are only spelled otherwise, such as ``link arm``,
            and what the USD calls each.
        found: Likewise of what is known by structure alone.
        alike: Those of them that stand for one of several that are alike.
    """

    text: str
    spelled: tuple[tuple[str, str], ...]
    found: tuple[tuple[str, str], ...]
    alike: tuple[tuple[str, str], ...] = ()


def label_robot(usd: str, expected: Observation) -> Labelled | None:
    """Label what is called otherwise; done in a child process.

    Args:
        usd: Root layer.
        expected: What the URDF says.

    Returns:
        None if nothing is found under another name.
    """
    # OpenUSD takes time to import: let child processes pay that.
    from urdf_usd.conformance.engines.openusd.names import labelled, named_prims  # noqa: PLC0415

    try:
        prims = named_prims(usd)
    except AbstentionError:
        return None
    labels = match_names(expected, prims)
    if not labels.by_path:
        return None
    called = {prim.path: ("link", prim.name) for prim in prims.links}
    called |= {prim.path: ("joint", prim.name) for prim in prims.joints}

    def pairs(names: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple(
            (f"{called[path][0]} {name}", called[path][1])
            for path, name in names.items()
        )

    return Labelled(
        text=labelled(usd, labels.by_path),
        spelled=pairs(labels.spelled),
        found=pairs(labels.found),
        alike=pairs(
            {path: labels.found[path] for path in labels.found if path in labels.alike}
        ),
    )
