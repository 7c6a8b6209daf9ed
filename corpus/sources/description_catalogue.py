"""The catalogue of the robot_descriptions package; no description is imported."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from importlib import metadata
from pathlib import Path
from typing import Protocol

from urdf_usd.corpus.checkouts import head_commit, mirrored_commit
from urdf_usd.corpus.identifiers import identifier
from urdf_usd.corpus.references import Scheme
from urdf_usd.corpus.robots import (
    Candidate,
    Download,
    Origin,
    UnavailableError,
    UnavailableSource,
    UnknownRobotError,
)
from urdf_usd.installation import install_command

_PACKAGE = "robot_descriptions"
_EXTRA = "robot-descriptions"
_SHA1_LENGTH = 40


class Repository(Protocol):
    """A repository in robot_descriptions, which has no types.

    Attributes:
        url: Its address.
        commit: The pinned commit or tag.
        cache_path: Name of its clone in the cache.
    """

    url: str
    commit: str
    cache_path: str


class _Description(Protocol):
    """A description in the catalogue of robot_descriptions."""

    repository: str | None
    has_urdf: bool
    license_spdx: str | None
    maker: str | None
    robot: str
    tags: Iterable[str]
    formats: Iterable[Enum]


def names() -> tuple[str, ...]:
    """List the modules that have a URDF or xacro file according to the catalogue.

    Raises:
        UnavailableError: The package is not installed.
    """
    known = _descriptions()
    return tuple(sorted(name for name in known if known[name].has_urdf))


def without_urdf(mirror: Path | None = None) -> Iterator[Candidate]:
    """Yield the modules of other formats alone, with those of their robots in URDF.

    Raises:
        UnavailableError: The package is not installed.
    """
    known = _descriptions()
    for name in sorted(known):
        if not known[name].has_urdf:
            yield offer(name, mirror)


def offer(target: str, mirror: Path | None = None) -> Candidate:
    """Return a module's entry in the catalogue; nothing is imported or downloaded.

    Args:
        target: Name of the module.
        mirror: Folder with copies of the repositories, used instead of the network,
            each under the name that robot_descriptions gives to its clone.

    Raises:
        UnknownRobotError: There is no such module.
        UnavailableError: The package is not installed.
    """
    known = _descriptions()
    if target not in known:
        close = difflib.get_close_matches(f"{target}_description", known, n=3)
        hint = f"; close to it: {', '.join(close)}" if close else ""
        raise UnknownRobotError(f"robot_descriptions has no module {target!r}{hint}")
    name = identifier(Scheme.DESCRIPTIONS, target)
    reference = f"{Scheme.DESCRIPTIONS}:{target}"
    described = known[target]
    source = described.repository
    repository = repositories().get(source)
    origin = _origin(described, repository, mirror)
    if not described.has_urdf:
        reason = f"{target} has no URDF{_instead(target, known)}"
        return UnavailableSource(name, reference, reason, origin)
    cached = repository is not None and _is_here(repository, mirror)
    if mirror and repository is not None and not cached:
        reason = f"{repository.cache_path} is not in the mirror"
        return UnavailableSource(name, reference, reason, origin)
    return Download(name, reference, target, source, cached, origin)


def repositories() -> Mapping[str | None, Repository]:
    """Map the name of every repository to its address, commit and cache folder."""
    module = importlib.import_module(f"{_PACKAGE}._repositories")
    table: Mapping[str | None, Repository] = module.REPOSITORIES
    return table


def _instead(target: str, known: Mapping[str, _Description]) -> str:
    """Return the formats of a module, and the modules with a URDF of its robot."""
    described = known[target]
    formats = ", ".join(sorted(form.name for form in described.formats))
    alike = [
        f"{Scheme.DESCRIPTIONS}:{name}"
        for name, other in sorted(known.items())
        if other.has_urdf and (other.robot, other.maker) == (described.robot, described.maker)
    ]
    return f", only {formats}" + (f"; {' and '.join(alike)} has one" if alike else "")


def _descriptions() -> Mapping[str, _Description]:
    try:
        package = importlib.import_module(_PACKAGE)
    except ModuleNotFoundError:
        raise UnavailableError(
            f"robot_descriptions is not installed; {install_command(_EXTRA)}"
        ) from None
    known: Mapping[str, _Description] = package.DESCRIPTIONS
    return known


def _origin(described: _Description, repository: Repository | None, mirror: Path | None) -> Origin:
    commit = None
    if repository is not None:
        commit = (
            mirrored_commit(mirror, repository.cache_path)
            if mirror
            else head_commit(cache() / repository.cache_path) or repository.commit
        )
    return Origin(
        license=described.license_spdx,
        maker=described.maker,
        robot=described.robot,
        tags=tuple(sorted(described.tags)),
        repository=None if repository is None else repository.url,
        commit=commit,
        distribution=f"{_PACKAGE} {metadata.version(_PACKAGE)}",
    )


def cache() -> Path:
    """Return the folder with the clones."""
    default = "~/.cache/robot_descriptions"
    return Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", default)).expanduser()


def _is_here(repository: Repository, mirror: Path | None) -> bool:
    """Return whether importing a module finds its files without the network."""
    folder = (mirror or cache()) / repository.cache_path
    if mirror:
        return folder.is_dir()
    head = folder / ".git" / "HEAD"
    # A failed download leaves a repository without files.
    if not head.is_file() or all(path.name == ".git" for path in folder.iterdir()):
        return False
    pinned = repository.commit
    # A tag cannot be compared with a commit.
    by_tag = len(pinned) != _SHA1_LENGTH
    return by_tag or head_commit(folder) == pinned
