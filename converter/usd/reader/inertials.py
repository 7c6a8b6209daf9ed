"""The mass of every link: what bodies state, given back to the links it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.usd.reader.masses import (
    Share,
    adds_up,
    body_inertial,
    kept_inertial,
)
from urdf_usd.converter.usd.reader.placement import rigid_part

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pxr import Sdf

    from urdf_usd.converter.diagnostics.findings import Findings
    from urdf_usd.converter.robot.model import Inertial
    from urdf_usd.converter.usd.reader.links import LinkPrim
    from urdf_usd.converter.usd.reader.placement import Placement
    from urdf_usd.converter.usd.reader.shapes import PlacedShape


def read_inertials(
    links: Sequence[LinkPrim],
    placement: Placement,
    colliders: Mapping[Sdf.Path, PlacedShape],
) -> Findings[dict[Sdf.Path, Inertial | None]]:
    """Read the inertial of every link, in the frame of its prim.

    A conversion counts welded links in one body, and keeps what each had of its own.
    That is believed as long as it adds up to what the body states.

    Args:
        links: Links of the robot.
        placement: Where prims are.
        colliders: Colliders in the frames of their bodies.
    """
    stage = placement.stage
    inertials: dict[Sdf.Path, Inertial | None] = {}
    for link in links:
        prim = stage.GetPrimAtPath(link.path)
        if link.is_body:
            inertials[link.path] = yield from body_inertial(prim, placement, colliders)
        else:
            inertials[link.path] = kept_inertial(prim)[1]
    masses = [
        inertial.mass
        for link in links
        if link.is_body and (inertial := inertials[link.path])
    ]
    for link in links:
        if not link.is_body:
            continue
        stated = inertials[link.path]
        kept, own = kept_inertial(stage.GetPrimAtPath(link.path))
        frames = [frame for frame in links if frame.body == link.path != frame.path]
        carried = [frame for frame in frames if inertials[frame.path]]
        if stated is None or not (kept or carried):
            continue
        shares = [
            Share(own if kept else stated, np.eye(4)),
            *(
                Share(
                    inertials[frame.path],
                    rigid_part(placement.within(frame.path, link.path)),
                )
                for frame in carried
            ),
        ]
        if adds_up(stated, shares, sum(masses)):
            inertials[link.path] = shares[0].inertial
            continue
        message = f"links in body {link.path} do not add up to it; the body counts"
        yield Diagnostic("inertial-outdated", message)
        inertials |= dict.fromkeys((frame.path for frame in carried), None)
    return inertials
