"""Certificates: the verdict of a check, stored in the asset with hashes of all files.

A certificate is custom data of the root layer. It is not signed: it shows that robot and asset
are those that were compared, not who compared them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from urdf_usd.conformance.options import CheckOptions
from urdf_usd.converter.inputs import input_files
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.installation import DISTRIBUTION
from urdf_usd.reports.records.record import EngineStatus, RobotRecord

# Raised when the bounds of the tolerance change.
TOLERANCE = "1"


class Certificate(Struct, frozen=True):
    verdict: str
    values: int  # number of those compared
    tool: str  # name and version of this program
    tolerance: str  # its version
    suite: str  # version of the feature suite
    engines: dict[str, str]  # versions of those that read robot or asset, by name
    variants: dict[str, str]  # selected in the asset, by set
    urdf: dict[str, str]  # names of the files of the robot, by their SHA-256
    # SHA-256 of the files of the asset, by path from the root layer; that of the root layer is of
    # its text without the certificate.
    asset: dict[str, str]


def certificate_of(
    record: RobotRecord, urdf: Mapping[str, str], asset: Mapping[str, str], suite: str
) -> Certificate:
    read = (one for one in record.engines if one.status is EngineStatus.OBSERVED)
    engines = {engine.name: engine.version or "" for engine in read}
    tool = f"{DISTRIBUTION} {record.environment[DISTRIBUTION]}"
    values = record.verdict.value, record.compared, tool, TOLERANCE, suite, engines
    return Certificate(*values, record.variants, dict(urdf), dict(asset))


def robot_hashes(urdf: Path, options: CheckOptions) -> dict[str, str]:
    """Return the names of a robot's files by their SHA-256, wherever they are."""
    parsed = parse(
        urdf,
        packages=dict(options.packages),
        arguments=dict(options.arguments),
        environment=options.environment,
    )
    expansion, settings = parsed.markup.expansion, options.simulation
    files = input_files((str(urdf), *(expansion.files if expansion else ())), parsed.robot)
    hashes = {file.sha256: Path(file.path).name for file in files}
    if settings:
        hashes[settings.sha256] = Path(settings.file).name
        for name, content in settings.attached:
            hashes[hashlib.sha256(content).hexdigest()] = Path(name).name
    return hashes


def changes(
    certificate: Certificate, urdf: Mapping[str, str], asset: Mapping[str, str]
) -> tuple[str, ...]:
    """Return a text for each file that is not as it was compared."""
    known, robot = certificate.asset, certificate.urdf
    names = [
        f"{robot.get(one) or urdf[one]} of the robot"
        for one in {**robot, **urdf}
        if (one in robot) is not (one in urdf)
    ]
    every = sorted({*known, *asset})
    names += [f"{one} of the asset" for one in every if known.get(one) != asset.get(one)]
    return tuple(f"{name} was changed, added or removed" for name in names)
