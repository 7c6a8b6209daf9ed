"""Robots of which a file changed since a revision of their git repository."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.examine import Reading, read_robot
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.resume import MISSING
from urdf_usd.conformance.execution.worker import Limits, Workers
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.corpus import Resolved, RobotSource, UnavailableSource


class RevisionError(Exception):
    """Changes cannot be listed; the message states the cause."""


def changed_robots(
    sources: Sequence[Resolved],
    revision: str,
    options: ConvertOptions,
    limits: Limits,
    at_once: int,
) -> tuple[Resolved, ...]:
    """Return the robots with a changed URDF, xacro, mesh or texture file.

    Robots whose files are not all readable are returned as well, and those of which it
    is not known where they are.

    Args:
        sources: Robots.
        revision: Revision of git. Changes since its merge base with the current
            revision count, also those that are not committed.
        options: Packages and arguments with which robots are read.
        limits: Of reading one.
        at_once: Number of robots that are read at the same time.

    Raises:
        RevisionError: A robot is in no repository, or the revision does not exist.
    """
    here = [source for source in sources if isinstance(source, RobotSource)]
    for source in here:
        _changed_files(_folder(source), revision)
    kept = set()
    jobs = [(Job(source, options=options),) for source in here]
    with Workers(limits) as workers:
        for number, paths in workers.examine_all(_input_paths, jobs, at_once):
            source = here[number]
            changed = _changed_files(_folder(source), revision)
            # A crash, or files that are not there: it is not known.
            if not isinstance(paths, frozenset) or not paths.isdisjoint(changed):
                kept.add(source.id)
    return tuple(
        source for source in sources if isinstance(source, UnavailableSource) or source.id in kept
    )


def _input_paths(job: Job, _: Mapping[str, Crashed]) -> frozenset[Path] | None:
    """Return the files of a robot; None if not all are there."""
    reading = read_robot(str(job.source.path), job.packages, job.arguments, job.options.environment)
    if not isinstance(reading, Reading) or any(
        found.rule in MISSING | {"mesh-missing"} for found in reading.parsed.diagnostics
    ):
        return None
    return frozenset(Path(file.path).resolve() for file in reading.inputs)


def _folder(source: RobotSource) -> Path:
    return source.path.resolve().parent


@cache
def _changed_files(folder: Path, revision: str) -> frozenset[Path]:
    """List the files of a repository that changed, as absolute paths.

    Args:
        folder: Any folder in the repository.
        revision: Revision of git.
    """
    top = Path(_git(folder, "rev-parse", "--show-toplevel").rstrip("\n"))
    named = ("--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        commit = _git(top, "rev-parse", *named).strip()
    except RevisionError as error:
        raise RevisionError(f"{top} has no revision {revision!r}") from error
    base = _git(top, "merge-base", commit, "HEAD").strip()
    listed = (
        _git(top, "diff", "--name-only", "-z", base),
        _git(top, "ls-files", "--others", "--exclude-standard", "-z"),
    )
    return frozenset(top / name for text in listed for name in _names(text))


def _names(text: str) -> Iterator[str]:
    return filter(None, text.split("\0"))


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(  # no shell, and no word is an option of the user
            ("git", "-C", str(folder), *words),
            check=True,
            capture_output=True,
            text=True,
        )
    except FileNotFoundError as error:
        raise RevisionError("git is not installed") from error
    except subprocess.CalledProcessError as error:
        reason = " ".join(error.stderr.split()) or "git failed"
        raise RevisionError(f"{folder}: {reason}") from error
    return done.stdout
