"""Robots of which a file changed since a revision of their git repository."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from urdf_usd.conformance.execution.interruption import DeferredInterrupts
from urdf_usd.conformance.execution.job import Job
from urdf_usd.conformance.execution.limits import Limits
from urdf_usd.conformance.execution.reading import Reading, read_robot
from urdf_usd.conformance.execution.worker import Completed
from urdf_usd.conformance.execution.workers import Workers
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.corpus import Resolved, RobotSource, UnavailableSource

# Diagnostics of robots with files that may have been removed.
_MISSING = frozenset({"mesh-missing", "texture-missing", "file-missing"})


class RevisionError(Exception):
    """Changes cannot be listed; the message states the cause."""


def changed_robots(
    sources: Sequence[Resolved],
    revision: str,
    options: ConvertOptions,
    limits: Limits,
    jobs: int,
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
        jobs: Number of robots that are read at the same time.

    Raises:
        RevisionError: A robot is in no repository, or the revision does not exist.
    """
    here = [source for source in sources if isinstance(source, RobotSource)]
    for source in here:
        _changed_files(_folder(source), revision)
    workers = Workers(limits)

    def is_changed(source: RobotSource) -> bool:
        job = Job(source, (), options=options)
        ending = workers.call(
            read_robot,
            str(source.path),
            job.packages,
            job.arguments,
            options.environment,
        )
        if not isinstance(ending, Completed) or not isinstance(ending.value, Reading):
            return True
        reading = ending.value
        if any(found.rule in _MISSING for found in reading.diagnostics):
            return True
        files = {Path(file.path).resolve() for file in reading.inputs}
        return not files.isdisjoint(_changed_files(_folder(source), revision))

    with DeferredInterrupts() as interrupts, ThreadPoolExecutor(jobs) as threads, workers:
        calls = [(source, threads.submit(is_changed, source)) for source in here]
        kept = {source.id for source, call in calls if interrupts.result(call)}
    return tuple(
        source for source in sources if isinstance(source, UnavailableSource) or source.id in kept
    )


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
