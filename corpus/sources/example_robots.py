"""The robots of example-robot-data, a wheel that contains only data."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from msgspec import Struct

from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.references import Scheme
from urdf_usd.corpus.robots import (
    Origin,
    RobotSource,
    UnavailableError,
    UnknownRobotError,
)
from urdf_usd.installation import install_command

DISTRIBUTION = "example-robot-data"
_EXTRA = "example-robot-data"


class _Data(Struct, frozen=True):
    """What the wheel contains.

    Attributes:
        root: Its data folder.
        folders: The folders of the robots, sorted.
        files: The URDF of every robot, by name.
    """

    root: Path
    folders: tuple[Path, ...]
    files: Mapping[str, Path]


def names() -> tuple[str, ...]:
    """List all robots: the stem of each file, with the package if stems are equal.

    Raises:
        UnavailableError: The wheel is not installed.
    """
    return tuple(sorted(_data().files))


def locate(target: str) -> RobotSource:
    """Find one robot by its name.

    Raises:
        UnknownRobotError: The wheel has no such robot.
        UnavailableError: It is not installed.
    """
    data = _data()
    if target not in data.files:
        raise UnknownRobotError(_no_such(target, tuple(sorted(data.files))))
    file = data.files[target]
    return RobotSource(
        id=identifier(Scheme.EXAMPLES, target),
        reference=f"{Scheme.EXAMPLES}:{target}",
        path=file,
        # URIs start with package://example-robot-data/robots/, or with a folder there.
        packages=(
            (DISTRIBUTION, data.root),
            *((folder.name, folder) for folder in data.folders),
        ),
        origin=_origin(next(folder for folder in data.folders if folder in file.parents)),
    )


def _origin(folder: Path) -> Origin:
    """Return the origin of the robot in a folder.

    The wheel declares one licence. A folder with its own licence file has another,
    whose identifier is not known.
    """
    described = metadata.metadata(DISTRIBUTION)
    own = any(path.name.upper().startswith(("LICENSE", "COPYING")) for path in folder.iterdir())
    declared = described.get_all("License-Expression") or [None]
    return Origin(
        license=None if own else declared[0],
        repository=_address(described.get_all("Project-URL") or []),
        distribution=f"{DISTRIBUTION} {metadata.version(DISTRIBUTION)}",
    )


def _address(urls: list[str]) -> str | None:
    """Find the repository among ``label, address`` lines of a distribution."""
    pairs = dict(url.split(", ", 1) for url in urls if ", " in url)
    return pairs.get("Upstream")


def _no_such(target: str, known: tuple[str, ...]) -> str:
    qualified = [name for name in known if name.endswith(f"/{target}")]
    if qualified:
        several = " or ".join(f"{Scheme.EXAMPLES}:{name}" for name in qualified)
        return f"{target!r} names several robots; write {several}"
    close = difflib.get_close_matches(target, known, n=3)
    hint = f"; close to it: {', '.join(close)}" if close else ""
    return f"{DISTRIBUTION} has no robot {target!r}{hint}"


def _data() -> _Data:
    return _data_in(tuple(sys.path))


@lru_cache(maxsize=1)
def _data_in(_: tuple[str, ...]) -> _Data:
    """Find the wheel; cached, as it takes as long as reading a robot."""
    root = _root()
    folders = sorted(path for path in (root / "robots").iterdir() if path.is_dir())
    return _Data(root, tuple(folders), _files(root / "robots"))


def _files(robots: Path) -> dict[str, Path]:
    """Map the name of every robot below a folder to its URDF."""
    paths = sorted(robots.rglob("*.urdf"))
    stems = Counter(path.stem for path in paths)
    return {
        path.stem
        if stems[path.stem] == 1
        else f"{path.relative_to(robots).parts[0]}/{path.stem}": path
        for path in paths
    }


def _root() -> Path:
    """Find the data folder from the wheel's list of files."""
    try:
        files = metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        parts = file.parts
        if "robots" in parts and file.suffix == ".urdf":
            depth = len(parts) - parts.index("robots")
            return Path(str(file.locate())).resolve().parents[depth - 1]
    raise UnavailableError(f"{DISTRIBUTION} is not installed; {install_command(_EXTRA)}")
