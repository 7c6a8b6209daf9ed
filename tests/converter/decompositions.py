"""A replacement of CoACD, which need not be installed for tests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

import pytest
import trimesh

# Centre and size in x and y of a box that reaches from z = 0 to 0.1.
FlatBox: TypeAlias = tuple[tuple[float, float], tuple[float, float]]


def fake_coacd(monkeypatch: pytest.MonkeyPatch, cache: Path, boxes: Sequence[FlatBox]) -> list[int]:
    """Let every mesh be decomposed into boxes.

    Args:
        monkeypatch: Restores what is changed.
        cache: Folder of the cache.
        boxes: The pieces.

    Returns:
        The number of triangles of each decomposed mesh, as they are decomposed.
    """
    calls: list[int] = []

    def run(mesh: SimpleNamespace, **_: object) -> list[tuple[object, object]]:
        calls.append(len(mesh.faces))
        pieces = []
        for (x, y), (width, depth) in boxes:
            box = trimesh.creation.box((width, depth, 0.1))
            box.apply_translation((x, y, 0.05))
            pieces.append((box.vertices, box.faces))
        return pieces

    module = SimpleNamespace(
        Mesh=lambda points, faces: SimpleNamespace(points=points, faces=faces),
        run_coacd=run,
        set_log_level=lambda _: None,
    )
    monkeypatch.setitem(sys.modules, "coacd", module)
    monkeypatch.setattr("urdf_usd.converter.shapes.version", lambda _: "1")
    monkeypatch.setenv("URDF_USD_CACHE", str(cache / "cache"))
    return calls
