"""The robots and objects in the pybullet wheel (``pybullet_data``)."""

from __future__ import annotations

import difflib
import os
from pathlib import Path, PurePosixPath

import pybullet_data

from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.references import Scheme
from urdf_usd.corpus.robots import Origin, RobotSource, UnknownRobotError
from urdf_usd.installation import distribution_of

# A thousand generated objects; each can be named, or all as a dir: corpus.
_GENERATED = "random_urdfs"
_URDF = ".urdf"


def names() -> tuple[str, ...]:
    """List all URDFs of the wheel except the generated ones, in path order."""
    root = _root()
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != _GENERATED]
        place = Path(folder).relative_to(root)
        found += [(place / name).as_posix() for name in files if name.endswith(_URDF)]
    return tuple(sorted(found))


def locate(target: str) -> RobotSource:
    """Find one file of the wheel by its path in ``pybullet_data``.

    Raises:
        UnknownRobotError: The wheel has no such URDF.
    """
    relative = PurePosixPath(target)
    path = _root() / relative
    inside = not relative.is_absolute() and ".." not in relative.parts
    if not (inside and relative.suffix == _URDF and path.is_file()):
        close = difflib.get_close_matches(target, names(), n=3, cutoff=0.5)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise UnknownRobotError(f"pybullet_data has no URDF {target!r}{hint}")
    name = relative.as_posix()
    return RobotSource(
        id=identifier(Scheme.PYBULLET, name),
        reference=f"{Scheme.PYBULLET}:{name}",
        path=path,
        # No licence: the wheel's is that of the engine.
        origin=Origin(distribution=_distribution()),
    )


def _distribution() -> str | None:
    found = distribution_of("pybullet")
    return " ".join(found) if found else None


def _root() -> Path:
    return Path(pybullet_data.getDataPath())
