"""Examine robots in this process, without workers: faster, and unprotected."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.examine import examine
from urdf_usd.conformance.execution.job import InstalledEngine, Job, installed_engine
from urdf_usd.conformance.execution.worker import Called
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.options import VariantChoice
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import RobotRecord

_ENGINES = ("mujoco", "openusd", "pybullet", "reference")
_DEFAULTS = ConvertOptions()
# Drawings are not compared.
_LEFT_OUT = {"draw": Crashed("left out")}


@cache
def _engines() -> tuple[InstalledEngine, ...]:
    return tuple(map(installed_engine, _ENGINES))


def examine_here(urdf: Path, folder: Path, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
    """Convert and check a URDF into the folder of a run, with the engines of this project."""
    source = RobotSource(urdf.stem, f"file:{urdf.name}", urdf)
    return examine(Job(source, _engines(), folder=folder, options=options), _LEFT_OUT).record


def examine_pair_here(
    urdf: Path,
    usd: Path,
    variants: tuple[VariantChoice, ...] = (),
    options: ConvertOptions = _DEFAULTS,
) -> RobotRecord:
    """Compare a USD with its URDF as a check does, with the engines of this project.

    Raises:
        ConversionError: The URDF cannot be read, or a variant does not exist.
    """
    source = RobotSource(urdf.stem, f"file:{urdf.name}", urdf)
    return examine(Job(source, _engines(), usd=usd, variants=variants, options=options)).record


def examine_in_this_process(
    monkeypatch: pytest.MonkeyPatch, crashes: Mapping[str, str], robot: str = ""
) -> None:
    """Replace workers by this process, in which steps crash on robots whose file begins so."""
    known = {step: Crashed(reason) for step, reason in crashes.items()}

    def examined(
        function: Called[object],
        robots: Iterable[tuple[object, ...]],
        *_: object,
        **__: object,
    ) -> Iterator[tuple[int, object]]:
        for number, arguments in enumerate(robots):
            job = arguments[0]
            matches = isinstance(job, Job) and job.source.path.name.startswith(robot)
            called = pkgutil.resolve_name(function) if isinstance(function, str) else function
            yield number, called(*arguments, *([known] if matches else []))

    monkeypatch.setattr("urdf_usd.conformance.execution.worker.call_all", examined)
